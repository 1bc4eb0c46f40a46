"""Where a model can stand, who decided it, and why: the closed vocabulary of the breaker."""

from enum import StrEnum


class Level(StrEnum):
    HEALTHY = "healthy"
    WARN = "warn"  # L1
    REDUCED = "reduced"  # L2
    OPEN = "open"  # L3
    RECOVERING = "recovering"

    @property
    def severity(self) -> int:
        """Order for "the highest level asked for"; RECOVERING still takes no ordinary traffic, like OPEN."""
        return {"healthy": 0, "warn": 1, "reduced": 2, "recovering": 3, "open": 3}[self.value]


class Mode(StrEnum):
    AUTO = "auto"
    OBSERVE = "observe"  # decides, enforces nothing
    FORCED_OPEN = "forced_open"
    FORCED_NORMAL = "forced_normal"


class Reason(StrEnum):
    RATIO_10M = "ratio_10m"
    RATIO_30M = "ratio_30m"
    ROLLING_15M = "rolling_15m"
    LOW_TRAFFIC_30 = "low_traffic_30"
    SOFT_FAILURES = "soft_failures"  # empty, garbled, or no JSON where JSON was asked for
    UNREADABLE_JSON = "unreadable_json"
    STUCK_STREAMS = "stuck_streams"
    BURST = "burst"
    TREND = "trend"
    HARD_FAILURES = "hard_failures"
    HARD_IN_A_ROW = "hard_in_a_row"
    NIGHTLY = "nightly"
    SCENE = "scene"
    COMPLAINTS = "complaints"
    CLEARED = "cleared"
    COOLED_DOWN = "cooled_down"
    PROBES_PASSED = "probes_passed"
    PROBES_FAILED = "probes_failed"
    PROBES_TIMED_OUT = "probes_timed_out"
    OPERATOR = "operator"
    FORCE_EXPIRED = "force_expired"
    REBUILT = "rebuilt"
    FLAPPING = "flapping"
    TOO_MANY_OPEN = "too_many_open"
    LAST_MODEL = "last_model"
