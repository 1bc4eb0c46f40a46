"""Whatever the order of findings, acks, silences, moves of time and restarts: told once firing, once resolved, never
resolved without having been announced. The real desk rules, notifier and decisions over a book in memory."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.alerts.alert import AlertKind, Severity
from monitor.alerts.decide import Group, Notice, told
from monitor.alerts.incident import Incident
from monitor.alerts.mute import Silence
from monitor.alerts.notify import Notifier, of_replies
from monitor.alerts.ports import NoticeBook
from monitor.alerts.routing import Routing
from store.memory import MemoryLease
from store.memory_desk import MemoryDesk
from tests.support.clock import ManualClock
from tests.support.incidents import alert

LATER_S = 20_000.0


class Book:
    """Notices over the incidents of a desk in memory; what it was told is kept in `filed`."""

    def __init__(self, desk: MemoryDesk) -> None:
        self.desk = desk
        self.known: dict[str, Group] = {}
        self.hushed: list[Silence] = []
        self.filed: list[Notice] = []

    async def waiting(self) -> Sequence[Incident]:
        # As a table would: every incident gets a number when it is first seen.
        self.desk.incidents[:] = [replace(one, id=at) for at, one in enumerate(self.desk.incidents, start=1)]
        return [one for one in self.desk.incidents if not one.settled]

    async def groups(self) -> Mapping[str, Group]:
        return dict(self.known)

    async def silences(self, now_s: float) -> Sequence[Silence]:
        return self.hushed

    async def file(self, notice: Notice, channels: Sequence[str], body: Mapping[str, Any]) -> bool:
        if self.known.get(notice.group.key, Group(key=notice.group.key)).seq != notice.group.seq:
            return False
        self.known[notice.group.key] = replace(notice.group, seq=notice.group.seq + 1, last_at=notice.at)
        self.filed.append(notice)
        for one in (*notice.firing, *notice.over):
            self._put(told(one, notice.at))
        return True

    async def settle(self, quiet: Sequence[Incident]) -> None:
        for one in quiet:
            self._put(replace(one, settled=True))

    def _put(self, here: Incident) -> None:
        self.desk.incidents[here.id - 1] = here


_book: type[NoticeBook] = Book

SUBJECTS = st.sampled_from(["a", "b"])
KINDS = st.sampled_from([AlertKind.TRANSITION, AlertKind.SCENE, AlertKind.HOURLY, AlertKind.DETECTOR_SUSPECT])
SEVERITIES = st.sampled_from([Severity.INFO, Severity.WARN, Severity.CRITICAL])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("fire"), KINDS, SUBJECTS, SEVERITIES),
        st.tuples(st.just("resolve"), KINDS, SUBJECTS),
        st.tuples(st.just("ack"), st.integers(0, 5)),
        st.tuples(st.just("hush"), SUBJECTS, st.floats(1, 2_000)),
        st.tuples(st.just("wait"), st.sampled_from([1.0, 20.0, 31.0, 301.0, 700.0, 15_000.0])),
        st.tuples(st.just("restart")),
        st.tuples(st.just("both")),
    ),
    max_size=40,
)


class World:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.desk = MemoryDesk()
        self.book = Book(self.desk)
        self.notifiers = [self.notifier()]

    def notifier(self) -> Notifier:
        # Each with a lease of its own: all believe that they alone decide.
        return Notifier(self.book, MemoryLease(self.clock), "me", Routing(["w"]), self.clock)

    async def play(self, step: tuple[Any, ...]) -> None:
        now_s = self.clock.now_s()
        match step:
            case ("fire", kind, subject, severity):
                model = "" if kind is AlertKind.DETECTOR_SUSPECT else subject
                await self.desk.fire(alert(kind, now_s, subject=subject, model=model, severity=severity))
            case ("resolve", kind, subject):
                await self.desk.resolve(alert(kind, now_s, subject=subject))
            case ("ack", at) if at < len(self.desk.incidents) and self.desk.incidents[at].firing:
                self.desk.incidents[at] = replace(self.desk.incidents[at], acked_at=now_s, acked_by="li")
            case ("hush", subject, seconds):
                self.book.hushed.append(
                    Silence(model=subject, author="li", reason="r", starts_at=now_s, ends_at=now_s + seconds)
                )
            case ("wait", seconds):
                await self.clock.advance(seconds)
            case ("restart",):
                self.notifiers = [self.notifier()]
            case ("both",):
                self.notifiers.append(self.notifier())
        # A second of time passes with each step: what is reported later is later.
        await self.clock.advance(1)
        await asyncio.gather(*(one.once() for one in self.notifiers))

    async def to_the_end(self) -> None:
        for one in [one for one in self.desk.incidents if one.firing]:
            await self.desk.resolve(alert(one.kind, self.clock.now_s(), subject=one.subject))
        await self.clock.advance(LATER_S)
        await self.notifiers[0].once()


@given(STEPS)
@settings(max_examples=150, deadline=None)
def test_each_condition_is_told_once_firing_and_once_resolved_in_any_order(steps: list[tuple[Any, ...]]) -> None:
    world = World()

    async def run() -> None:
        for step in steps:
            await world.play(step)
        await world.to_the_end()

    asyncio.run(run())
    filed = world.book.filed
    assert len({notice.id for notice in filed}) == len(filed)
    ended = Counter(one.id for notice in filed for one in notice.over)
    begun: dict[int, float] = {}
    for notice in filed:
        for one in notice.firing:
            begun.setdefault(one.id, notice.at)
    assert set(ended) == set(begun), "resolved exactly what was announced"
    assert set(ended.values()) <= {1}, "and once"
    for notice in filed:
        for one in notice.over:
            assert begun[one.id] <= notice.at
            assert one.resolved_at is not None
        firsts = [one for one in notice.firing if not one.announced]
        assert all(begun[one.id] == notice.at for one in firsts), "announced once"
    assert all(one.settled for one in world.desk.incidents), "nothing is left over"


@pytest.mark.parametrize(
    ("kind", "facts", "has"),
    [
        (AlertKind.FORBIDDEN, {"status": 401.0}, False),
        (AlertKind.GRAY, {"reason": "operator"}, False),
        (AlertKind.GRAY, {"reason": "worse_repeats"}, True),
        (AlertKind.TRANSITION, {"reasons": ["operator"]}, False),
        (AlertKind.TRANSITION, {"reasons": ["hard_failures"]}, False),
        (AlertKind.TRANSITION, {"reasons": ["hard_failures", "ratio_30m"]}, True),
        (AlertKind.TRANSITION, {}, True),
    ],
)
def test_a_refused_key_and_a_stop_by_hand_carry_no_loop_of_another_trouble(
    kind: AlertKind, facts: dict[str, object], has: bool
) -> None:
    assert of_replies(kind, facts) is has
