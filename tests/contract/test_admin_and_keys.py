"""The audit log and the app keys over SQLite and PostgreSQL."""

from dataclasses import replace

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from console.access import Identity, Role
from console.fleet_ports import Act
from router.auth import Caller, Keys, digest
from store.sql_admin import SqlAdminLog
from store.sql_admin_tokens import SqlAdminTokens
from store.sql_keys import SqlKeys


async def test_acts_are_listed_newest_first(engine: AsyncEngine) -> None:
    log = SqlAdminLog(engine)
    first = Act(at=1.0, actor="op", role="operator", action="force_open", target="a", reason="投诉")
    second = Act(at=2.0, actor="op", role="operator", action="reset", target="b", reason="ok", details={"from": "open"})
    await log.record(first)
    await log.record(second)
    assert await log.search() == [second, first]
    assert await log.search(target="a") == [first]


async def test_an_act_is_told_that_it_was_refused_and_older_names_are_found_by_the_new(engine: AsyncEngine) -> None:
    log = SqlAdminLog(engine)
    old = Act(
        at=1.0, actor="op", role="operator", action="ack_alert", target="A1", reason="taken", details={"key": "m"}
    )
    number = await log.record(old)
    await log.record(replace(old, at=2.0, action="ack_incident"))
    await log.turned_away(number, 409)
    found = await log.search(action="ack_incident")
    assert [(act.action, act.outcome) for act in found] == [("ack_incident", "done"), ("ack_incident", "refused")]
    assert found[1].details == {"key": "m", "refused": 409}


async def test_a_key_lets_its_app_in_until_revoked(engine: AsyncEngine) -> None:
    store, keys = SqlKeys(engine), Keys(required=True)
    record, secret = await store.create("car", by="admin", now_s=1.0, routes=["chat"], per_minute=60)
    keys.replace(await store.callers(), required=True)
    assert keys.caller(f"Bearer {secret}") == Caller(app="car", routes=frozenset({"chat"}), per_minute=60)
    assert await store.keys() == [record]
    assert await store.revoke(record.id, 2.0)
    assert not await store.revoke(record.id, 3.0)
    assert await store.callers() == {}
    assert [key.revoked_at for key in await store.keys(revoked=True)] == [2.0]


async def test_the_key_itself_is_nowhere_in_the_table(engine: AsyncEngine) -> None:
    _, secret = await SqlKeys(engine).create("car", by="admin", now_s=1.0)
    async with engine.connect() as connection:
        rows = (await connection.execute(text("SELECT * FROM app_key"))).all()
    assert secret not in repr(rows)


async def test_a_key_without_routes_may_use_all(engine: AsyncEngine) -> None:
    await SqlKeys(engine).create("car", by="admin", now_s=1.0)
    assert list((await SqlKeys(engine).callers()).values()) == [Caller(app="car")]


async def test_an_admin_token_has_a_role_until_revoked(engine: AsyncEngine) -> None:
    store = SqlAdminTokens(engine)
    record, secret = await store.create("olga", Role.OPERATOR, by="cli", now_s=1.0)
    assert await store.tokens() == [record]
    assert await store.identities() == [Identity(digest=digest(secret), role=Role.OPERATOR, name="olga")]
    assert await store.revoke(record.id, 2.0)
    assert not await store.revoke(record.id, 3.0)
    assert await store.identities() == []
    assert [token.revoked_at for token in await store.tokens(revoked=True)] == [2.0]


async def test_a_key_keeps_all_its_limits(engine: AsyncEngine) -> None:
    store = SqlKeys(engine)
    await store.create("car", by="cli", now_s=1.0, tokens_per_minute=9_000, max_concurrent=3, support=True)
    (caller,) = (await store.callers()).values()
    assert caller == Caller(app="car", tokens_per_minute=9_000, max_concurrent=3, support=True)
