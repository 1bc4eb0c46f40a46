"""The Valkey that a service starts for itself: it comes back when it is killed, and keeps what it had."""

import asyncio
import os
import signal
import tempfile
from contextlib import AsyncExitStack
from glob import glob
from pathlib import Path

import pytest
from redis.asyncio import Redis
from redis.exceptions import RedisError

from pointsman.embedded_valkey import NoValkey, embedded_valkey
from store.redis_link import connect
from tests.e2e.test_run import alive


async def answer(client: Redis, key: str, within_s: float = 30.0) -> bytes | None:
    end_s = asyncio.get_running_loop().time() + within_s
    while True:
        try:
            found: bytes | None = await client.get(key)
        except (RedisError, OSError):
            assert asyncio.get_running_loop().time() < end_s, "it did not come back"
            await asyncio.sleep(0.05)
        else:
            return found


async def test_a_server_that_is_killed_comes_back_with_its_data(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        client = connect(await embedded_valkey(tmp_path / "valkey", stack))
        stack.push_async_callback(client.aclose)
        await client.set("kept", "1")
        # The file is written once a second; what is asked here is that the service comes back, with what was synced.
        await client.execute_command("WAITAOF", 1, 0, 5_000)
        os.kill((await client.info("server"))["process_id"], signal.SIGKILL)
        assert await answer(client, "kept") == b"1"


async def test_it_ends_with_its_owner_and_the_next_one_finds_the_data(tmp_path: Path) -> None:
    pids = []
    for _ in range(2):
        async with AsyncExitStack() as stack:
            client = connect(await embedded_valkey(tmp_path / "valkey", stack))
            pids.append((await client.info("server"))["process_id"])
            kept = await client.get("kept")
            await client.set("kept", "1")
            await client.aclose()
    assert kept == b"1"
    assert not [pid for pid in pids if alive(pid)]


async def test_the_socket_of_an_owner_that_was_killed_is_cleared_away(tmp_path: Path) -> None:
    left = Path(tempfile.mkdtemp(prefix="pointsman-"))
    folder = tmp_path / "valkey"
    folder.mkdir()
    (folder / "address").write_text(str(left / "valkey.sock"), encoding="utf-8")
    async with AsyncExitStack() as stack:
        await embedded_valkey(folder, stack)
    assert str(left) not in glob(f"{left.parent}/pointsman-*")


async def test_two_owners_of_one_folder_are_refused(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        await embedded_valkey(tmp_path / "valkey", stack)
        with pytest.raises(NoValkey, match="another process keeps its Valkey"):
            await embedded_valkey(tmp_path / "valkey", stack)


async def test_a_server_that_was_left_behind_is_ended_first(tmp_path: Path) -> None:
    left = AsyncExitStack()
    owner = AsyncExitStack()
    client = connect(await embedded_valkey(tmp_path / "valkey", left))
    pid = (await client.info("server"))["process_id"]
    await client.set("kept", "1")
    await client.aclose()
    # As if its owner had been killed: nobody watches it any more, and its lock is gone.
    (tmp_path / "valkey" / "lock").unlink()
    for task in asyncio.all_tasks():
        if task.get_name() == "embedded Valkey":
            task.cancel()
    async with owner:
        again = connect(await embedded_valkey(tmp_path / "valkey", owner))
        assert (await again.info("server"))["process_id"] != pid
        assert await again.get("kept") == b"1"
        await again.aclose()
    await left.aclose()
