"""Opens what the rooms need, hands it out, and closes it in reverse.

In:  Settings.  Out: a Service: the ASGI app, the breaker's guard and the stores, with their background tasks running.
Nothing is decided here. What cannot be opened stops the start with a StartError; a store that goes away later does not.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from random import Random
from typing import Any

from sqlalchemy.ext.asyncio import AsyncEngine

from base.cancels import end
from base.clock import Clock, SystemClock
from base.ids import new_boot_id
from breaker.gray_board import GrayBoard
from breaker.guard import Guard
from breaker.ports import StoreUnavailable
from breaker.takeover import RouteShares
from detector import load_validators
from fallback_phrases.catalog import load as load_phrases
from monitor.counts import MonitorCounts
from pointsman.breaker_metrics import BreakerCollector
from pointsman.network import way_to_vendors
from pointsman.phrases import KeptPhrases
from pointsman.process_metrics import tell_of_process
from pointsman.settings import Settings
from pointsman.switchwork import follow_switches
from router.api import RouterApp, build_app
from router.auth import Keys
from router.journey import Deps
from router.ports import Traces
from router.rests import share as share_rests
from store.migrate import upgrade
from store.redis_gray import RedisGray
from store.redis_link import RedisLink, connect
from store.redis_nudge import Nudges
from store.redis_rests import RedisRests
from store.redis_states import RedisEvidence, RedisLease, RedisProbes, RedisStates
from store.redis_switches import RedisSwitches
from store.redis_windows import RedisCounts
from store.server_time import ServerTime
from store.spool import Spool
from store.spooled_transitions import SpooledTransitions
from store.sql_calls import SqlCallLog
from store.sql_feedback import SqlFeedbackLog
from store.sql_incidents import SqlAlertDesk
from store.sql_keys import SqlKeys
from store.sql_link import open_engine, place_of
from store.sql_phrases import SqlPhrases
from store.sql_transitions import SqlTransitions
from store.sql_why import why
from store.state_file import BackedStates
from upstream.client import Upstream

log = logging.getLogger("pointsman")
KEYS_EVERY_S = 1.0
"""Real seconds: a revoked key is refused that soon on every replica."""
ENDED_S = 3.0
"""Real seconds for one job of the background to end; the process ends without it then."""


class StartError(Exception):
    """Something the service cannot do without did not open."""


@dataclass(slots=True, kw_only=True)
class Service:
    """One process, open. `clock` follows the fleet's time."""

    settings: Settings
    app: RouterApp
    deps: Deps
    guard: Guard
    clock: Clock
    engine: AsyncEngine
    link: RedisLink
    upstream: Upstream
    gray: GrayBoard
    transitions: SqlTransitions
    desk: SqlAlertDesk
    calls: SqlCallLog
    moves: SpooledTransitions
    evidence: RedisEvidence
    lease: RedisLease
    redis_url: str
    boot_id: str
    stack: AsyncExitStack
    phrases: KeptPhrases
    counts: MonitorCounts = field(default_factory=MonitorCounts)
    draining: bool = False
    data_door: str = ""
    """The URL clients reach this process by, once its door is open."""

    def background(self, job: Coroutine[Any, Any, None], name: str) -> None:
        """Run `job` until the service closes."""
        _background(self.stack, job, name)


@contextlib.asynccontextmanager
async def assembled(settings: Settings, given: Clock | None = None) -> AsyncIterator[Service]:
    """The service, open for the time of the block; `given` stands for this machine's clock and the store's.

    Raises StartError.
    """
    async with AsyncExitStack() as stack:
        yield await _assemble(settings, stack, given)


async def _assemble(settings: Settings, stack: AsyncExitStack, given: Clock | None) -> Service:
    local = given or SystemClock(settings.time_scale)
    make_data_dir(settings)
    boot_id, rng = new_boot_id(), Random()
    redis_url = await redis_of(settings, stack)
    link = RedisLink(connect(redis_url), local)
    stack.push_async_callback(link.close)
    clock = given or await _server_time(link, local, stack)

    engine = await open_sql(settings, stack)
    transitions = SqlTransitions(engine)
    calls = SqlCallLog(engine, spool=open_spool(settings, "calls", stack))
    stack.push_async_callback(calls.close)
    _background(stack, calls.run(local), "call log")
    moves = SpooledTransitions(transitions, open_spool(settings, "transitions", stack))
    _background(stack, moves.run(local), "transition log")

    feedback = SqlFeedbackLog(engine, clock, spool=open_spool(settings, "feedback", stack))
    stack.push_async_callback(feedback.close)
    _background(stack, feedback.run(local), "feedback")

    topology = settings.topology()
    evidence, lease, counts = RedisEvidence(link, clock), RedisLease(link, clock), RedisCounts(link, clock)
    guard = Guard(
        tuple(topology.models),
        settings.breaker,
        counts,
        BackedStates(RedisStates(link), settings.data_dir / "states.json"),
        RedisProbes(link, clock),
        lease,
        moves,
        clock,
        rng,
        boot_id,
        clock.now_s,
        evidence=evidence,
        keep_last=settings.keep_last(),
    )
    with contextlib.suppress(StoreUnavailable):
        await guard.poll()
    stack.push_async_callback(guard.close)
    _background(stack, guard.run(), "breaker")
    _background(stack, Nudges(link.client, local, guard.nudge).run(), "nudges")

    gray = GrayBoard(tuple(topology.models), RedisGray(link), clock, guard.levels)
    with contextlib.suppress(StoreUnavailable):
        await gray.poll()
    _background(stack, gray.run(settings.breaker.poll_s), "gray releases")

    keys = Keys(required=settings.require_keys)
    await _refresh_keys(keys, SqlKeys(engine), settings)
    _background(stack, _keep_keys(keys, SqlKeys(engine), settings), "keys")

    transport = way_to_vendors(settings.network)
    stack.push_async_callback(transport.aclose)
    upstream = Upstream(transport, clock, settings.gate)
    deps = Deps(
        topology=topology,
        models=upstream,
        guard=guard,
        shares=RouteShares(settings.breaker, guard.shed_at, clock.now_s),
        catalog=load_phrases(),
        calls=calls,
        clock=clock,
        rng=rng,
        keys=keys,
        policy=settings.router,
        gate=settings.gate,
        gray=gray,
        validators=load_validators(on_error=_left_out),
        feedback=feedback,
    )
    if settings.traces:
        deps.traces = _traces(stack)
    phrases = KeptPhrases(deps=deps, store=SqlPhrases(engine))
    with contextlib.suppress(StoreUnavailable):
        await phrases.refresh()
    _background(stack, phrases.run(), "phrases")
    deps.rests.know(topology)
    _background(stack, share_rests(deps.rests, lambda: deps.topology, RedisRests(link, clock), clock), "rests")
    _background(stack, follow_switches(deps.switches, RedisSwitches(link), clock), "switches")
    service = Service(
        settings=settings,
        app=build_app(deps),
        deps=deps,
        guard=guard,
        clock=clock,
        engine=engine,
        link=link,
        upstream=upstream,
        gray=gray,
        transitions=transitions,
        desk=SqlAlertDesk(engine),
        calls=calls,
        moves=moves,
        evidence=evidence,
        lease=lease,
        redis_url=redis_url,
        boot_id=boot_id,
        stack=stack,
        phrases=phrases,
    )
    stack.push_async_callback(service.app.models.shadows.close)
    BreakerCollector(deps.metrics.registry, guard, counts, calls, moves, feedback)
    tell_of_process(deps.metrics.registry)
    deps.ready = lambda: not service.draining
    return service


async def _server_time(link: RedisLink, local: Clock, stack: AsyncExitStack) -> ServerTime:
    clock = ServerTime(link, local)
    with contextlib.suppress(StoreUnavailable):
        await clock.refresh()
    _background(stack, clock.run(), "server time")
    return clock


def make_data_dir(settings: Settings) -> None:
    """Raises StartError."""
    try:
        settings.data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StartError(f"data_dir {settings.data_dir.absolute()} cannot be made: {why(error)}") from error


async def open_sql(settings: Settings, stack: AsyncExitStack) -> AsyncEngine:
    """The database, at the newest version. Raises StartError."""
    url = settings.sql()
    if settings.sql_url is None:
        make_data_dir(settings)
    try:
        await upgrade(url)
    except (StoreUnavailable, ValueError) as error:
        reason = why(error.__cause__ or error)
        raise StartError(f"the database {place_of(url)} cannot be used: {reason}") from error
    engine = open_engine(url)
    stack.push_async_callback(engine.dispose)
    return engine


def open_spool(settings: Settings, name: str, stack: AsyncExitStack) -> Spool:
    """Where `name` waits on disk while the database is away. Raises StartError."""
    try:
        spool = Spool(settings.data_dir / "spool" / name, settings.spool_max_bytes)
    except OSError as error:
        folder = (settings.data_dir / "spool").absolute()
        raise StartError(f"the spool {folder} cannot be used: {why(error)}") from error
    stack.callback(spool.close)
    return spool


async def redis_of(settings: Settings, stack: AsyncExitStack) -> str:
    """The configured Redis, else that of a Valkey started for this process and its workers. Raises StartError."""
    if settings.redis_url is not None:
        return settings.redis_url.get_secret_value()
    from pointsman.embedded_valkey import (  # a second client library comes with the server
        FolderTaken,
        NoValkey,
        embedded_valkey,
    )

    here = settings.data_dir.absolute()
    try:
        return await embedded_valkey(here / "valkey", stack)
    except FolderTaken as error:
        raise StartError(
            f"another pointsman is running on data_dir {here}: stop it, or give this one another data_dir"
        ) from error
    except (NoValkey, OSError) as error:
        raise StartError(f"the embedded Valkey did not start; set redis_url. {error}") from error


async def _keep_keys(keys: Keys, store: SqlKeys, settings: Settings) -> None:
    clock = SystemClock()
    while True:
        await clock.sleep(KEYS_EVERY_S)
        await _refresh_keys(keys, store, settings)


async def _refresh_keys(keys: Keys, store: SqlKeys, settings: Settings) -> None:
    try:
        callers = await store.callers()
        # Once a key was made, callers need one for good: revoking the last must not open the door to everybody.
        required = settings.require_keys or bool(callers) or bool(await store.keys(revoked=True))
    except StoreUnavailable:
        return  # the last known list holds
    keys.replace(callers, required=required)


def _background(stack: AsyncExitStack, job: Coroutine[Any, Any, None], name: str) -> None:
    task = asyncio.create_task(job, name=name)
    task.add_done_callback(_tell_if_dead)

    async def over() -> None:
        await end((task,), within_s=ENDED_S)
        if not task.done():
            log.error("background task %s does not end", name)

    stack.push_async_callback(over)


def _traces(stack: AsyncExitStack) -> Traces:
    """Raises StartError when the extra is not installed."""
    from pointsman.tracing import open_traces  # OpenTelemetry, only for who wants it

    traces = open_traces()
    stack.push_async_callback(asyncio.to_thread, traces.close)
    return traces


def _left_out(name: str, error: Exception) -> None:
    log.error("the validator plug-in %s cannot be loaded and is left out: %r", name, error)


def _tell_if_dead(task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.critical("background task %s ended: %r", task.get_name(), error, exc_info=error)
