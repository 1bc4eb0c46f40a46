import asyncio

from prometheus_client import CollectorRegistry, generate_latest

from pointsman.process_metrics import tell_of_process


def read(registry: CollectorRegistry) -> dict[str, float]:
    lines = (line.split() for line in generate_latest(registry).decode().splitlines() if not line.startswith("#"))
    return {name: float(value) for name, value in lines}


async def test_a_process_tells_its_memory_its_handles_and_its_tasks() -> None:
    registry = CollectorRegistry()
    tell_of_process(registry)
    before = read(registry)
    assert before["process_resident_memory_bytes"] > 1e6
    assert before["process_open_fds"] >= 3
    waiting = [asyncio.create_task(asyncio.sleep(3_600)) for _ in range(5)]
    assert read(registry)["pointsman_tasks"] == before["pointsman_tasks"] + 5
    for task in waiting:
        task.cancel()
    await asyncio.wait(waiting)
    assert read(registry)["pointsman_tasks"] == before["pointsman_tasks"]
