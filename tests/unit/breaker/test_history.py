"""What is read again and what is remembered."""

from collections.abc import Sequence

from breaker.history import MinuteHistory
from breaker.window import Counts, FastRow, MinuteRow


class Counting:
    """One reply a minute in two scopes; remembers what was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []

    async def flush(self, boot_id: str, minutes: Sequence[MinuteRow], fast: Sequence[FastRow]) -> None: ...

    async def minutes(self, model: str, first: int, last: int) -> Sequence[MinuteRow]:
        self.asked.append((first, last))
        return [
            MinuteRow(model=model, scope=scope, minute=minute, counts=Counts(judged=1))
            for minute in range(first, last + 1)
            for scope in ("", "scene:chat")
        ]

    async def fast(self, model: str, first: int, last: int) -> Sequence[FastRow]:
        return []


async def test_only_minutes_that_can_still_change_are_read_again() -> None:
    store = Counting()
    history = MinuteHistory(store)
    for last in (1_000, 1_000, 1_001):
        rows = await history.minutes("m", last)
        assert [row.minute for row in rows] == list(range(last - 129, last + 1))
        assert {row.scope for row in rows} == {""}
    assert store.asked == [(871, 1_000), (984, 1_000), (985, 1_001)]


async def test_all_are_read_after_a_gap_and_every_ten_minutes() -> None:
    store = Counting()
    history = MinuteHistory(store)
    for last in (1_000, 1_003, *range(1_004, 1_014)):
        await history.minutes("m", last)
    whole = [last for first, last in store.asked if last - first == 129]
    assert whole == [1_000, 1_003, 1_013]
