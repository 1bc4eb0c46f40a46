"""Installs the gateways that Pointsman is compared with, each into an environment of its own: `python -m bench.get_peers`.

They go to $BENCH_PEERS, else to `~/.cache/pointsman-bench`: outside the repository, and kept from one run to the next.
What cannot be had is said, and the bench goes on without it.
"""

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.processes import NotMeasured

FOLDER = Path(os.environ.get("BENCH_PEERS") or Path.home() / ".cache" / "pointsman-bench").expanduser()
PEERS = {"litellm": "litellm[proxy]>=1.80,<2", "tensorzero": "tensorzero>=2026"}
LIMIT_S = 900


def install(name: str, wanted: str) -> None:
    """Raises NotMeasured."""
    place = FOLDER / name
    if not (place / "bin" / "python").exists():
        venv.create(place, with_pip=True, clear=True)
    uv = _uv(place)
    command = (
        [uv, "pip", "install", "--python", str(place / "bin" / "python")]
        if uv
        else [str(place / "bin" / "pip"), "install"]
    )
    try:
        done = subprocess.run(
            [*command, "--quiet", wanted], capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise NotMeasured(f"{wanted} did not install within {LIMIT_S} s") from error
    if done.returncode != 0:
        raise NotMeasured(f"{wanted} cannot be installed here: {done.stderr.strip().splitlines()[-1:]}")


def _uv(place: Path) -> str | None:
    """Found, or put into `place`: it took a minute for litellm, where an earlier installation by pip had not ended."""
    beside = Path(sys.executable).parent / "uv"
    own = place / "bin" / "uv"
    if found := shutil.which("uv") or (str(beside) if beside.exists() else None):
        return found
    subprocess.run([place / "bin" / "pip", "install", "--quiet", "uv"], check=False, timeout=LIMIT_S)
    return str(own) if own.exists() else None


def version_of(name: str, known: Mapping[str, Any]) -> str:
    """What is installed; empty for Debian's own. Raises NotMeasured, which says what to do."""
    if shutil.which(name) and "distribution" not in known:
        told = subprocess.run([name, "-v"], capture_output=True, text=True, check=False)
        return (told.stdout + told.stderr).strip().rpartition("/")[2]
    if "distribution" not in known:
        raise NotMeasured(f"{name} is not installed; on Debian: apt-get install {name}")
    ask = f"import importlib.metadata as m; print(m.version({known['distribution']!r}))"
    python = FOLDER / name / "bin" / "python"
    try:
        return subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        raise NotMeasured(f"{name} is not in {FOLDER}: python -m bench.get_peers") from error


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, wanted in PEERS.items():
        try:
            install(name, wanted)
        except NotMeasured as error:
            print(f"NOT MEASURED: {name}: {error}", file=sys.stderr)
        else:
            print(f"{name}: {version_of(name, {'distribution': name})}")


if __name__ == "__main__":
    main()
