"""The daily word that alerts come through, and what a wrong key file or a stray link meets."""

from pathlib import Path

from monitor.alerts.alert import AlertKind
from monitor.jobs import Run
from pointsman.telling import ack_key, heartbeat_alert
from tests.support.clock import ManualClock


def test_a_run_that_comes_again_tells_the_same_moment() -> None:
    clock, run = ManualClock(), Run(job="heartbeat", slot="s", due_at=1_700_000_000.0)
    first = heartbeat_alert(run, {"open": 0}, clock)
    clock.tick(600)
    assert heartbeat_alert(run, {"open": 1}, clock).at == first.at
    assert first.kind is AlertKind.HEARTBEAT
    assert first.passes


def test_a_key_is_made_once_and_is_nobody_else_s_to_read(tmp_path: Path) -> None:
    first = ack_key(tmp_path / "var", "")
    assert ack_key(tmp_path / "var", "") == first
    assert len(first) == 64
    assert (tmp_path / "var" / "ack.key").stat().st_mode & 0o077 == 0
    assert ack_key(tmp_path / "var", "shared by all monitors") == b"shared by all monitors"
