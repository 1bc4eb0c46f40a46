"""`pointsman score --engine ray` on a real Ray of this machine says what the local engine says."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

CORPUS = Path(__file__).parents[1] / "data" / "corpus" / "tricky_dev.jsonl"


@pytest.mark.long
@pytest.mark.timeout(300)
def test_ray_and_the_local_engine_say_the_same(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="NOT RUN: ray, pip install 'pointsman[ray]'")
    file = tmp_path / "replies.jsonl"
    kept = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
    lines = [json.dumps({"id": reply["id"], "text": reply["text"]}) for reply in kept]
    file.write_text("\n".join([*lines, "{broken", *lines]), encoding="utf-8")
    told = [
        subprocess.run(
            [sys.executable, "-m", "pointsman", "score", "--jsonl", "--engine", engine, str(file)],
            capture_output=True,
            check=False,
        )
        for engine in ("local", "ray")
    ]
    assert told[0].returncode == told[1].returncode == 2
    assert told[0].stdout == told[1].stdout
    assert told[0].stdout.count(b"\n") == 2 * len(lines)
    assert b"line " in told[1].stderr
