"""What a person writes for a moment on the command line, in seconds since the epoch."""

import re
from datetime import datetime
from zoneinfo import ZoneInfo

UNITS = {"m": 60.0, "h": 3_600.0, "d": 86_400.0}


def moment(text: str, now_s: float, zone: ZoneInfo) -> float:
    """Seconds since the epoch. Raises ValueError, which names the forms that are understood."""
    if ago := re.fullmatch(r"(\d+(?:\.\d+)?)([mhd])", text):
        return now_s - float(ago[1]) * UNITS[ago[2]]
    if re.fullmatch(r"\d+(\.\d+)?", text) and len(text.partition(".")[0]) >= 9:
        return float(text)
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        known = "a date, a date and time, seconds since the epoch, or an age like 24h"
        raise ValueError(f"{text!r} is no moment: write {known}") from None
    return (when if when.tzinfo is not None else when.replace(tzinfo=zone)).timestamp()
