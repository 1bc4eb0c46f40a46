"""What Prometheus may know of the process itself: memory, processor time, file handles, tasks. Read when it asks.

The first three under the names that every exporter uses (`process_…`), so that the usual panels and alarms fit.
"""

import asyncio
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector


class TaskCollector(Collector):
    """Tasks of the running loop; what grows here while `in_flight` does not is a leak."""

    def describe(self) -> list[Metric]:
        """The loop does not run yet when this is registered."""
        return []

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily("pointsman_tasks", "Tasks of the event loop", value=len(asyncio.all_tasks()))


def tell_of_process(registry: CollectorRegistry) -> None:
    """Register both; `collect` of the first reads /proc and gives nothing where there is none."""
    ProcessCollector(registry=registry)
    registry.register(TaskCollector())
