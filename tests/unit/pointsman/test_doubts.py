"""What would start and is likely not meant, told by `pointsman check`."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pointsman.cli.main import app
from pointsman.settings import SettingsError, parse


def written(folder: Path, route: dict[str, Any], more: dict[str, Any]) -> Path:
    models = {name: {"endpoints": [{"base_url": "http://127.0.0.1:9/v1", "model": "m"}]} for name in ("a", "b")}
    routes = {"r": {"candidates": [{"model": "a"}, {"model": "b"}], **route}}
    file = folder / "pointsman.yaml"
    whole = {"data_dir": str(folder / "var"), "models": models, "routes": routes, **more}
    file.write_text(json.dumps(whole, indent=1), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("route", "more", "told"),
    [
        pytest.param({}, {"admin_listen": "0.0.0.0:8081"}, "admin_listen: 0.0.0.0 opens the operators' pages", id="operators' door open to all"),
        pytest.param({}, {"admin_listen": "[::]:8081"}, "admin_listen: :: opens the operators' pages", id="the same in IPv6"),
        pytest.param({}, {"listen": "no..body:8080"}, "listen: no such host", id="a name that nobody knows"),
        pytest.param({"timeouts": {"total_s": 200}}, {}, "routes.r.timeouts.total_s: 200 is never reached: the route's deadline_s of 120", id="deadline before the whole"),
        pytest.param({"timeouts": {"first_text_s": 60}, "deadline_s": 60}, {}, "first_text_s: 60 is not below the route's deadline_s of 60: a silent model", id="silence for the whole time"),
        pytest.param({}, {"monitor": {"sample_probe_every_s": 600}}, "monitor.sample_probe_every_s: a probe every 600 s makes 12 in the 120 minutes", id="probes slower than their window"),
        pytest.param({}, {"monitor": {"sample_probe_every_s": 243}}, "a probe every 243 s makes 29 in the 120 minutes that breaker.low_traffic_age_min looks back, and 30 are needed", id="one probe too few"),
        pytest.param({}, {"router": {"max_switches": 4}}, "router.max_switches: 4 is never reached: max_attempts of 4", id="more switches than attempts"),
        pytest.param({}, {"retention": {"failed_days": 90}}, "retention.failed_days: 90 days are longer than calls_days of 30", id="excerpts longer than requests"),
    ],
)  # fmt: skip
def test_check_was_silent_on_what_contradicts_itself(
    route: dict[str, Any], more: dict[str, Any], told: str, tmp_path: Path
) -> None:
    file = written(tmp_path, route, more)
    said = CliRunner().invoke(app, ["check", str(file)])
    assert (said.exit_code, said.stdout) == (0, f"{file}: fine; 2 models, 1 route, 0 alert channels\n")
    (line,) = said.stderr.splitlines()
    assert line.startswith(f"{file}: warning: line ") and told in line


def test_defaults_and_what_stands_beside_them_raise_no_doubt(tmp_path: Path) -> None:
    route = {"timeouts": {"total_s": 20, "idle_s": 20}, "deadline_s": 40}
    file = written(tmp_path, route, {"listen": "0.0.0.0:8080", "admin_listen": "localhost:8081"})
    assert CliRunner().invoke(app, ["check", str(file)]).stderr == ""


@pytest.mark.parametrize(
    ("route", "more", "told"),
    [
        pytest.param({"timeouts": {"first_text_s": 200}}, {}, "routes.r.timeouts.first_text_s: must not exceed total_s, which ends the attempt before; first_text_s is 200, total_s is 120 by default", id="first text after the end"),
        pytest.param({"timeouts": {"idle_s": 30, "connect_s": 31, "total_s": 10}}, {}, "connect_s is 31, total_s is 10", id="each that is too long"),
        pytest.param({}, {"listen": "0.0.0.0:8081"}, "admin_listen: is the same address as `listen` (0.0.0.0:8081): name another port", id="one port by two names"),
    ],
)  # fmt: skip
def test_what_can_never_come_to_pass_stops_the_start(
    route: dict[str, Any], more: dict[str, Any], told: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError) as error:
        parse(written(tmp_path, route, more).read_text(), {})
    assert told in str(error.value)
