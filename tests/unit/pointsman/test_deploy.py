"""What ships for operating: it parses, and every metric and label it asks for exists."""

import configparser
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from pointsman.cli.main import app

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
OUTSIDE = {"le", "instance", "job", "worker"}
"""Labels of Prometheus' own, and of the exposition of several workers."""


def known_metrics() -> dict[str, set[str]]:
    """Sample names by docs/operating.md, which a test holds to the code, with their labels."""
    text = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
    out: dict[str, set[str]] = {"pointsman_worker_up": set()}
    for name, total, labels, meaning in re.findall(
        r"^\| `(pointsman_\w+)`( \(`_total`\))? \|([^|]*)\| (.*) \|$", text, re.MULTILINE
    ):
        known = {label.strip() for label in labels.split(",") if label.strip()}
        ends = ("_total",) if total else ("_bucket", "_sum", "_count") if "histogram" in meaning else ("",)
        out.update({name + end: known for end in ends})
    return out


def rules() -> list[dict[str, Any]]:
    loaded = yaml.safe_load((DEPLOY / "prometheus-rules.yaml").read_text(encoding="utf-8"))
    return [rule for group in loaded["groups"] for rule in group["rules"]]


def dashboard() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((DEPLOY / "grafana-dashboard.json").read_text(encoding="utf-8"))
    return loaded


def expressions() -> list[str]:
    panels = [target["expr"] for panel in dashboard()["panels"] for target in panel["targets"]]
    variables = [v["definition"] for v in dashboard()["templating"]["list"] if v["type"] == "query"]
    return [rule["expr"] for rule in rules()] + panels + variables


@pytest.mark.parametrize("expression", expressions())
def test_every_metric_and_label_that_is_asked_for_exists(expression: str) -> None:
    known = known_metrics()
    recorded = {rule["record"] for rule in rules() if "record" in rule}
    names = set(re.findall(r"pointsman(?:[_:][\w:]+)", expression)) - recorded
    assert names <= set(known), names - set(known)
    asked = set(re.findall(r"(\w+)\s*(?:=~|!=|!~|=)\s*\"", expression))
    for listed in re.findall(r"\bby \(([^)]*)\)", expression):
        asked |= {label.strip() for label in listed.split(",")}
    mine = set().union(*(known[name] for name in names)) if names else OUTSIDE | {"route"}
    assert asked <= mine | OUTSIDE, asked - mine
    assert all(expression.count(a) == expression.count(b) for a, b in ("()", "[]", "{}"))
    # A counter is only of use as a rate.
    for name in names:
        if name.endswith(("_total", "_bucket")) and "label_values" not in expression:
            assert re.search(rf"(?:rate|increase)\({name}", expression), name


def test_the_test_above_would_see_a_metric_that_is_none() -> None:
    assert "pointsman_no_such_total" not in known_metrics()
    assert known_metrics()["pointsman_requests_total"] == {"route", "status", "fallback"}
    assert "pointsman_overhead_seconds_bucket" in known_metrics()


def test_every_alert_says_what_and_how_urgent() -> None:
    alerts = [rule for rule in rules() if "alert" in rule]
    assert len({rule["alert"] for rule in alerts}) == len(alerts) >= 8
    for rule in alerts:
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert set(rule["annotations"]) == {"summary", "description"}
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        labels = set(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())))
        grouped = re.search(r"by \(([^)]*)\)", rule["expr"])
        if grouped is not None:
            assert labels <= {label.strip() for label in grouped.group(1).split(",")}


def test_the_dashboard_is_one_that_grafana_imports() -> None:
    found = dashboard()
    assert (found["uid"], found["title"]) == ("pointsman", "Pointsman")
    assert len({panel["id"] for panel in found["panels"]}) == len(found["panels"])
    taken: set[tuple[int, int]] = set()
    for panel in found["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells
        assert panel["datasource"]["uid"] == "${datasource}"


def test_the_unit_starts_a_command_that_exists_and_reloads_by_the_signal_we_obey() -> None:
    unit = configparser.ConfigParser(strict=True, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string((DEPLOY / "pointsman.service").read_text(encoding="utf-8"))
    assert set(unit.sections()) == {"Unit", "Service", "Install"}
    service = unit["Service"]
    commands = get_command(app).commands  # type: ignore[attr-defined]
    for key in ("ExecStartPre", "ExecStart"):
        program, command, *rest = service[key].split()
        assert program == "/opt/pointsman/bin/pointsman"
        options = {option for parameter in commands[command].params for option in parameter.opts}
        assert {word for word in rest if word.startswith("-")} <= options
    assert service["ExecReload"].split()[1] == "-HUP"
    assert int(service["TimeoutStopSec"]) > 30 + 15  # drain_s and what the workers are given beyond it


def test_the_notes_name_files_that_exist() -> None:
    text = (DEPLOY / "README.md").read_text(encoding="utf-8")
    assert all((DEPLOY / name).exists() for name in re.findall(r"\]\(([^)]+)\)", text))
