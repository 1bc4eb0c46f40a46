"""Feedback over real processes: asked of one router, complained about at the other, read by whoever counts."""

from email.utils import parsedate_to_datetime
from pathlib import Path

import httpx

from pointsman.demo.scripted import ScriptedUpstream
from store.sql_feedback import SqlComplaints
from store.sql_link import open_engine
from tests.support.service import running, settings_file
from tests.support.valkey import start_valkey


async def test_a_complaint_reaches_the_model_that_really_answered_through_any_router(tmp_path: Path) -> None:
    with start_valkey() as valkey:
        async with ScriptedUpstream() as upstream, httpx.AsyncClient(timeout=30) as client:
            upstream.set("a", "500")
            file = settings_file(tmp_path, upstream.base_url, redis_url=valkey.url)
            async with running(file, "router") as first, running(file, "router") as second:
                body = {"model": "chat", "user": "u1", "messages": [{"role": "user", "content": "hello"}]}
                asked = await client.post(f"{first.url}/v1/chat/completions", json=body)
                id = asked.headers["x-request-id"]
                word = {"request_id": id, "user": "u1", "kind": "repetition"}
                # At once: the call's row may still be in the first router's queue.
                told = await client.post(f"{second.url}/v1/feedback", json=word)
                assert (told.status_code, told.json()["model"]) == (201, "b")
                assert (await client.post(f"{first.url}/v1/feedback", json=word)).status_code in (409, 201)
                missing = await client.post(f"{first.url}/v1/feedback", json={**word, "request_id": "pm-nobody"})
                assert missing.status_code == 404
                spoken = {"source": "support", "app": "anonymous", "user": "u1", "kind": "repetition"}
                moment = parsedate_to_datetime(asked.headers["date"]).isoformat()
                again = await client.post(f"{second.url}/v1/feedback", json={**spoken, "at": moment})
                assert again.status_code == 409
            engine = open_engine(f"sqlite:///{tmp_path / 'var' / 'pointsman.db'}")
            try:
                # Both routers have ended, so all that was accepted is written; the same word twice is one.
                (tally,) = await SqlComplaints(engine).tallies(0, 4e9)
            finally:
                await engine.dispose()
            assert (tally.model, tally.complaints, tally.users) == ("b", 1, 1)
