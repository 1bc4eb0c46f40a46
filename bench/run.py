"""Measures what Pointsman and its peers cost a request, a streamed event and in memory: `python -m bench.run`.

    python -m bench.run                 the quick ones (`make bench`)
    python -m bench.run --full          all subjects of bench/subjects.py (`make bench-full`)
    python -m bench.run sql 'redis'     those by name
    python -m bench.run --plan          what would be measured, and how long it takes

Writes bench/results/NAME.json, one per subject; `python -m bench.report` makes the tables and plots of
docs/performance.md from them. Run it on a machine that does nothing else, and look at `foreign` all the same.
"""

import argparse
import json
import os
import signal
import sys
import time
import traceback
from importlib import metadata
from pathlib import Path
from typing import Any

from bench.figures import Figures
from bench.processes import LOAD_CORE, RESULTS, NotMeasured
from bench.request_tables import short_table
from bench.stage import measured
from bench.subjects import Subject, chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="subjects of bench/subjects.py")
    parser.add_argument("--full", action="store_true", help="all subjects")
    parser.add_argument("--plan", action="store_true", help="only say what would be measured")
    parser.add_argument("--speed", type=float, default=1.0, help="0.2: a fifth of the time, to see whether it works")
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    try:
        subjects = chosen(given.names, full=given.full)
    except ValueError as error:
        parser.error(str(error))
    minutes = sum(subject.seconds for subject in subjects) / 60
    if given.plan:
        for subject in subjects:
            print(f"{subject.name:<12} {subject.seconds:>4.0f} s  {', '.join(subject.loads)}  {' '.join(subject.acts)}")
        print(f"about {minutes:.0f} minutes")
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that what was started is ended too
    os.sched_setaffinity(0, {LOAD_CORE})
    given.results.mkdir(exist_ok=True, parents=True)
    say(f"{len(subjects)} subjects, about {minutes:.0f} minutes")
    rows = [one(subject, given.speed, given.results) for subject in subjects]
    print(short_table(Figures({row["name"]: row for row in rows})))


def one(subject: Subject, speed: float, folder: Path) -> dict[str, Any]:
    """Measure and keep; what cannot be measured is kept too, with the reason."""
    began = time.monotonic()
    try:
        row = measured(subject, speed, say)
    except Exception as why:  # nobody watches a full run: one subject that fails must not end the others
        say(f"NOT MEASURED: {subject.name}: {why}" if isinstance(why, NotMeasured) else traceback.format_exc())
        said = str(why).split("\n", 1)[0]
        row = {"name": subject.name, "gateway": subject.gateway, "not_measured": said or type(why).__name__}
    row |= {"took_s": round(time.monotonic() - began), "machine": machine()}
    (folder / f"{subject.name.replace(' ', '-')}.json").write_text(json.dumps(row, indent=1) + "\n")
    return row


def machine() -> dict[str, str]:
    """What the figures hold for."""
    version = ".".join(map(str, sys.version_info[:3]))
    libraries = " ".join(f"{name} {metadata.version(name)}" for name in ("uvloop", "httptools", "uvicorn"))
    cpu = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return {
        "day": time.strftime("%Y-%m-%d", time.gmtime()),
        "python": version,
        "libraries": libraries,
        "processor": cpu[0].split(":", 1)[1].strip() if cpu else "unknown",
        "processors": str(os.cpu_count()),
        "load": f"{os.getloadavg()[0]:.2f}",
    }


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
