"""Many replies, one JSON object per line, judged in order on all cores; and one verdict as a plain record.

Acts only in that it starts worker processes for `jobs` > 1; reads and writes nothing itself.
In:  lines `{"id", "text", "history"?, "messages"?, "profile"?, "logprobs"?}` as bytes.
Out: LineResult per line that is not blank, in order, while the input is still being read.
"""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from detector.probability import read_logprobs, score_logprobs, with_finding
from detector.score import score
from detector.verdict import Rule, Verdict

BATCH_LINES = 64
"""Lines per task of a worker: large against the cost of handing them over, small against memory."""


def text_of(raw: bytes, name: str) -> str:
    """The text in a file's bytes; `name` is how the error calls it. ValueError for what is empty or no text at all."""
    if not raw:
        raise ValueError(f"{name} is empty: there is no reply to judge")
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ValueError(f"{name} is UTF-16; convert it first: iconv -f UTF-16 -t UTF-8")
    if b"\0" in raw[:4096]:
        raise ValueError(f"{name} is binary, not text: byte 0 at offset {raw.index(0)}")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{name} is not UTF-8: byte 0x{raw[error.start]:02x} at offset {error.start}; "
            "convert it first, for Chinese Windows files: iconv -f GB18030 -t UTF-8"
        ) from error


REPLY_NAMES = ("text", "reply")
"""What a line calls the reply: our own word, and that of answers which were exported."""
METRICS = ("trigram_repeat", "char_repeat", "context_sim", "cycle_count")
TEXT_RULES = frozenset({Rule.CYCLE, Rule.BLOCK, Rule.SYMBOL, Rule.STUCK, Rule.ENUMERATION, Rule.TRIGRAM, Rule.CHAR})
"""Rules that read the text alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineResult:
    """One line's outcome: `output` is the line to write, or `error` says what was wrong with it."""

    number: int  # counted from 1, blank lines included
    output: str = ""
    error: str = ""
    degenerate: bool = False


def judge(
    text: str,
    *,
    previous: str | None = None,
    profile: str | None = None,
    logprobs: Any = None,
    timer: Callable[[], float] | None = None,
) -> Verdict:
    """The verdict on one reply by its text and, where given, its logprobs; ValueError for an unknown profile."""
    verdict = score(text, previous=previous, profile=profile, timer=timer)
    if logprobs is None:
        return verdict
    positions = read_logprobs(logprobs)
    return with_finding(verdict, score_logprobs(positions), positions)


def measured(verdict: Verdict, *, compared: bool) -> dict[str, float | None]:
    """The four metrics; None for one that was not worked out. `compared`: a previous reply was given.

    The context is compared only where the text itself shows nothing; a loop of fewer tokens than make a share has none.
    """
    metrics, found = verdict.metrics, not TEXT_RULES.isdisjoint(verdict.rules)
    return {
        "trigram_repeat": metrics.trigram_repeat if metrics.trigram_repeat or not found else None,
        "char_repeat": metrics.char_repeat,
        "context_sim": metrics.context_sim if compared and not found else None,
        "cycle_count": metrics.cycle_count,
    }


def record_of(verdict: Verdict, identity: Any = None, *, compared: bool = False) -> dict[str, Any]:
    """The verdict as JSON values; the fingerprint as 16 hex digits, since JavaScript would round the number."""
    metrics = measured(verdict, compared=compared)
    return {
        "id": identity,
        "degenerate": verdict.degenerate,
        "class": verdict.loop_class.value if verdict.loop_class else None,
        "rules": [rule.value for rule in verdict.rules],
        "metrics": {name: None if value is None else round(value, 4) for name, value in metrics.items()},
        "profile": verdict.profile,
        "thresholds": asdict(verdict.thresholds),
        "start": verdict.start,
        "end": verdict.end,
        "onset": verdict.onset,
        "repeats": verdict.repeats,
        "unit": verdict.unit,
        "fingerprint": None if verdict.fingerprint is None else f"{verdict.fingerprint & (1 << 64) - 1:016x}",
    } | ({"cost_us": round(verdict.cost_us)} if verdict.cost_us else {})


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
        data = reply_of(line)
        profile = data.get("profile")
        if profile is not None and not isinstance(profile, str):
            raise ValueError(f'"profile" is {_named(profile)}; a string is wanted')
        logprobs = data.get("logprobs")
        if not isinstance(logprobs, dict | list | None):
            raise ValueError(f'"logprobs" is {_named(logprobs)}; an object {{"content": [...]}} is wanted')
        previous = previous_reply(data)
        verdict = judge(data["text"], previous=previous, profile=profile, logprobs=logprobs)
    except (ValueError, RecursionError) as error:
        return LineResult(number=number, error=str(error))
    output = json_line(record_of(verdict, data.get("id", number), compared=bool(previous)))
    return LineResult(number=number, output=output, degenerate=verdict.degenerate)


def reply_of(line: bytes) -> dict[str, Any]:
    """The JSON object of a line, its "text" the reply, which may be named "reply"; ValueError says what is wrong with it."""
    try:
        data = json.loads(text_of(line, "the line"))
    except json.JSONDecodeError as error:
        at = f"{error.msg} at column {error.colno}"
        raise ValueError(f'not JSON: {at}; one object a line is wanted, such as {{"text": "…"}}') from error
    except RecursionError as error:
        raise ValueError("not JSON that can be read: nested too deeply") from error
    if not isinstance(data, dict):
        raise ValueError(f'{_named(data)}; an object with a string "text" is wanted')
    name = next((one for one in REPLY_NAMES if one in data), None)
    if name is None:
        raise ValueError('"text" is missing: the reply to judge ("reply" will do as well)')
    if not isinstance(data[name], str):
        raise ValueError(f'"{name}" is {_named(data[name])}; a string is wanted')
    return {**data, "text": data[name]}


def _named(value: Any) -> str:
    """A JSON value's kind, as a person calls it."""
    if value is None:
        return "null"
    kinds = {
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "a list",
        dict: "an object",
    }
    return kinds.get(type(value), type(value).__name__)


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


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)


def summary(verdict: Verdict, *, compared: bool = False) -> list[str]:
    """The verdict in a few plain lines: class and rules, the four metrics beside their lines, the repetition."""
    figures, limits = measured(verdict, compared=compared), asdict(verdict.thresholds)
    head = f"degenerate: {verdict.loop_class}" if verdict.degenerate else "clean"
    rules = ", ".join(verdict.rules)
    lines = [
        f"{head}{f' (rules: {rules})' if rules else ''}, profile {verdict.profile or 'default'}",
        "  ".join(f"{name} {_figure(figures[name])} (line {limits[name]:g})" for name in METRICS),
    ]
    if verdict.degenerate:
        lines.append(
            f"characters {verdict.start} to {verdict.end}, {verdict.repeats} times {verdict.unit[:60]!r}, "
            f"shown until {verdict.onset}"
        )
    return lines
