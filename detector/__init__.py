"""Is this text degenerate? Pure, usable alone: `from detector import score, StreamGate`.

Importing it loads no numpy: `detect` brings it when it is first called.
"""

from detector.channels import Channel, ThinkSplitter
from detector.exact import PatternMatch, degenerate, detect, locate
from detector.fingerprint import fingerprint
from detector.metrics import char_repeat, context_sim, trigram_repeat
from detector.policy import GateMode, GatePolicy, RuleSet
from detector.profile import PROFILES, Profile, profile_of
from detector.score import score
from detector.stream import Counters, StreamGate, clean
from detector.verdict import CLEAN, REPETITION_CLASSES, GateState, Health, LoopClass, Metrics, Release, Rule, Verdict

__all__ = [
    "CLEAN",
    "PROFILES",
    "REPETITION_CLASSES",
    "Channel",
    "Counters",
    "GateMode",
    "GatePolicy",
    "GateState",
    "Health",
    "LoopClass",
    "Metrics",
    "PatternMatch",
    "Profile",
    "Release",
    "Rule",
    "RuleSet",
    "StreamGate",
    "ThinkSplitter",
    "Verdict",
    "char_repeat",
    "clean",
    "context_sim",
    "degenerate",
    "detect",
    "fingerprint",
    "locate",
    "profile_of",
    "score",
    "trigram_repeat",
]
