"""The rules under which a reply is judged again: the detector's and the breaker's, as one configuration has them.

Pure. In: a stored reply.  Out: whether it is degenerate by these rules, and the verdict where its text was kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from breaker.policy import BreakerPolicy
from detector import CLEAN, GateMode, GatePolicy, Profile, RuleSet, StreamGate, Verdict, profile_of, score
from monitor.replay.records import Stored

STRUCTURED_SCENE = "structured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """`profiles` by name; one that is named like a scene judges that scene's replies."""

    gate: GatePolicy = field(default_factory=GatePolicy)
    breaker: BreakerPolicy = field(default_factory=BreakerPolicy)
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    scenes: Mapping[str, str] = field(default_factory=dict)
    """The profile that a scene's routes name, by scene."""

    def profile(self, reply: Stored) -> Profile:
        """Raises ValueError for a profile that nobody knows."""
        name = reply.profile or self.scenes.get(reply.scene)
        own = name or reply.scene
        if own in self.profiles:
            return self.profiles[own]
        if name is None and reply.scene in (STRUCTURED_SCENE, "code"):
            name = reply.scene
        return profile_of(name)

    def judged(self, reply: Stored) -> Verdict | None:
        """The verdict on its text; None where the text was not kept."""
        if reply.text is None:
            return None
        if self.gate.rules is RuleSet.CLASSIC:
            return _classic(reply, self.gate)
        return score(reply.text, previous=reply.previous, profile=self.profile(reply))

    def flags(self, reply: Stored) -> bool:
        """Whether these rules call it degenerate.

        Without its text only the four figures tell, as the engine left them: a threshold that is lowered below one flags
        the reply; a reply that was flagged stays so unless every figure lies within these thresholds.
        """
        verdict = self.judged(reply)
        return verdict.degenerate if verdict is not None else self._by_figures(reply)

    def _by_figures(self, reply: Stored) -> bool:
        p, m = self.profile(reply), reply.metrics
        over = (
            m.get("trigram_repeat", 0.0) > p.trigram_repeat
            or (p.char_rule and m.get("char_repeat", 0.0) > p.char_repeat)
            or m.get("context_sim", 0.0) > p.context_sim
            or m.get("cycle_count", 0.0) >= p.cycle_count
        )
        # A loop found by a rule that leaves no figure (symbols, lists, blocks) stays one.
        return over or (bool(reply.said) and not any(m.get(name) for name in FIGURES))


FIGURES = ("trigram_repeat", "char_repeat", "context_sim", "cycle_count")


def _classic(reply: Stored, policy: GatePolicy) -> Verdict:
    gate = StreamGate(policy.model_copy(update={"mode": GateMode.SUPPRESS, "hard_stop": False}))
    for at in range(0, len(reply.text or ""), 4_096):
        gate.feed((reply.text or "")[at : at + 4_096], 0.0)
    return gate.finish().verdict or CLEAN
