"""The settings of a Pointsman under measurement: everything on, as the table of subjects says."""

import json
from pathlib import Path
from typing import Any

from bench.mocks import ASKED_PORTS, PLAIN_PORTS
from bench.subjects import Subject


def settings_file(subject: Subject, folder: Path, *, port: int, redis_url: str | None, sql_url: str | None) -> Path:
    """Written into `folder` (JSON is YAML)."""
    plain = _models("json", PLAIN_PORTS, subject.models)
    asked = _models("sse", ASKED_PORTS, subject.models)
    whole: dict[str, Any] = {
        "listen": f"127.0.0.1:{port}",
        "data_dir": str(folder / "var"),
        "workers": subject.workers,
        "models": plain | asked,
        "routes": {"bench-json": {"candidates": _candidates(plain)}, "bench-sse": {"candidates": _candidates(asked)}},
    }
    whole |= {"redis_url": redis_url} if redis_url else {}
    whole |= {"sql_url": sql_url} if sql_url else {}
    file = folder / "pointsman.yaml"
    file.write_text(json.dumps(whole, indent=1))
    return file


def _models(name: str, ports: tuple[int, int], count: int) -> dict[str, Any]:
    return {
        f"{name}-{at:03d}": {
            "endpoints": [
                {"base_url": f"http://127.0.0.1:{ports[at % 2]}/v1", "model": "gpt-4o-mini", "api_key": "sk-upstream"}
            ],
            "capabilities": ["json_schema"],
        }
        for at in range(count)
    }


def _candidates(models: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"model": name, "weight": 1 if at else 3} for at, name in enumerate(models)]
