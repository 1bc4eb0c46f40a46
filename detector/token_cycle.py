"""Do the token ids repeat exactly, with whatever period? Online, in bounded memory.

Decides. In: token after token. Out: Cycle once it is certain.
One candidate period is followed at a time: the distance to the last place with the same four tokens. A true period, once
taken, never fails, so nothing else need be remembered.
"""

from collections.abc import Callable
from dataclasses import dataclass

Token = str | int
_GRAM = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    start: int
    period: int
    copies: int


class TokenCycle:
    """Periods up to `window` / 3 tokens; amortised O(1) per token, memory O(window).

    Certain at 4 copies of 64 tokens together, or 3 copies of a unit of 64 tokens and more (about DETECTION §1's cycle and
    block rules, a token counting 2 columns or more); a unit of marks only needs 64 copies and 400 tokens, as symbols do.
    """

    def __init__(self, is_mark: Callable[[Token], bool], window: int = 8_192) -> None:
        self._is_mark, self._window = is_mark, window
        self._recent: list[Token] = []
        self._base = 0  # offset of _recent[0]
        self._last: dict[tuple[Token, ...], int] = {}
        self._period = self._run = 0

    def feed(self, token: Token) -> Cycle | None:
        recent = self._recent
        recent.append(token)
        at = len(recent) - 1
        if self._period and at >= self._period and recent[at - self._period] == token:
            self._run += 1
        else:
            self._period = self._run = 0
        gram = tuple(recent[-_GRAM:])
        if len(gram) == _GRAM:
            before = self._last.get(gram)
            if not self._period and before is not None and before >= self._base:
                self._period, self._run = self._base + at - before, _GRAM
            self._last[gram] = self._base + at
        found = self._judge()
        if len(recent) >= 2 * self._window:
            self._forget()
        return found

    def _judge(self) -> Cycle | None:
        period, span = self._period, self._run + self._period
        if not period or span < 64 or span < (3 if period >= 64 else 4) * period:
            return None
        unit = self._recent[-period:]
        if all(self._is_mark(token) for token in unit) and (span < 64 * period or span < 400):
            return None
        start = len(self._recent) - span
        while start > 0 and self._recent[start - 1] == self._recent[start - 1 + period]:
            start -= 1
        return Cycle(start=self._base + start, period=period, copies=(len(self._recent) - start) // period)

    def _forget(self) -> None:
        drop = len(self._recent) - self._window
        del self._recent[:drop]
        self._base += drop
        self._last = {gram: at for gram, at in self._last.items() if at >= self._base}
