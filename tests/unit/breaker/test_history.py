"""What is read again and what is remembered."""

from collections.abc import Mapping, Sequence

from breaker.history import MinuteHistory
from breaker.window import Counts, MinuteRow
from store.memory import MemoryCounts
from tests.support.clock import ManualClock


class Counting(MemoryCounts):
    """One reply a minute and model; remembers what was asked for."""

    def __init__(self) -> None:
        super().__init__(ManualClock())
        self.asked: list[tuple[int, int]] = []
        self.models: list[list[str]] = []

    async def minutes_of(
        self, models: Sequence[str], first: int, last: int, *, scope: str | None = None
    ) -> Mapping[str, Sequence[MinuteRow]]:
        self.asked.append((first, last))
        self.models.append(list(models))
        return {
            model: [
                MinuteRow(model=model, scope="", minute=minute, counts=Counts(judged=1))
                for minute in range(first, last + 1)
            ]
            for model in models
        }


async def test_only_minutes_that_can_still_change_are_read_again() -> None:
    store = Counting()
    history = MinuteHistory(store)
    for last in (1_000, 1_000, 1_001):
        rows = (await history.minutes_of(["m"], last))["m"]
        assert [row.minute for row in rows] == list(range(last - 129, last + 1))
    assert store.asked == [(871, 1_000), (984, 1_000), (985, 1_001)]


async def test_all_are_read_after_a_gap_and_every_ten_minutes() -> None:
    store = Counting()
    history = MinuteHistory(store)
    for last in (1_000, 1_003, *range(1_004, 1_014)):
        assert await history.prepare(["m"], last)
        await history.minutes_of(["m"], last)
    whole = [last for first, last in store.asked if last - first == 129]
    assert whole == [1_000, 1_003, 1_013]


async def test_a_large_fleet_is_read_whole_a_part_at_a_time_and_judged_once_all_are_there() -> None:
    store, models = Counting(), [f"m{n}" for n in range(150)]
    history = MinuteHistory(store)
    assert [await history.prepare(models, 1_000) for _ in range(4)] == [False, False, True, True]
    assert [len(some) for some in store.models] == [60, 60, 30]
    assert [await history.prepare(models, 1_010) for _ in range(4)] == [False, False, True, True]


async def test_models_that_were_read_are_not_waited_for_when_they_are_only_due_again() -> None:
    store, models = Counting(), [f"m{n}" for n in range(150)]
    history = MinuteHistory(store)
    for _ in range(3):
        await history.prepare(models, 1_000)
    for last in range(1_001, 1_010):
        assert await history.prepare(models, last)
        await history.minutes_of(models, last)
    store.models.clear()
    assert await history.prepare(models, 1_010)
    assert [len(some) for some in store.models] == [60]
