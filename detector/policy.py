"""What the stream gate is told: rule set, mode, limits. All keys of SPEC 2.5.

Pydantic, because it comes from the configuration file; unknown keys and contradictions are refused.
"""

from enum import StrEnum
from fnmatch import fnmatchcase

from pydantic import BaseModel, ConfigDict, Field, model_validator


class GateMode(StrEnum):
    """What happens once a loop is confirmed."""

    SPLICE = "splice"
    CUT = "cut"
    RETRY = "retry"
    SUPPRESS = "suppress"
    OFF = "off"


class RuleSet(StrEnum):
    """Which rules judge a stream."""

    DEFAULT = "default"
    CLASSIC = "classic"


class GatePolicy(BaseModel):
    """How one stream is guarded. Sizes in characters (code points), times in seconds, ratios 0..1."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mode: GateMode = Field(default=GateMode.SPLICE, description="splice lets another model go on; off only passes")
    rules: RuleSet = Field(default=RuleSet.DEFAULT, description="default: measured rules; classic: the documents' own")
    guard_text: bool = Field(default=True, description="guard the visible text")
    guard_reasoning: bool = Field(default=True, description="guard the reasoning channel")
    guard_auxiliary: bool = Field(default=False, description="guard titles and summaries of the history too")
    models: tuple[str, ...] = Field(default=("*",), description="globs of model names that are guarded")
    vendors: tuple[str, ...] = Field(default=("*",), description="globs of vendor names that are guarded")
    hold_chars: int = Field(default=256, ge=0, le=4096, description="most characters held back on suspicion")
    hold_s: float = Field(default=1.5, ge=0, le=30, description="longest time anything is held back")
    restated_chars: int = Field(
        default=200,
        ge=50,
        le=2_000,
        description="first characters by which a streamed reply is known to say the previous one again",
    )
    escape_chars: int = Field(default=256, ge=16, le=8192, description="fresh characters that end a suppression")
    hard_stop: bool = Field(default=True, description="stop a suppressed stream that never recovers")
    hard_stop_mode: GateMode = Field(default=GateMode.CUT, description="what a hard stop does: splice, cut, retry")
    hard_stop_chars: int = Field(default=6000, ge=256, description="suppressed characters that lead to a hard stop")
    max_loop_retries: int = Field(
        default=2, ge=0, le=10, description="mode retry: other attempts after a loop, then the phrase"
    )
    max_scan_chars: int = Field(
        default=200_000, ge=1024, description="longer texts are kept and cleaned only at the tail"
    )
    max_period: int = Field(default=32, ge=1, le=1024, description="classic: longest unit")
    window: int = Field(default=1024, ge=128, le=65_536, description="classic: tail that is searched")
    check_every: int = Field(default=48, ge=1, le=1024, description="classic: characters between two checks")
    min_repeats: int = Field(default=6, ge=2, description="classic: least copies")
    min_run_chars: int = Field(default=120, ge=2, description="classic: least length of the run")
    collapse: bool = Field(default=True, description="classic: whether the collapse rule is on")
    collapse_window: int = Field(default=192, ge=96, description="classic: characters the collapse rule looks at")
    collapse_gram: int = Field(default=8, ge=2, le=32, description="classic: length of its character grams")
    collapse_threshold: float = Field(
        default=0.80, gt=0, le=1, description="classic: share already seen that is a collapse"
    )
    fast_rules: bool = Field(
        default=True, description="classic: trigram, char and stuck rules of the documents as well"
    )

    @model_validator(mode="after")
    def _fits(self) -> "GatePolicy":
        if self.hard_stop_mode is GateMode.SUPPRESS or self.hard_stop_mode is GateMode.OFF:
            raise ValueError("hard_stop_mode must be splice, cut or retry: the others never stop")
        if self.window < self.max_period * self.min_repeats:
            raise ValueError("window must hold max_period * min_repeats characters")
        return self

    def guards(self, *, model: str, vendor: str = "", auxiliary: bool = False) -> bool:
        """Whether a stream of this model is guarded at all."""
        if self.mode is GateMode.OFF or (auxiliary and not self.guard_auxiliary):
            return False
        return any(fnmatchcase(model, g) for g in self.models) and any(fnmatchcase(vendor, g) for g in self.vendors)
