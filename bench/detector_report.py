"""Measure the detector on the dev corpora and against peers' rules; write the tables and plots of docs/detection.md.

Run: python -m bench.detector_report [--alpaca FILE ...]   (`make eval-detector`)
`--alpaca`: AlpacaEval model_outputs.json files, fetched by whoever runs this; they are not kept here.
"""

import argparse
import json
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bench.eval_detector import group_of, previous_of, profile_for, records, shown_of
from bench.peers import PEERS, bounds
from detector import (
    GatePolicy,
    GateState,
    LoopClass,
    StreamGate,
    detect,
    read_logprobs,
    score,
    score_logprobs,
    with_finding,
)
from detector.verdict import CLEAN

DOCS = Path(__file__).parent.parent / "docs"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
CLASS_OF_KIND = {
    "char loop": "stuck", "word loop": "stuck", "char": "stuck", "word": "stuck", "drift": "stuck",
    "phrase loop": "phrase_loop", "near-periodic collapse": "phrase_loop", "phrase": "phrase_loop", "irregular": "phrase_loop",
    "sentence loop": "sentence_loop", "sentence": "sentence_loop", "paraphrase": "sentence_loop",
    "paragraph loop": "paragraph_loop", "block": "paragraph_loop", "template": "paragraph_loop",
    "context restatement": "restatement", "context": "restatement",
    "punctuation/format runaway": "format_runaway", "list enumeration runaway": "format_runaway",
    "symbol": "format_runaway", "list": "format_runaway", "garble": "garble",
}  # fmt: skip


def table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> list[str]:
    head = list(head)
    lines = [f"| {' | '.join(head)} |", f"| {' | '.join('---' if at == 0 else '---:' for at in range(len(head)))} |"]
    return [*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows), ""]


def by_class(rows: list[dict[str, Any]], verdicts: list[Any]) -> list[str]:
    """Recall: flagged at all. Precision: of the replies given this class, how many are of it; of all flagged, degenerate."""
    out = []
    for name in [*(c.value for c in LoopClass if c is not LoopClass.RARE)]:
        mine = [
            at for at, row in enumerate(rows) if row["label"] == "degenerate" and CLASS_OF_KIND.get(row["kind"]) == name
        ]
        named = [
            at
            for at, v in enumerate(verdicts)
            if v.degenerate and v.loop_class == name and rows[at]["label"] != "borderline"
        ]
        cells: list[str] = [name]
        for language in (("zh",), ("en",), None):
            own = [at for at in mine if language is None or rows[at]["lang"] in language]
            cells.append(f"{sum(verdicts[at].degenerate for at in own)} of {len(own)}")
        truly = sum(rows[at]["label"] == "degenerate" for at in named)
        exact = sum(at in set(mine) for at in named)
        out.append([*cells, f"{truly} of {len(named)}", f"{exact} of {len(named)}"])
    return table(
        ["class", "found: zh", "en", "all languages", "flagged so and degenerate", "and of this very class"], out
    )


def healthy(rows: list[dict[str, Any]], verdicts: list[Any]) -> list[str]:
    out = []
    well = [at for at, row in enumerate(rows) if row["label"] == "healthy"]
    groups: dict[str, list[int]] = {"all healthy": well}
    for language in ("zh", "en"):
        groups[f"language {language}"] = [at for at in well if rows[at]["lang"] == language]
    groups["tag legit-repetition"] = [at for at in well if "legit-repetition" in (rows[at].get("tags") or ())]
    for name, own in groups.items():
        out.append(_false(name, [verdicts[at].degenerate for at in own]))
    named: dict[str, list[bool]] = defaultdict(list)
    for at in well:
        profile = profile_for(rows[at])
        if profile:
            named[profile].append(score(rows[at]["text"], profile=profile).degenerate)
    out += [_false(f"profile {name} named", flags) for name, flags in sorted(named.items())]
    return table(["healthy replies", "n", "flagged", "per 1,000", "95 % bounds"], out)


def _false(name: str, flags: list[bool]) -> list[Any]:
    low, high = bounds(sum(flags), len(flags))
    rate = 1000 * sum(flags) / len(flags) if flags else 0.0
    return [name, len(flags), sum(flags), f"{rate:.1f}", f"{1000 * low:.1f} to {1000 * high:.1f}"]


def peers(rows: list[dict[str, Any]], verdicts: list[Any]) -> tuple[list[str], list[tuple[str, float, float]]]:
    ill = [at for at, row in enumerate(rows) if group_of(row) in ("degenerate", "apart")]
    well = [at for at, row in enumerate(rows) if row["label"] == "healthy"]
    rules: dict[str, list[bool]] = {"ours, no profile named": [v.degenerate for v in verdicts]}
    rules |= {name: [rule(row["text"]) for row in rows] for name, rule in PEERS.items()}
    points = [(name, _share(flags, ill), _share(flags, well)) for name, flags in rules.items()]
    return table(
        ["rule", f"repetitive found (n = {len(ill)})", f"healthy flagged (n = {len(well)})"],
        [[name, f"{found:.1%}", f"{wrong:.1%}"] for name, found, wrong in points],
    ), points


def _share(flags: list[bool], of: list[int]) -> float:
    return sum(flags[at] for at in of) / len(of)


def gate(rows: list[dict[str, Any]]) -> tuple[list[str], list[int]]:
    shown = sorted(max(0, shown_of(row)) for row in rows if group_of(row) in ("degenerate", "apart"))
    deltas = held = 0
    waits: list[float] = []
    for row in rows:
        if row["label"] != "healthy" or not row.get("chunks"):
            continue
        stream, since = StreamGate(GatePolicy()), None
        for delta, ms in zip(row["chunks"]["deltas"], row["chunks"]["ms"], strict=True):
            holding = stream.feed(delta, ms / 1000).state is GateState.HOLDING
            deltas, held = deltas + 1, held + holding
            since = (since or ms) if holding else _note(waits, since, ms)
    rows_out = [
        ["characters of a loop that are shown, median", int(statistics.median(shown))],
        ["the same, 95th percentile", shown[int(0.95 * len(shown))]],
        ["healthy stream chunks", deltas],
        ["of these held for a moment", f"{held} ({held / max(1, deltas):.2%})"],
        ["longest hold of a healthy chunk, ms", f"{max(waits, default=0.0):.0f}"],
    ]
    return table(["stream gate", "measured"], rows_out), shown


def _note(waits: list[float], since: float | None, ms: float) -> None:
    if since is not None:
        waits.append(ms - since)


def cost(rows: list[dict[str, Any]]) -> list[str]:
    well = [row for row in rows if row["label"] == "healthy"]
    prose = _filled([row for row in well if "legit-repetition" not in (row.get("tags") or ())])
    out = []
    for kind, pool in (("ordinary", prose), ("with tables, verse and code that repeat", _filled(well))):
        for size in (1_024, 4_096, 16_384):
            texts = [pool[at : at + size] for at in range(0, 64_000 - size, 8_192)]
            per = _best(lambda texts=texts: [score(text) for text in texts]) / len(texts)  # type: ignore[misc]
            each = f"{per * 1e6:.0f} µs"
            out.append(
                [f"score, {size // 1024} KB healthy, {kind}", each, f"{per * 1e6 / (size / 1024):.0f} µs per KB"]
            )
    per = _best(lambda: _stream(prose)) / len(prose)
    out.append(["gate, healthy, deltas of 5", f"{per * 1e6:.2f} µs per character", f"{per * 1e6 * 1024:.0f} µs per KB"])
    thue_morse = "".join("ab"[at.bit_count() & 1] for at in range(64_000))
    for name, text in (("prose", prose), ("Thue-Morse word, its worst input known", thue_morse)):
        out.append([f"detect, 64,000 characters, {name}", f"{_best(lambda text=text: detect(text)) * 1e3:.0f} ms", ""])  # type: ignore[misc]
    return table(["cost (one core, best of five)", "each", "per KB"], out)


def _filled(rows: list[dict[str, Any]]) -> str:
    """64,000 characters of these replies, one after another."""
    pool = "\n\n".join(row["text"] for row in rows)
    return (pool * (64_000 // len(pool) + 1))[:64_000]


def _stream(text: str) -> None:
    stream = StreamGate(GatePolicy())
    for at in range(0, len(text), 5):
        stream.feed(text[at : at + 5], 0.0)
    stream.finish()


def _best(work: Callable[[], Any]) -> float:
    times = []
    for _ in range(5):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def probabilities(rows: list[dict[str, Any]]) -> list[str]:
    groups: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for row in rows:
        if row.get("logprobs"):
            finding = score_logprobs(read_logprobs(row["logprobs"]))
            kind = row["kind"] if row["kind"] == "garble" else "repetition" if row["kind"] else ""
            flagged = with_finding(CLEAN, finding, []).degenerate
            groups[f"{row['label']} {kind}".strip()].append((flagged, score(row["text"]).degenerate))
    return table(
        ["replies with logprobs", "n", "flagged by logprobs alone", "by text alone"],
        [[name, len(v), sum(a for a, _ in v), sum(b for _, b in v)] for name, v in sorted(groups.items())],
    )


def alpaca(paths: list[Path]) -> list[str]:
    flags = [
        score(item["output"]).degenerate for path in paths for item in json.loads(path.read_text(encoding="utf-8"))
    ]
    if not flags:
        return ["AlpacaEval outputs were not at hand in this run; `--alpaca FILE ...` adds them.", ""]
    return table(["public answers", "n", "flagged", "per 1,000", "95 % bounds"], [_false("AlpacaEval", flags)])


def scatter(points: list[tuple[str, float, float]]) -> str:
    """Recall against false positives, one dot a rule."""
    body = ['<rect width="640" height="400" fill="white"/>', '<path d="M60 20V340H620" fill="none" stroke="#444"/>']
    for tick in range(0, 101, 20):
        body.append(f'<text x="52" y="{344 - 3.2 * tick:.0f}" text-anchor="end">{tick}</text>')
        body.append(f'<text x="{60 + 5.5 * tick:.0f}" y="358" text-anchor="middle">{tick}</text>')
    for name, found, wrong in points:
        x, y = 60 + 550 * wrong, 340 - 320 * found
        colour = "#c0392b" if name.startswith("ours") else "#2c5f8a"
        anchor, shift = ("end", -8) if wrong > 0.6 else ("start", 8)
        body.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>')
        label = name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        body.append(f'<text x="{x + shift:.1f}" y="{y + 4:.1f}" text-anchor="{anchor}">{label}</text>')
    body.append('<text x="340" y="385" text-anchor="middle">healthy replies flagged, %</text>')
    body.append(
        '<text x="16" y="180" text-anchor="middle" transform="rotate(-90 16 180)">repetitive replies found, %</text>'
    )
    return _svg(640, 400, body)


def histogram(values: list[int], step: int = 40) -> str:
    """How many loops show so many characters, in steps; the last bar holds the rest."""
    bins = [0] * 13
    for value in values:
        bins[min(value // step, 12)] += 1
    body = ['<rect width="640" height="300" fill="white"/>', '<path d="M50 20V250H620" fill="none" stroke="#444"/>']
    for at, count in enumerate(bins):
        height = 220 * count / max(bins)
        x = 54 + 43 * at
        body.append(f'<rect x="{x}" y="{250 - height:.1f}" width="38" height="{height:.1f}" fill="#2c5f8a"/>')
        body.append(f'<text x="{x + 19}" y="{245 - height:.1f}" text-anchor="middle">{count}</text>')
        body.append(f'<text x="{x + 19}" y="266" text-anchor="middle">{at * step}{"+" if at == 12 else ""}</text>')
    body.append('<text x="335" y="290" text-anchor="middle">characters of the loop shown (deltas of 5)</text>')
    return _svg(640, 300, body)


def _svg(width: int, height: int, body: list[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">'
    return "\n".join([head, *body, "</svg>", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--alpaca", nargs="*", type=Path, default=[])
    options = parser.parse_args()
    rows = records()
    verdicts = [score(row["text"], previous=previous_of(row)) for row in rows]
    compared, points = peers(rows, verdicts)
    gated, shown = gate(rows)
    parts = [
        ("Per class", by_class(rows, verdicts)),
        ("False positives", healthy(rows, verdicts)),
        ("Public answers of strong models", alpaca(options.alpaca)),
        ("Against peers' rules, same data", [*compared, "![Recall against false positives](detection-peers.svg)", ""]),
        ("The gate", [*gated, "![How much of a loop is shown](detection-shown.svg)", ""]),
        ("Probabilities", probabilities(rows)),
        ("Cost", cost(rows)),
    ]
    lines = [line for title, body in parts for line in (f"### {title}", "", *body)]
    page = DOCS / "detection.md"
    text = page.read_text(encoding="utf-8")
    head, tail = text.split(BEGIN)[0], text.split(END)[1]
    page.write_text(f"{head}{BEGIN}\n\n" + "\n".join(lines) + f"{END}{tail}", encoding="utf-8")
    (DOCS / "detection-peers.svg").write_text(scatter(points), encoding="utf-8")
    (DOCS / "detection-shown.svg").write_text(histogram(shown), encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
