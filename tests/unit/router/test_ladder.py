"""The order of what may answer, step by step."""

from collections.abc import Sequence

import pytest

from base.faults import Fault
from router.ladder import End, Step, Tried, end_of, next_step, soft_code
from router.policy import RouterPolicy
from router.topology import Candidate, Model, Route, WhenDown
from upstream.attempt import Attempt
from upstream.call import Endpoint

POLICY = RouterPolicy()
ROUTE = Route(name="main", candidates=(Candidate(model="a", weight=1),))


def model(name: str = "a", endpoints: int = 2) -> Model:
    peers = tuple(Endpoint(base_url=f"http://{name}{i}", upstream_model=name) for i in range(endpoints))
    return Model(name=name, vendor="v", endpoints=peers)


def tried(*steps: tuple[str, int, Fault | None]) -> list[Tried]:
    return [
        Tried(model=name, endpoint=endpoint, attempt=Attempt(started_at=0.0, elapsed_s=0.1, fault=fault))
        for name, endpoint, fault in steps
    ]


def step(so_far: Sequence[Tried], endpoints: int = 2, *, others: bool = True, left_s: float = 60.0) -> Step:
    here = model(so_far[-1].model, endpoints) if so_far else None
    return next_step(so_far, here, others=others, left_s=left_s, policy=POLICY)


LOOP, EMPTY, DOWN = Fault.REPETITION, Fault.EMPTY, Fault.SERVER_ERROR


@pytest.mark.parametrize(
    ("so_far", "wanted"),
    [
        pytest.param([], Step.SWITCH, id="the first model is drawn"),
        pytest.param([("a", 0, None)], Step.END, id="a good reply ends it"),
        pytest.param([("a", 0, LOOP)], Step.SPARE, id="after the primary its spare"),
        pytest.param([("a", 0, LOOP), ("a", 1, LOOP)], Step.SWITCH, id="after the spare another model"),
        pytest.param([("a", 0, LOOP), ("b", 0, LOOP)], Step.SWITCH, id="a second model gives no spare"),
        pytest.param([("a", 0, LOOP), ("b", 0, LOOP), ("c", 0, LOOP)], Step.SPARE, id="two switches: only spares left"),
        pytest.param([("a", 0, LOOP), ("a", 1, LOOP), ("b", 0, LOOP), ("c", 0, LOOP)], Step.END, id="four attempts"),
        pytest.param([("a", 0, Fault.RATE_LIMITED)], Step.SWITCH, id="a rate limit goes to another model"),
        pytest.param([("a", 0, Fault.CONTEXT_TOO_LONG)], Step.SWITCH, id="too long goes to a larger window"),
        pytest.param([("a", 0, Fault.REJECTED)], Step.END, id="the caller's error is not retried"),
        pytest.param([("a", 0, Fault.REFUSAL)], Step.END, id="a refusal is not routed around"),
        pytest.param([("a", 0, Fault.INVALID_FORMAT)], Step.AGAIN, id="broken format is asked once more"),
        pytest.param(
            [("a", 0, Fault.INVALID_FORMAT), ("a", 0, Fault.INVALID_FORMAT)], Step.SWITCH, id="broken format twice"
        ),
    ],
)
def test_the_next_step_follows_the_ladder(so_far: list[tuple[str, int, Fault | None]], wanted: Step) -> None:
    assert step(tried(*so_far)) is wanted


def test_no_rung_is_tried_when_the_deadline_is_near() -> None:
    assert step(tried(("a", 0, LOOP)), left_s=0.1) is Step.END


def test_without_other_models_every_spare_is_used_and_then_it_ends() -> None:
    assert step(tried(("a", 0, DOWN), ("a", 1, DOWN)), 3, others=False) is Step.SPARE
    assert step(tried(("a", 0, DOWN)), 1, others=False) is Step.END


@pytest.mark.parametrize(
    ("faults", "allowed", "when_down", "wanted"),
    [
        pytest.param([None], True, WhenDown.PHRASE, End.SERVED, id="a good reply"),
        pytest.param([Fault.REFUSAL], True, WhenDown.PHRASE, End.SERVED, id="a refusal is handed on"),
        pytest.param([Fault.LENGTH_IN_REASONING], True, WhenDown.PHRASE, End.SERVED, id="tokens went to reasoning"),
        pytest.param([DOWN, Fault.REJECTED], True, WhenDown.PHRASE, End.CALLER, id="the caller's own error"),
        pytest.param([LOOP, DOWN], True, WhenDown.ERROR, End.PHRASE, id="soft and hard: phrase"),
        pytest.param([LOOP], False, WhenDown.PHRASE, End.NO_USABLE_REPLY, id="opted out: 502"),
        pytest.param([DOWN, DOWN], True, WhenDown.PHRASE, End.PHRASE, id="all hard, phrase wanted"),
        pytest.param([DOWN, DOWN], True, WhenDown.ERROR, End.ALL_DOWN, id="all hard, honest error wanted"),
        pytest.param([DOWN], False, WhenDown.PHRASE, End.ALL_DOWN, id="all hard, opted out"),
        pytest.param([], True, WhenDown.PHRASE, End.PHRASE, id="nobody may take traffic"),
        pytest.param([], False, WhenDown.PHRASE, End.ALL_DOWN, id="nobody may take traffic, opted out"),
    ],
)
def test_the_end_is_what_the_route_and_the_client_allow(
    faults: list[Fault | None], allowed: bool, when_down: WhenDown, wanted: End
) -> None:
    route = Route(name="main", candidates=(), when_down=when_down)
    so_far = tried(*[("a", 0, fault) for fault in faults])
    assert end_of(so_far, route, fallback_allowed=allowed) is wanted


def test_a_502_carries_the_last_soft_fault() -> None:
    assert soft_code(tried(("a", 0, EMPTY), ("b", 0, DOWN))) == "empty_reply"
