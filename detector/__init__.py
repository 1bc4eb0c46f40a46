"""Is this text degenerate? Pure, usable alone: `from detector import score, StreamGate`.

Importing it loads no numpy: `detect` brings it when it is first called.
"""

from detector.channels import Channel, ThinkSplitter
from detector.checks import (
    Failure,
    FailureKind,
    Format,
    FormatKind,
    Validator,
    check_reply,
    format_asked,
    load_validators,
)
from detector.exact import PatternMatch, degenerate, detect, locate
from detector.fingerprint import fingerprint
from detector.metrics import char_repeat, context_sim, trigram_repeat
from detector.policy import GateMode, GatePolicy, RuleSet
from detector.probability import (
    Finding,
    Position,
    ProbabilityPolicy,
    ProbabilityWatch,
    read_logprobs,
    score_logprobs,
    with_finding,
)
from detector.profile import PROFILES, Profile, profile_of
from detector.score import score, scoring
from detector.stream import Counters, StreamGate, clean
from detector.structured import Parsed, Reason, Step, parse_structured
from detector.verdict import CLEAN, REPETITION_CLASSES, GateState, Health, LoopClass, Metrics, Release, Rule, Verdict

__all__ = [
    "CLEAN",
    "PROFILES",
    "REPETITION_CLASSES",
    "Channel",
    "Counters",
    "Failure",
    "FailureKind",
    "Finding",
    "Format",
    "FormatKind",
    "GateMode",
    "GatePolicy",
    "GateState",
    "Health",
    "LoopClass",
    "Metrics",
    "Parsed",
    "PatternMatch",
    "Position",
    "ProbabilityPolicy",
    "ProbabilityWatch",
    "Profile",
    "Reason",
    "Release",
    "Rule",
    "RuleSet",
    "Step",
    "StreamGate",
    "ThinkSplitter",
    "Validator",
    "Verdict",
    "char_repeat",
    "check_reply",
    "clean",
    "context_sim",
    "degenerate",
    "detect",
    "fingerprint",
    "format_asked",
    "load_validators",
    "locate",
    "parse_structured",
    "profile_of",
    "read_logprobs",
    "score",
    "score_logprobs",
    "scoring",
    "trigram_repeat",
    "with_finding",
]
