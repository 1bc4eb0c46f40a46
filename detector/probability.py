"""Is the model losing the thread, judged from the probabilities alone? Streamed in bounded memory, or whole.

Decides; reads no text, only token ids (or strings as ids), log probabilities and token families.
In:  Position per token: the chosen token, its logprob, the top candidates.
Out: Finding (rule, class, token span), or None.
Windows of 128 tokens every 64, as msprobe's; thresholds are SPEC §2.6's. Ours beyond it: exact cycles of ids (msprobe is
blind to periods from 42 tokens on), and `lost` tokens, since a small model proposes one family only while it babbles.
A logprob of -inf is a token that a grammar masked: it is no candidate, and no illness.
"""

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from detector.families import NEUTRAL, Family, family_of
from detector.token_cycle import TokenCycle
from detector.verdict import Health, LoopClass, Rule, Verdict

Token = str | int


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """One place of the reply. `logprob` of the chosen token (natural log) or None; `top` likeliest first."""

    token: Token
    logprob: float | None = None
    top: tuple[tuple[Token, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbabilityPolicy:
    window_tokens: int = 128
    stride_tokens: int = 64
    min_window_tokens: int = 64  # shorter: single rare tokens only
    candidates: int = 5
    rare_mass: float = 0.4  # top-5 probability sum below it
    rare_families: int = 2  # and more families than this
    garble_ratio: float = 0.20  # of a window's tokens are rare
    # Ours: on the dev corpus healthy windows reach 0.28 flat and garbled ones start at 0.36 flat, 0.31 lost.
    flat_ratio: float = 0.32  # tokens with a top-5 sum below rare_mass, and
    lost_ratio: float = 0.25  # tokens chosen below lost_logprob
    lost_logprob: float = -5.0
    sure_logprob: float = -0.2  # loop signals count where every top-1 lies above
    distinct_3: float = 0.2
    peak: float = 0.65
    echo: float = 0.325  # half the peak, at 2 and 3 times the lag
    both_windows: int = 3
    one_windows: int = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What the probabilities show; `start`/`end` are token offsets, `[start, end)`."""

    rule: Rule
    loop_class: LoopClass
    start: int
    end: int
    repeats: int = 0
    period_tokens: int = 0


class ProbabilityWatch:
    """Feed positions in order; the first certain finding is kept, later ones are not looked for."""

    def __init__(self, policy: ProbabilityPolicy | None = None, families: Mapping[int, Family] | None = None) -> None:
        self._policy = policy or ProbabilityPolicy()
        self._families = families or {}
        self._cycle = TokenCycle(self._is_mark)
        self._seen = 0
        self._marks: deque[_Mark] = deque(maxlen=self._policy.window_tokens)
        self._both = self._distinct = self._echoes = 0
        self._first_rare: int | None = None
        self._loop_from = 0
        self.finding: Finding | None = None

    def feed(self, position: Position) -> Finding | None:
        """Take one position; return the finding once there is one (also on every later call)."""
        if self.finding is not None:
            return self.finding
        mark = self._mark(position)
        self._marks.append(mark)
        if mark.rare and self._first_rare is None:
            self._first_rare = self._seen
        self._seen += 1
        cycle = self._cycle.feed(position.token)
        if cycle is not None:
            self.finding = Finding(
                rule=Rule.TOKEN_CYCLE,
                loop_class=LoopClass.STUCK
                if cycle.period <= 2
                else LoopClass.PHRASE_LOOP
                if cycle.period <= 12
                else LoopClass.SENTENCE_LOOP
                if cycle.period <= 60
                else LoopClass.PARAGRAPH_LOOP,
                start=cycle.start,
                end=self._seen,
                repeats=cycle.copies,
                period_tokens=cycle.period,
            )
        elif (
            self._seen >= self._policy.window_tokens
            and (self._seen - self._policy.window_tokens) % self._policy.stride_tokens == 0
        ):
            self._window()
        return self.finding

    def finish(self) -> Finding | None:
        """Judge the last partial window, then single rare tokens."""
        policy = self._policy
        fresh = (
            (self._seen - policy.window_tokens) % policy.stride_tokens
            if self._seen >= policy.window_tokens
            else self._seen
        )
        if self.finding is None and self._seen >= policy.min_window_tokens and fresh:
            self._window()
        if self.finding is None and self._first_rare is not None:
            self.finding = Finding(
                rule=Rule.RARE_TOKENS, loop_class=LoopClass.RARE, start=self._first_rare, end=self._first_rare + 1
            )
        return self.finding

    def _is_mark(self, token: Token) -> bool:
        family = self._families.get(token) if isinstance(token, int) else family_of(token)
        return family in NEUTRAL or family in (Family.SYMBOLS, Family.EMOJI, Family.GIBBERISH_SYMBOLS)

    def _mark(self, position: Position) -> "_Mark":
        policy = self._policy
        top = [(token, value) for token, value in position.top if value > -math.inf][: policy.candidates]
        # Fewer candidates than asked: a grammar masked the rest, so a small sum says nothing.
        flat = len(top) >= policy.candidates and sum(math.exp(min(0.0, value)) for _, value in top) < policy.rare_mass
        lost = position.logprob is not None and position.logprob < policy.lost_logprob
        rare = flat and self._family_count(top) > policy.rare_families
        best = top[0][1] if top else None
        return _Mark(token=position.token, best=best, flat=flat, lost=lost, rare=rare)

    def _family_count(self, top: Sequence[tuple[Token, float]]) -> int:
        found = {self._families.get(token) if isinstance(token, int) else family_of(token) for token, _ in top}
        return len(found - NEUTRAL - {None})

    def _window(self) -> None:
        policy, marks, size = self._policy, self._marks, len(self._marks)
        start = self._seen - size
        rare = sum(mark.rare for mark in marks) > policy.garble_ratio * size
        flat = sum(mark.flat for mark in marks) > policy.flat_ratio * size
        if rare or (flat and sum(mark.lost for mark in marks) > policy.lost_ratio * size):
            self.finding = Finding(rule=Rule.GARBLE, loop_class=LoopClass.GARBLE, start=start, end=self._seen)
            return
        series = [mark.best for mark in marks if mark.best is not None]
        if len(series) < size or min(series) <= policy.sure_logprob:
            return
        distinct = _distinct_3([mark.token for mark in marks]) < policy.distinct_3
        echoes = has_echoes(series, policy.peak, policy.echo)
        if not (self._both or self._distinct or self._echoes) and (distinct or echoes):
            self._loop_from = start
        self._both += distinct and echoes
        self._distinct += distinct and not echoes
        self._echoes += echoes and not distinct
        if self._both >= policy.both_windows or max(self._distinct, self._echoes) >= policy.one_windows:
            self.finding = Finding(
                rule=Rule.TOKEN_LOOP, loop_class=LoopClass.SENTENCE_LOOP, start=self._loop_from, end=self._seen
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mark:
    token: Token
    best: float | None
    flat: bool
    lost: bool
    rare: bool


def _distinct_3(tokens: Sequence[Token]) -> float:
    grams = len(tokens) - 2
    return len({tuple(tokens[at : at + 3]) for at in range(grams)}) / grams if grams > 0 else 1.0


def has_echoes(series: Sequence[float], peak: float, echo: float) -> bool:
    """Whether the autocorrelation peaks above `peak` at a lag of 3 to a third of the series, and echoes at 2 and 3 times it.

    Peak as a share of the whole energy; echoes per overlapping sample, so that they do not fade with the lag alone.
    """
    size = len(series)
    mean = math.fsum(series) / size
    centred = [value - mean for value in series]
    energy = math.fsum(value * value for value in centred)
    if energy <= 1e-12 * size:
        return False  # a constant series: left to distinct-3 and to the cycle of ids

    def at(lag: int) -> float:
        return math.fsum(left * right for left, right in zip(centred, centred[lag:], strict=False)) / energy

    lag = max(range(3, size // 3 + 1), key=at, default=0)
    if not lag or at(lag) <= peak:
        return False
    return all(at(times * lag) * size / (size - times * lag) > echo for times in (2, 3) if times * lag < size - 4)


def read_logprobs(data: Any) -> list[Position]:
    """Positions of what an OpenAI-shaped upstream returns: `{"content": [{"token", "logprob", "top_logprobs"}]}`.

    Also the corpus's `{"tokens", "token_logprobs", "top"}`. What cannot be read is left out; nothing raises.
    """
    if not isinstance(data, Mapping):
        return []
    if isinstance(data.get("tokens"), list):
        entries = _rows(data)
    else:
        content = data.get("content")
        entries = [_entry(item) for item in content if isinstance(item, Mapping)] if isinstance(content, list) else []
    return [entry for entry in entries if entry is not None]


def _rows(data: Mapping[str, Any]) -> list[Position | None]:
    chosen, tops = data.get("token_logprobs"), data.get("top")
    chosen = chosen if isinstance(chosen, list) else []
    tops = tops if isinstance(tops, list) else []
    rows: list[Position | None] = []
    for at, token in enumerate(data["tokens"]):
        pairs = tops[at] if at < len(tops) and isinstance(tops[at], list) else []
        candidates = [(pair[0], pair[1]) for pair in pairs if isinstance(pair, list | tuple) and len(pair) == 2]
        rows.append(_position(token, chosen[at] if at < len(chosen) else None, candidates))
    return rows


def _entry(item: Mapping[str, Any]) -> Position | None:
    tops = item.get("top_logprobs")
    candidates = (
        [(top.get("token"), top.get("logprob")) for top in tops if isinstance(top, Mapping)]
        if isinstance(tops, list)
        else []
    )
    return _position(item.get("token"), item.get("logprob"), candidates)


def _position(token: Any, logprob: Any, candidates: Iterable[tuple[Any, Any]]) -> Position | None:
    if not isinstance(token, str | int):
        return None
    top = [
        (name, value)
        for name, number in candidates
        if isinstance(name, str | int) and (value := _number(number)) is not None
    ]
    top.sort(key=lambda pair: -pair[1])
    return Position(token=token, logprob=_number(logprob), top=tuple(top))


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if math.isnan(number) else number


def score_logprobs(
    positions: Iterable[Position], policy: ProbabilityPolicy | None = None, families: Mapping[int, Family] | None = None
) -> Finding | None:
    """Judge a whole reply; reading stops at the first certain finding."""
    watch = ProbabilityWatch(policy, families)
    for position in positions:
        if watch.feed(position) is not None:
            return watch.finding
    return watch.finish()


def with_finding(verdict: Verdict, finding: Finding | None, positions: Sequence[Position]) -> Verdict:
    """Add what the probabilities show to the text's verdict; a degenerate text keeps its class and span.

    Rare tokens alone are told as a rule and leave the health as it is: names and quotations are rare too.
    """
    from dataclasses import replace

    if finding is None:
        return verdict
    rules = (*verdict.rules, finding.rule)
    if verdict.degenerate or finding.rule is Rule.RARE_TOKENS:
        return replace(verdict, rules=rules)
    lengths = [len(position.token) if isinstance(position.token, str) else 0 for position in positions[: finding.end]]
    start, end = sum(lengths[: finding.start]), sum(lengths)
    return replace(
        verdict,
        health=Health.DEGENERATE,
        loop_class=finding.loop_class,
        rules=rules,
        start=start,
        end=end,
        onset=start,
        repeats=finding.repeats,
    )
