"""The split of a gray release in the router: by session, first attempts only, counted under its arm, never a lost request."""

from collections import Counter
from dataclasses import replace

import pytest

from base.faults import Fault
from breaker.gray import Drawn, GrayRelease, GrayStage
from breaker.gray_board import GrayBoard
from breaker.levels import Level
from store.memory import MemoryGray
from tests.support.clock import ManualClock
from tests.support.router_world import Says, World

RELEASE = GrayRelease(model="a", candidate="c", version="v2", id="r1", epoch=1, share=0.25)


async def board_of(release: GrayRelease | None, levels: dict[str, Level] | None = None) -> GrayBoard:
    store = MemoryGray()
    if release is not None:
        await store.compare_and_set(release, 0)
    board = GrayBoard(("a", "b", "c"), store, ManualClock(), lambda: levels or {})
    await board.poll()
    return board


async def asked(world: World, count: int = 60) -> list[str]:
    """The models that answered sessions s0, s1, …"""
    served = []
    for number in range(count):
        answer = await world.ask(headers={"x-pointsman-session": f"s{number}"})
        assert answer.status_code == 200
        served.append(answer.headers["x-pointsman-model"])
    return served


async def world_with(release: GrayRelease | None, levels: dict[str, Level] | None = None, **more: list[Says]) -> World:
    world = World(more, levels=levels)
    world.deps.gray = await board_of(release, levels)
    return world


async def test_a_part_of_the_sessions_goes_to_the_candidate_and_stays_there() -> None:
    world = await world_with(RELEASE)
    first, again = await asked(world), await asked(world)
    assert first == again
    assert 5 <= Counter(first)["c"] <= 25
    assert set(first) == {"a", "c"}


async def test_attempts_count_under_the_arm_of_their_session() -> None:
    world = await world_with(RELEASE)
    await asked(world)
    assert {(noted["model"], noted["arm"]) for noted in world.guard.noted} == {("a", "r1-stable"), ("c", "r1-gray")}


async def test_as_the_share_grows_nobody_goes_back() -> None:
    small = await board_of(RELEASE)
    large = await board_of(replace(RELEASE, share=0.5))
    sessions = [f"s{number}" for number in range(400)]

    def gray(board: GrayBoard) -> set[str]:
        return {s for s in sessions if (drawn := board.drawn("a", s)) is not None and drawn.model == "c"}

    assert gray(small) < gray(large)
    assert abs(len(gray(small)) / 400 - 0.25) < 0.07


@pytest.mark.parametrize(
    ("stage", "served"),
    [
        (GrayStage.RUNNING, {"a", "c"}),
        (GrayStage.PAUSED, {"a", "c"}),
        (GrayStage.WAITING, {"a", "c"}),
        (GrayStage.STOPPED, {"a"}),
        (GrayStage.ROLLED_BACK, {"a"}),
    ],
)
async def test_the_split_holds_as_long_as_the_release_goes_on(stage: GrayStage, served: set[str]) -> None:
    assert set(await asked(await world_with(replace(RELEASE, stage=stage)))) == served


async def test_promoted_all_sessions_go_to_the_candidate() -> None:
    promoted = replace(RELEASE, stage=GrayStage.PROMOTED, share=1.0)
    assert set(await asked(await world_with(promoted), 10)) == {"c"}


async def test_a_candidate_that_is_off_or_unknown_is_given_nobody_and_no_arm_is_counted() -> None:
    world = await world_with(replace(RELEASE, share=0.99), levels={"c": Level.OPEN})
    assert set(await asked(world)) == {"a"}
    assert "r1-gray" not in {noted["arm"] for noted in world.guard.noted}
    gone = await world_with(replace(RELEASE, candidate="gone", share=0.99))
    assert set(await asked(gone, 10)) == {"a"}


async def test_who_failed_in_the_gray_arm_is_answered_by_the_stable_one_outside_of_both_arms() -> None:
    promoted = replace(RELEASE, stage=GrayStage.PROMOTED, share=1.0)
    world = await world_with(promoted, c=[Says(fault=Fault.SERVER_ERROR)])
    answer = await world.ask()
    assert (answer.headers["x-pointsman-model"], answer.headers["x-pointsman-fallback"]) == ("a", "model")
    assert [(noted["model"], noted["arm"]) for noted in world.guard.noted] == [("c", "r1-gray"), ("a", "")]


async def test_without_a_release_nothing_is_counted_under_an_arm() -> None:
    world = await world_with(None)
    assert set(await asked(world, 5)) == {"a"}
    assert {noted["arm"] for noted in world.guard.noted} == {""}


async def test_a_document_that_the_store_lost_goes_on_from_memory() -> None:
    board = await board_of(replace(RELEASE, share=1.0))
    board._store = MemoryGray()
    await board.poll()
    assert board.drawn("a", "s") == Drawn(model="c", arm="r1-gray")
