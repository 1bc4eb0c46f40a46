"""Whether the folder that a service keeps its things in can be used: asked before anything is started.

Looks by doing: a folder is made in it, or in the nearest one there is, and taken away again. Permissions alone do not
tell, neither for root nor on a disk that is mounted read-only.
"""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pointsman.settings import Settings
from pointsman.yaml_lines import Mistake, SettingsError, read


def checked_data_dir(file: Path, settings: Settings, environment: Mapping[str, str] = os.environ) -> None:
    """Raises SettingsError, which names the line of `file` that sets it."""
    if (problem := problem_of(settings.data_dir)) is None:
        return
    _, lines = read(file.read_text(encoding="utf-8-sig"), environment, str(file), [])
    raise SettingsError([Mistake(line=lines.of(("data_dir",)), where="data_dir", what=problem)], str(file))


def problem_of(folder: Path) -> str | None:
    """What is wrong with `folder` and what to do; None: it is there, or can be made, and can be written."""
    whole = folder.absolute()
    there = next(one for one in (whole, *whole.parents) if one.exists() or one.is_symlink())
    try:
        Path(tempfile.mkdtemp(prefix=".pointsman-", dir=there)).rmdir()
    except OSError as error:
        why = "it is no folder" if not there.is_dir() else error.strerror
        # Where the folder itself is missing, the one above it is at fault.
        what = "cannot be written" if there == whole else f"cannot be made in {there}"
        return f"{whole} {what}: {why}; name a folder that this user may write"
    return None
