import asyncio

import pytest

from base.cancels import cancel_kept, end


async def swallows_a_cancel() -> str:
    try:
        await asyncio.sleep(3_600)
    except asyncio.CancelledError:
        return "done"
    return "never"


async def cancelled_in(block: "asyncio.Task[object]") -> None:
    await asyncio.sleep(0)
    block.cancel()
    await asyncio.wait({block})


async def test_a_cancel_that_a_library_forgets_ends_the_task_all_the_same() -> None:
    async def loops() -> None:
        while True:
            with cancel_kept():
                await swallows_a_cancel()

    task: asyncio.Task[object] = asyncio.create_task(loops())
    await cancelled_in(task)
    assert task.cancelled()


async def test_a_cancel_that_a_library_turns_into_an_error_is_a_cancel() -> None:
    async def asks() -> None:
        with cancel_kept():
            await swallows_a_cancel()
            raise OSError("reset")

    task: asyncio.Task[object] = asyncio.create_task(asks())
    await cancelled_in(task)
    assert task.cancelled()


async def test_without_a_cancel_the_error_is_the_error() -> None:
    with pytest.raises(OSError, match="reset"), cancel_kept():
        raise OSError("reset")


async def test_a_time_out_inside_the_block_is_no_cancel_of_the_task() -> None:
    with cancel_kept(), pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await asyncio.sleep(3_600)


async def test_a_time_out_round_the_block_is_a_time_out_though_the_library_forgot_it() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            with cancel_kept():
                await swallows_a_cancel()


async def test_a_cancel_from_before_the_block_is_not_raised_again() -> None:
    async def cleans_up() -> str:
        try:
            await asyncio.sleep(3_600)
        except asyncio.CancelledError:
            with cancel_kept():
                await asyncio.sleep(0)
            return "cleaned up"
        return "never"

    task = asyncio.create_task(cleans_up())
    await asyncio.sleep(0)
    task.cancel()
    assert await task == "cleaned up"


async def test_ending_tasks_waits_for_them_and_tells_nobody_of_their_errors() -> None:
    async def fails_at_the_end() -> None:
        try:
            await asyncio.sleep(3_600)
        finally:
            raise OSError("too late")

    tasks = [asyncio.create_task(fails_at_the_end()) for _ in range(3)]
    await asyncio.sleep(0)
    await end(tasks)
    assert all(task.done() for task in tasks)


async def test_who_is_cancelled_while_ending_others_is_cancelled() -> None:
    may_end = asyncio.Event()

    async def ends_late() -> None:
        try:
            await asyncio.sleep(3_600)
        except asyncio.CancelledError:
            await may_end.wait()

    late = asyncio.create_task(ends_late())
    await asyncio.sleep(0)
    ender: asyncio.Task[object] = asyncio.create_task(end((late,)))
    await asyncio.sleep(0)
    await cancelled_in(ender)
    assert ender.cancelled()
    may_end.set()
    await late
