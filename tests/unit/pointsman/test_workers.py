"""What workers there are, and what each is told."""

import json
from dataclasses import asdict

import pytest

from pointsman.assemble import StartError
from pointsman.monitoring import Role
from pointsman.workers import VARIABLE, Worker, plan, worker_of


@pytest.mark.parametrize(
    ("role", "count", "roles"),
    [
        (Role.ROUTER, 2, [Role.ROUTER] * 2),
        (Role.ALL, 3, [Role.ROUTER] * 3 + [Role.MONITOR]),
    ],
)
def test_which_processes_a_role_is(role: Role, count: int, roles: list[Role]) -> None:
    assert plan(role, count) == roles


def test_several_monitors_on_one_machine_are_refused() -> None:
    with pytest.raises(StartError, match="one monitor"):
        plan(Role.MONITOR, 2)


def test_what_a_worker_is_told_comes_through_the_environment_whole() -> None:
    worker = Worker(number=1, of=2, role=Role.ROUTER, redis_url="unix:///x", folder="/tmp/w", ready_fd=7, listen_fd=5)
    assert worker_of({VARIABLE: json.dumps(asdict(worker))}) == worker
    assert worker_of({}) is None
