"""Whether a pinned dependency has a known hole: `python -m tests.support.audit PIP_AUDIT REQUIREMENTS` (`make audit`).

Asks the package index through pip-audit. An index that keeps no advisories answers nothing, and pip-audit then ends well:
here that is said as NOT RUN, so that nobody takes it for a clean bill. Exit code 1: a hole, or pip-audit could not run.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any


def told(found: Mapping[str, Any]) -> tuple[list[str], bool]:
    """The lines to print for pip-audit's JSON, and whether a hole was found."""
    packages: Sequence[Mapping[str, Any]] = found["dependencies"]
    skipped = [p["name"] for p in packages if "skip_reason" in p]
    holes = [(p, hole) for p in packages for hole in p.get("vulns", ())]
    lines = [
        f"{p['name']} {p['version']}: {hole['id']} {' '.join(hole.get('aliases', ()))}; mended in {', '.join(hole['fix_versions']) or 'no version yet'}"
        for p, hole in holes
    ]
    asked = len(packages) - len(skipped)
    if packages and not asked:
        lines.append(
            f"NOT RUN: the audit of {len(packages)} packages: the package index of this machine tells no advisories"
            " (it has no JSON pages of its packages). Run it where PyPI itself can be asked."
        )
    elif skipped:
        lines.append(
            f"NOT RUN for {len(skipped)} of {len(packages)} packages, which the index does not know: {', '.join(skipped)}"
        )
    if asked:
        lines.append(f"{asked} packages asked about, {len(holes)} known holes")
    return lines, bool(holes)


def main(pip_audit: str, requirements: str) -> int:
    command = [
        pip_audit,
        "--requirement",
        requirements,
        "--no-deps",
        "--disable-pip",
        "--format",
        "json",
        "--progress-spinner",
        "off",
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        lines, holed = told(json.loads(done.stdout))
    except (OSError, ValueError, KeyError) as error:
        why = done.stderr.strip().splitlines()[-1:] if isinstance(error, ValueError | KeyError) else error
        print(f"NOT RUN: pip-audit: {why}")
        return 1
    print("\n".join(lines))
    return int(holed)


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:3]))
