"""Writes the tables and plots of docs/performance.md and docs/scaling.md from what was measured: no figure is typed by hand.

    python -m bench.report            from bench/results, over what bench/measured.json kept; renews that file
    python -m bench.report --kept     from bench/measured.json alone

A part of a page lies between `<!-- measured: NAME -->` and `<!-- end -->`; a test holds the pages to bench/measured.json.
"""

import argparse
import re
from collections.abc import Mapping
from pathlib import Path

from bench.figures import Figures, keep, load
from bench.fleet_tables import fleet_parts, fleet_plots
from bench.processes import HERE, RESULTS
from bench.request_tables import request_parts, request_plots

DOCS = HERE.parent / "docs"
PAGES = {"performance.md": request_parts, "scaling.md": fleet_parts}
PART = re.compile(r"<!-- measured: ([a-z ]+) -->\n.*?<!-- end -->", re.DOTALL)


def filled(page: str, parts: Mapping[str, list[str]]) -> str:
    """The page with its measured parts written anew. Raises KeyError for a part that nobody writes."""

    def written(found: "re.Match[str]") -> str:
        return "\n".join([f"<!-- measured: {found[1]} -->", *parts[found[1]], "<!-- end -->"])

    return PART.sub(written, page)


def pages(figures: Figures) -> dict[Path, str]:
    """Each file that is made from figures, and what it should say."""
    out = {}
    for name, parts in PAGES.items():
        out[DOCS / name] = filled((DOCS / name).read_text(encoding="utf-8"), parts(figures))
    for plot, drawn in (request_plots(figures) | fleet_plots(figures)).items():
        out[DOCS / "images" / f"bench-{plot}.svg"] = drawn
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kept", action="store_true", help="do not look into bench/results")
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    kept = load(None if given.kept else given.results)
    keep(kept)
    for file, text in pages(Figures(kept)).items():
        file.write_text(text, encoding="utf-8")
        print(file.relative_to(HERE.parent))


if __name__ == "__main__":
    main()
