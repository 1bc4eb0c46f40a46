"""The call log as the console searches and marks it, over SQLite and PostgreSQL."""

from dataclasses import replace

from sqlalchemy.ext.asyncio import AsyncEngine

from console.fleet_ports import Act
from console.record_ports import Sought
from router.ports import CallRow, FailedReply
from store.sql_admin import SqlAdminLog
from store.sql_calls import SqlCallLog
from store.sql_console import SqlRecords

CALL = CallRow(
    request_id="pm-1a", at=1_000.5, app="car", route="chat", scene="qa", session="s1", served_model="a",
    fallback="none", status=200, code="", verdict="clean", loop_class="",
    attempts=({"model": "a", "fault": None, "begun_ms": 0, "elapsed_ms": 90, "held_chars": 7},),
    metrics={"trigram_repeat": 0.25}, stream=True, elapsed_ms=120, first_text_ms=None, tokens_in=10, tokens_out=20,
)  # fmt: skip
FAILED = FailedReply(
    request_id="pm-1a", at=1_000.5, model="a", scene="qa", fault="repetition_detected", loop_class="stuck",
    rules=("stuck",), metrics={"trigram_repeat": 1.0}, fingerprint="00aa", onset=12, excerpt="好好好好",
)  # fmt: skip


async def filled(engine: AsyncEngine) -> SqlRecords:
    log = SqlCallLog(engine)
    log.add_call(CALL)
    log.add_call(replace(CALL, request_id="pm-1b", at=900.0, app="shop", fallback="model", served_model="b"))
    log.add_call(replace(CALL, request_id="pm-2%", at=800.0, status=503, code="all_models_unavailable", session="s2"))
    # A row of an earlier release: its attempts say less.
    log.add_call(replace(CALL, request_id="pm-3", at=700.0, attempts=({"model": "a", "endpoint": 1},)))
    log.add_failed(FAILED)
    log.add_failed(replace(FAILED, request_id="pm-9", at=1.0, model="b", fingerprint="00bb"))
    await log.flush()
    return SqlRecords(engine)


async def test_each_field_narrows_the_search(engine: AsyncEngine) -> None:
    records = await filled(engine)

    async def ids(**sought: object) -> list[str]:
        return [one.request_id for one in await records.requests(Sought(**sought), 10)]  # type: ignore[arg-type]

    assert await ids() == ["pm-1a", "pm-1b", "pm-2%", "pm-3"]
    assert await ids(request_id="pm-1") == ["pm-1a", "pm-1b"]
    assert await ids(request_id="pm-2%") == ["pm-2%"]
    assert await ids(request_id="%") == []
    assert await ids(app="shop") == await ids(model="b") == await ids(fallback="model") == ["pm-1b"]
    assert await ids(session="s2") == ["pm-2%"]
    assert await ids(trouble=True) == ["pm-1b", "pm-2%"]
    assert await ids(fallback="none") == ["pm-1a", "pm-3"]
    assert await ids(fallback="error") == ["pm-2%"]
    assert await ids(since=850.0, before=1_000.0) == ["pm-1b"]


async def test_attempts_are_read_whatever_release_wrote_them(engine: AsyncEngine) -> None:
    records = await filled(engine)
    (new,) = (await records.requests(Sought(request_id="pm-1a"), 1))[0].tries
    (old,) = (await records.requests(Sought(request_id="pm-3"), 1))[0].tries
    assert (new.begun_ms, new.elapsed_ms, new.held_chars, new.fault) == (0, 90, 7, "")
    assert (old.begun_ms, old.endpoint, old.elapsed_ms) == (None, 1, 0)


async def test_a_failed_reply_is_found_and_marked(engine: AsyncEngine) -> None:
    records = await filled(engine)
    (one,) = await records.failed(request_id="pm-1a")
    assert (one.loop_class, one.rules, one.onset, one.marked) == ("stuck", ("stuck",), 12, "")
    assert await records.mark(one.id, "wrong")
    assert [f.marked for f in await records.failed(fingerprint="00aa")] == ["wrong"]
    assert len(await records.failed(model="b")) == 1
    assert not await records.mark("nobody", "wrong")


async def test_the_audit_log_is_searched_by_whole_words(engine: AsyncEngine) -> None:
    log = SqlAdminLog(engine)
    for at, actor, action in ((1.0, "Li", "force"), (2.0, "Wu", "force"), (3.0, "Li", "reset")):
        await log.record(Act(at=at, actor=actor, role="admin", action=action, target="a", reason="because"))
    assert [a.at for a in await log.search(actor="Li")] == [3.0, 1.0]
    assert [a.at for a in await log.search(action="force", before=2.0)] == [1.0]
    assert [a.at for a in await log.search(target="b")] == []
