"""One whole text in, one verdict out. Pure; the same engine as the stream gate, so both agree.

In:  text, the previous reply of the conversation, a profile's name.
Out: Verdict; offsets in code points of the text.
"""

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import TypeVar

from detector.aftermath import fresh_from, loop_trigrams
from detector.finding import Finding, copies
from detector.fingerprint import fingerprint
from detector.metrics import char_repeat, context_sim
from detector.profile import Profile, profile_of
from detector.quiet import Quiet
from detector.verdict import Health, LoopClass, Metrics, Rule, Verdict
from detector.watch import STEP, Watch

_Result = TypeVar("_Result")
SCAN_CHARS = 200_000
"""Longer texts are judged at their tail (SPEC 2.5); a stream is judged all along, since each part was its tail once."""


def score(
    text: str,
    *,
    previous: str | None = None,
    profile: str | Profile | None = None,
    repetition_allowed: bool = False,
    timer: Callable[[], float] | None = None,
) -> Verdict:
    """Judge a whole reply.

    `previous` is the earlier reply for `restatement`; `profile` one of PROFILES, one of one's own, or None (shape
    found from the text);
    `repetition_allowed`: the request declared that repetition is wanted. `timer` gives seconds, for `cost_us`.
    Of a text longer than SCAN_CHARS only the tail is judged. Raises ValueError for an unknown profile, nothing else.
    """
    began = timer() if timer else 0.0
    verdict = at_once(_scoring(text, previous, profile, repetition_allowed))
    return replace(verdict, cost_us=(timer() - began) * 1e6) if timer else verdict


def scoring(
    text: str,
    *,
    previous: str | None = None,
    profile: str | Profile | None = None,
    repetition_allowed: bool = False,
    timer: Callable[[], float] | None = None,
) -> Generator[None, None, Verdict]:
    """`score` in short steps, most far below a millisecond; the last one returns the verdict. `timer`: the steps alone count.

    A text of 64 KB takes tens of milliseconds, in which an event loop would serve nobody else.
    """
    steps = _scoring(text, previous, profile, repetition_allowed)
    if timer is None:
        return (yield from steps)
    spent_s = 0.0
    while True:
        began = timer()
        try:
            next(steps)
        except StopIteration as done:
            verdict: Verdict = done.value
            return replace(verdict, cost_us=(spent_s + timer() - began) * 1e6)
        spent_s += timer() - began
        yield


def _scoring(
    text: str, previous: str | None, profile: str | Profile | None, repetition_allowed: bool
) -> Generator[None, None, Verdict]:
    rules = profile_of(profile, repetition_allowed=repetition_allowed)
    low = max(0, len(text) - SCAN_CHARS)
    verdict = yield from _judging(text[low:], rules, None if repetition_allowed else previous)
    if low and verdict.degenerate:
        onset = None if verdict.onset is None else verdict.onset + low
        verdict = replace(verdict, start=verdict.start + low, end=verdict.end + low, onset=onset)
    return verdict


def at_once(steps: Generator[None, None, _Result]) -> _Result:
    """What `steps` come to."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: _Result = done.value
            return result


def _judging(text: str, rules: Profile, previous: str | None) -> Generator[None, None, Verdict]:
    watch = Watch(rules)
    found = yield from scanning(watch, text, skip=not rules.stricter)
    if found is not None:
        end = end_of(found, text)
        # A plain loop is seen after a few copies, before there are tokens enough for a share: its figures are of the whole run.
        shown = max(end, found.seen) if found.period else found.seen
        return verdict_of(found, end, watch, rules, text[max(0, shown - 4800) : shown])
    verdict = Verdict(metrics=figures_of(watch), profile=rules.name, thresholds=rules.thresholds)
    return _restatement(verdict, text, previous, rules) if previous else verdict


def scan(watch: Watch, text: str, *, skip: bool = True) -> Finding | None:
    """Run the engine over a whole text; the first finding, or None. `skip`: pass over what is surely clean."""
    return at_once(scanning(watch, text, skip=skip))


def scanning(watch: Watch, text: str, *, skip: bool) -> Generator[None, None, Finding | None]:
    """`scan` in steps."""
    size = len(text)
    last = size - size % STEP
    watch.push(text)
    quiet = Quiet(watch) if skip else None
    if quiet is not None:
        yield from quiet.prepared()
    passing = quiet is not None and not quiet.loud
    for at in quiet.checks(last) if quiet and passing else range(STEP, last + 1, STEP):
        found = watch.check(at)
        if found is not None:
            return found
        yield
    if quiet and passing:
        quiet.close(last)
        yield
    return watch.check(size, final=True) if size else None


def verdict_of(found: Finding, end: int, watch: Watch | None, profile: Profile, tail: str) -> Verdict:
    """The public record of one finding whose last copy ends at `end`; `tail` is the text before it was seen."""
    repeats = copies(found.unit, found.period, end - found.start)
    watch = watch or Watch(profile)
    return Verdict(
        health=Health.DEGENERATE,
        loop_class=found.loop_class,
        metrics=Metrics(
            trigram_repeat=watch.metric(tail),
            char_repeat=char_repeat(tail),
            cycle_count=repeats if found.period else watch.cycles,
        ),
        rules=(found.rule,),
        unit=found.unit,
        repeats=repeats,
        start=found.start,
        end=end,
        onset=found.onset,
        fingerprint=fingerprint(found.unit),
        profile=profile.name,
        thresholds=profile.thresholds,
    )


def figures_of(watch: Watch) -> Metrics:
    """The metrics of what is clean, as of its end; what is poor in characters by trade (data, drills) does not pass the line."""
    poor = min(watch.profile.char_repeat, char_repeat(watch.buf[-720:]))
    return Metrics(trigram_repeat=watch.metric(), char_repeat=poor, cycle_count=watch.cycles)


def end_of(found: Finding, text: str) -> int:
    """Where the last copy ends: past the run if exact, past the last known trigram else."""
    if not found.period:
        known = loop_trigrams(text[found.start : found.seen])
        return found.seen + fresh_from(text[found.seen : found.seen + 40_000], known)
    period, low, high = found.period, found.seen, len(text)
    while low < high:
        middle = (low + high + 1) >> 1
        if text[low:middle] == text[low - period : middle - period]:
            low = middle
        else:
            high = middle - 1
    return low


def _restatement(verdict: Verdict, text: str, previous: str, profile: Profile) -> Verdict:
    similar = context_sim(text, previous)
    metrics = replace(verdict.metrics, context_sim=similar)
    if similar <= profile.context_sim:
        return replace(verdict, metrics=metrics)
    return replace(
        verdict,
        health=Health.DEGENERATE,
        loop_class=LoopClass.RESTATEMENT,
        metrics=metrics,
        rules=(Rule.CONTEXT,),
        unit=text[:4096],
        repeats=2,
        start=0,
        end=len(text),
        onset=0,
        fingerprint=fingerprint(text),
    )
