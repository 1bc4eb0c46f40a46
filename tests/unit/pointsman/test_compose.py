"""docker-compose.yml, held against the parts of the Compose specification that it uses (no engine is needed)."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from pointsman.settings import Settings

MODEL = {"endpoints": [{"base_url": "http://x/v1", "model": "m"}]}
ROUTE = {"candidates": [{"model": "a"}]}
STRINGS = {"type": "array", "items": {"type": "string"}}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["services"],
    "patternProperties": {"^x-": {}},
    "additionalProperties": False,
    "properties": {
        "services": {"type": "object", "minProperties": 1, "additionalProperties": {"$ref": "#/$defs/service"}},
        "volumes": {"type": "object"},
        "networks": {"type": "object"},
    },
    "$defs": {
        "service": {
            "type": "object",
            "anyOf": [{"required": ["image"]}, {"required": ["build"]}],
            "additionalProperties": False,
            "properties": {
                "build": {"type": ["string", "object"]},
                "image": {"type": "string"},
                "command": STRINGS,
                "restart": {"enum": ["no", "always", "on-failure", "unless-stopped"]},
                "read_only": {"type": "boolean"},
                "tmpfs": STRINGS,
                "cap_drop": STRINGS,
                "security_opt": STRINGS,
                "environment": {"type": "object", "additionalProperties": {"type": ["string", "number", "null"]}},
                "env_file": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "additionalProperties": False,
                        "required": ["path"],
                        "properties": {"path": {"type": "string"}, "required": {"type": "boolean"}},
                    },
                },
                "volumes": STRINGS,
                "ports": STRINGS,
                "stop_grace_period": {"type": "string", "pattern": r"^\d+[sm]$"},
                "depends_on": {
                    "type": "object",
                    "additionalProperties": {
                        "type": "object",
                        "required": ["condition"],
                        "properties": {"condition": {"enum": ["service_started", "service_healthy"]}},
                    },
                },
                "healthcheck": {
                    "type": "object",
                    "required": ["test"],
                    "additionalProperties": False,
                    "properties": {
                        "test": STRINGS,
                        "interval": {"type": "string"},
                        "timeout": {"type": "string"},
                        "retries": {"type": "integer"},
                        "start_period": {"type": "string"},
                    },
                },
            },
        }
    },
}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(Path("docker-compose.yml").read_text(encoding="utf-8"))
    return found


def test_it_keeps_to_the_specification(compose: dict[str, Any]) -> None:
    assert [e.message for e in Draft202012Validator(SCHEMA).iter_errors(compose)] == []


def test_two_routers_one_monitor_and_both_stores_are_watched(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert set(services) == {"router-1", "router-2", "monitor", "redis", "postgres"}
    assert all("healthcheck" in service for service in services.values())


def test_whoever_is_waited_for_and_mounted_exists(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        assert set(service.get("depends_on", {})) <= set(compose["services"])
        named = {volume.split(":")[0] for volume in service.get("volumes", []) if not volume.startswith((".", "/"))}
        assert named <= set(compose["volumes"])


def test_vendors_keys_reach_every_process_of_ours_and_no_store(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        files = [file["path"] for file in service.get("env_file", [])]
        assert files == (["pointsman.env"] if name in ("router-1", "router-2", "monitor") else [])


def test_no_port_is_open_to_others_than_this_machine(compose: dict[str, Any]) -> None:
    assert all(p.startswith("127.0.0.1:") for s in compose["services"].values() for p in s.get("ports", []))


def test_operators_reach_the_monitor_and_clients_the_routers(compose: dict[str, Any]) -> None:
    ports = {name: [p.rsplit(":", 1)[1] for p in s.get("ports", [])] for name, s in compose["services"].items()}
    assert ports["monitor"] == ["8081"]
    assert ports["router-1"] == ports["router-2"] == ["8080"]
    settings = Settings(models={"a": MODEL}, routes={"r": ROUTE})  # type: ignore[dict-item]
    assert int(compose["services"]["router-1"]["stop_grace_period"].removesuffix("s")) > settings.drain_s
    for name in ("router-1", "router-2", "monitor"):
        mounted = [volume.split(":")[1] for volume in compose["services"][name]["volumes"]]
        assert "/var/lib/pointsman" in mounted  # data_dir: the image itself is read-only
