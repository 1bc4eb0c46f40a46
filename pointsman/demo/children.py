"""Processes of the demo: started together, told their port, and never left behind.

Acts: starts Python modules of ours as children in their own session, so that Ctrl-C reaches them through us alone.
"""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator

from pointsman.with_parent import die_with_parent

STARTED_S = 60.0
STOPPED_S = 5.0


class ChildFailed(Exception):
    """The child ended, or did not say its port in time."""


@contextlib.asynccontextmanager
async def child(module: str, *arguments: str) -> AsyncIterator[int]:
    """Run `python -m module`, whose first line of output is its port. Raises ChildFailed."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module, *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=die_with_parent if sys.platform == "linux" else None,
    )
    try:
        yield await _port(process, module)
    finally:
        await _stop(process)


async def _port(process: asyncio.subprocess.Process, module: str) -> int:
    assert process.stdout is not None
    try:
        async with asyncio.timeout(STARTED_S):
            line = await process.stdout.readline()
        return int(line)
    except (TimeoutError, ValueError) as error:
        raise ChildFailed(f"{module} did not start") from error


async def _stop(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(STOPPED_S):
            await process.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
