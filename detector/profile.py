"""How strict the detector is for one kind of text.

In:  a profile's name, or None when the shape is to be found from the text.
Out: a frozen Profile with the numbers in force.
The four thresholds and their names are fixed (SPEC 2.2); widths come from DETECTION.md section 1.
"""

from dataclasses import dataclass, replace

from detector.verdict import Metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Thresholds of one kind of text. Ratios 0..1, widths in characters with CJK counting 2."""

    name: str = ""
    trigram_repeat: float = 0.6
    char_repeat: float = 0.35
    context_sim: float = 0.85
    cycle_count: int = 4
    cycle_width: int = 96
    block_copies: int = 3
    block_width: int = 100
    stuck_words: int = 10
    list_items: int = 8
    statistics: bool = True
    char_rule: bool = True
    symbols: int = 1  # factor on the symbol rule's lengths

    @property
    def thresholds(self) -> Metrics:
        """The lines of the four metrics."""
        return Metrics(
            trigram_repeat=self.trigram_repeat,
            char_repeat=self.char_repeat,
            context_sim=self.context_sim,
            cycle_count=self.cycle_count,
        )

    @property
    def stricter(self) -> bool:
        """Whether a rule asks for less than usual: then nothing is "surely clean" by the short cuts made for the usual."""
        low = self.trigram_repeat < _ANY.trigram_repeat or self.char_repeat < _ANY.char_repeat
        few = self.cycle_count < _ANY.cycle_count or self.block_copies < _ANY.block_copies
        return low or few or self.stuck_words < _ANY.stuck_words or self.list_items < _ANY.list_items


_ANY = Profile()
PROFILES: dict[str, Profile] = {
    "prose": replace(_ANY, name="prose"),
    "chat": replace(_ANY, name="chat"),
    "structured": replace(_ANY, name="structured", char_rule=False, cycle_width=160, block_width=160),
    "code": replace(_ANY, name="code", char_rule=False, cycle_width=160, block_width=160),
    # A refrain said four times is a song, not a loop; 400 is the width declared repetition is given.
    "verse": replace(
        _ANY, name="verse", trigram_repeat=0.8, char_rule=False, cycle_width=400, block_copies=6, stuck_words=24
    ),
    "list": replace(_ANY, name="list", char_rule=False, list_items=12),
}
ALLOWED = Profile(
    name="allowed", statistics=False, char_rule=False, cycle_width=400, block_copies=8, block_width=400,
    stuck_words=80, list_items=10_000, symbols=4,
)  # fmt: skip


def profile_of(name: str | Profile | None, *, repetition_allowed: bool = False) -> Profile:
    """Return the profile called `name`; None: judged by the shape of the text; a profile of one's own: itself.

    Raises ValueError for an unknown name: nothing falls back quietly.
    """
    if repetition_allowed:
        return ALLOWED
    if isinstance(name, Profile):
        return name
    if name is None or name == "":
        return _ANY
    try:
        return PROFILES[name]
    except KeyError:
        raise ValueError(f"unknown profile {name!r}; known: {', '.join(PROFILES)}") from None
