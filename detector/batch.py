"""Many replies, one JSON object per line, judged in order on all cores; and one verdict as a plain record.

Acts only in that it starts worker processes for `jobs` > 1; reads and writes nothing itself.
In:  lines `{"id", "text", "history"?, "messages"?, "profile"?, "logprobs"?}` as bytes.
Out: LineResult per line that is not blank, in order, while the input is still being read.
"""

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from detector.probability import read_logprobs, score_logprobs, with_finding
from detector.score import score
from detector.verdict import Verdict

BATCH_LINES = 64
"""Lines per task of a worker: large against the cost of handing them over, small against memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineResult:
    """One line's outcome: `output` is the line to write, or `error` says what was wrong with it."""

    number: int  # counted from 1, blank lines included
    output: str = ""
    error: str = ""
    degenerate: bool = False


def judge(text: str, *, previous: str | None = None, profile: str | None = None, logprobs: Any = None) -> Verdict:
    """The verdict on one reply by its text and, where given, its logprobs; ValueError for an unknown profile."""
    verdict = score(text, previous=previous, profile=profile)
    if logprobs is None:
        return verdict
    positions = read_logprobs(logprobs)
    return with_finding(verdict, score_logprobs(positions), positions)


def record_of(verdict: Verdict, identity: Any = None) -> dict[str, Any]:
    """The verdict as JSON values; the fingerprint as 16 hex digits, since JavaScript would round the number."""
    return {
        "id": identity,
        "degenerate": verdict.degenerate,
        "class": verdict.loop_class.value if verdict.loop_class else None,
        "rules": [rule.value for rule in verdict.rules],
        "metrics": {name: round(value, 4) for name, value in asdict(verdict.metrics).items()},
        "start": verdict.start,
        "end": verdict.end,
        "onset": verdict.onset,
        "repeats": verdict.repeats,
        "unit": verdict.unit,
        "fingerprint": None if verdict.fingerprint is None else f"{verdict.fingerprint & (1 << 64) - 1:016x}",
    }


def json_line(record: Mapping[str, Any]) -> str:
    """One line of JSON, readable Chinese; escaped where a lone surrogate could not be written as UTF-8."""
    line = json.dumps(record, ensure_ascii=False)
    try:
        line.encode()
    except UnicodeEncodeError:
        return json.dumps(record)
    return line


def score_line(number: int, line: bytes) -> LineResult:
    """Judge one line; whatever is wrong with it becomes the result's `error`."""
    try:
        data = json.loads(line.decode("utf-8-sig"))
        if not isinstance(data, dict) or not isinstance(data.get("text"), str):
            raise ValueError('an object with a string "text" is wanted')
        profile = data.get("profile")
        if profile is not None and not isinstance(profile, str):
            raise ValueError('"profile" is not a string')
        verdict = judge(data["text"], previous=previous_reply(data), profile=profile, logprobs=data.get("logprobs"))
    except (ValueError, RecursionError) as error:
        return LineResult(number=number, error=str(error))
    output = json_line(record_of(verdict, data.get("id", number)))
    return LineResult(number=number, output=output, degenerate=verdict.degenerate)


def previous_reply(data: Mapping[str, Any]) -> str | None:
    """The reply before this one: `history` as a string, else the last assistant message of `history` or `messages`."""
    if isinstance(data.get("history"), str):
        return str(data["history"])
    for name in ("history", "messages"):
        turns = data.get(name)
        for turn in reversed(turns) if isinstance(turns, list) else ():
            if isinstance(turn, dict) and turn.get("role") == "assistant" and isinstance(turn.get("content"), str):
                return str(turn["content"])
    return None


def score_lines(lines: Iterable[bytes], jobs: int = 1) -> Iterator[LineResult]:
    """Judge `lines` in order. `jobs` > 1: worker processes, with a bounded number of lines in flight."""
    numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    if jobs <= 1:
        yield from (score_line(number, line) for number, line in numbered)
        return
    first = list(islice(numbered, BATCH_LINES))
    if len(first) < BATCH_LINES:  # not worth a process
        yield from _score_batch(first)
        return
    yield from _on_processes(first, numbered, jobs)


def _on_processes(first: list[tuple[int, bytes]], rest: Iterator[tuple[int, bytes]], jobs: int) -> Iterator[LineResult]:
    from concurrent.futures import Future, ProcessPoolExecutor
    from multiprocessing import get_context

    # spawn: a progress bar is a thread, and forking a process with threads may deadlock.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        waiting: deque[Future[list[LineResult]]] = deque((pool.submit(_score_batch, first),))
        while waiting:
            while len(waiting) < 4 * jobs and (batch := list(islice(rest, BATCH_LINES))):
                waiting.append(pool.submit(_score_batch, batch))
            yield from waiting.popleft().result()


def _score_batch(batch: list[tuple[int, bytes]]) -> list[LineResult]:
    return [score_line(number, line) for number, line in batch]


def excerpt(text: str, verdict: Verdict, around: int = 120, within: int = 400) -> tuple[str, str, str]:
    """The text before the loop, the loop, and after it, each shortened in the middle for a screen."""
    start, end = (verdict.start, verdict.end) if verdict.degenerate else (0, 0)
    before, loop, after = text[:start], text[start:end], text[end:]
    if len(loop) > within:
        loop = f"{loop[: within // 2]} … {loop[-within // 2 :]}"
    if len(before) > around:
        before = f"… {before[-around:]}"
    if len(after) > around:
        after = f"{after[:around]} …"
    return before, loop, after


def summary(verdict: Verdict) -> list[str]:
    """The verdict in a few plain lines: class and rules, the four metrics beside their lines, the repetition."""
    metrics = verdict.metrics
    head = f"degenerate: {verdict.loop_class}" if verdict.degenerate else "clean"
    rules = ", ".join(verdict.rules)
    lines = [
        f"{head}{f' (rules: {rules})' if rules else ''}, profile {verdict.profile or 'default'}",
        f"trigram_repeat {metrics.trigram_repeat:.2f} (> 0.6)  char_repeat {metrics.char_repeat:.2f} (> 0.35)  "
        f"context_sim {metrics.context_sim:.2f} (> 0.85)  cycle_count {metrics.cycle_count} (>= 4)",
    ]
    if verdict.degenerate:
        lines.append(
            f"characters {verdict.start} to {verdict.end}, {verdict.repeats} times {verdict.unit[:60]!r}, "
            f"shown until {verdict.onset}"
        )
    return lines
