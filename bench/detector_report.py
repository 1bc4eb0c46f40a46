"""Measure the detector on the dev corpora and against peers' rules; write the tables and plots of docs/detection.md.

Run: python -m bench.detector_report [--alpaca FILE ...]   (`make eval-detector`)
`--alpaca`: AlpacaEval model_outputs.json files, named for their models, fetched by whoever runs this; not kept here.
"""

import argparse
import json
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bench.detector_plots import histogram, scatter
from bench.detector_rules import PEERS, bounds
from bench.eval_detector import group_of, previous_of, profile_for, records, shown_limit, shown_of, unit_of
from bench.hostile import SIZE, hostile, thue_morse
from detector import (
    GateMode,
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

STRONG = frozenset(
    {
        "gpt-4o-2024-05-13", "gpt4_1106_preview", "claude-3-5-sonnet-20240620", "gpt-4o-mini-2024-07-18",
        "claude-3-opus-20240229", "Meta-Llama-3.1-405B-Instruct-Turbo", "gpt4", "Qwen2-72B-Instruct", "Qwen1.5-72B-Chat",
        "Meta-Llama-3-70B-Instruct", "mistral-large-2402", "Mixtral-8x22B-Instruct-v0.1",
    }
)  # fmt: skip
"""At least 30 % in AlpacaEval 2's own length-controlled leaderboard (tatsu-lab/alpaca_eval, 30.9 to 57.5 %)."""
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


def gate(rows: list[dict[str, Any]], verdicts: list[Any]) -> tuple[list[str], list[int]]:
    ill = [at for at, row in enumerate(rows) if group_of(row) in ("degenerate", "apart")]
    shown = [max(0, shown_of(rows[at])) for at in ill]
    over = sum(seen > shown_limit(rows[at]) for at, seen in zip(ill, shown, strict=True))
    found = [at for at in ill if verdicts[at].degenerate]
    near = sum(
        abs(verdicts[at].start - (rows[at]["onset"] or 0)) <= max(len(verdicts[at].unit), unit_of(rows[at]), 32)
        for at in found
    )
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
    rows_out: list[list[Any]] = [
        ["characters of a loop that are shown, median", int(statistics.median(shown))],
        ["the same, 95th percentile", sorted(shown)[int(0.95 * len(shown))]],
        ["loops of which no more is shown than may be", f"{len(ill) - over} of {len(ill)}"],
        ["loops whose first copy is found to within one unit", f"{near} of {len(found)}"],
        ["healthy stream chunks, as recorded", deltas],
        ["of these held for a moment", f"{held} ({held / max(1, deltas):.2%})"],
        ["longest hold of a healthy chunk, ms", f"{max(waits, default=0.0):.0f}"],
        *([name, _held(texts)] for name, texts in _ordinary(rows).items()),
    ]
    return table(["stream gate", "measured"], rows_out), shown


def _ordinary(rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    well = [row for row in rows if row["label"] == "healthy"]
    plain = [row["text"] for row in well if "legit-repetition" not in (row.get("tags") or ())]
    return {
        "held of healthy replies in deltas of 6, ordinary ones": plain,
        "the same, all": [row["text"] for row in well],
    }


def _held(texts: list[str]) -> str:
    deltas = held = 0
    for text in texts:
        stream = StreamGate(GatePolicy())
        for at in range(0, len(text), 6):
            held += stream.feed(text[at : at + 6], 0.0).state is GateState.HOLDING
            deltas += 1
    return f"{held} of {deltas} ({held / deltas:.2%})"


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
    for name, text in (("prose", prose), ("Thue-Morse word, its worst input known", thue_morse(64_000))):
        out.append([f"detect, 64,000 characters, {name}", f"{_best(lambda text=text: detect(text)) * 1e3:.0f} ms", ""])  # type: ignore[misc]
    for name, text in hostile().items():
        out.append([f"gate and score, {SIZE:,} characters: {name}", f"{_once(text) * 1e3:.0f} ms", ""])
    return table(["cost (one core, best of five; of the constructed texts once)", "each", "per KB"], out)


def _once(text: str) -> float:
    began = time.process_time()
    score(text)
    stream = StreamGate(GatePolicy(mode=GateMode.SUPPRESS, hard_stop=False))
    for at in range(0, len(text), 5):
        stream.feed(text[at : at + 5], 0.0)
    stream.finish()
    return time.process_time() - began


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
    by_model = {path.stem: [item["output"] for item in json.loads(path.read_text(encoding="utf-8"))] for path in paths}
    texts = [text for said in by_model.values() for text in said]
    if not texts:
        return ["AlpacaEval outputs were not at hand in this run; `--alpaca FILE ...` adds them.", ""]
    flags = {name: [score(text).degenerate for text in said] for name, said in by_model.items()}
    rows = [
        _false("strong models", [flag for name, each in flags.items() if name in STRONG for flag in each]),
        _false("the others", [flag for name, each in flags.items() if name not in STRONG for flag in each]),
        _false("all", [flag for each in flags.values() for flag in each]),
    ]
    told = table(["public answers", "n", "flagged", "per 1,000", "95 % bounds"], rows)
    for name in sorted(STRONG & by_model.keys())[:3]:
        told.append(f"Held of {name} in deltas of 6: {_held(by_model[name][::8])}.")
    for low, high in ((800, 1_250), (3_000, 16_000)):
        some = [text for text in texts if low <= len(text) < high][::20]
        per = _best(lambda some=some: [score(text) for text in some]) * 1e6  # type: ignore[misc]
        size = sum(map(len, some))
        told.append(
            f"To score those of {low:,} to {high:,} characters took {per / len(some):.0f} µs each, "
            f"{per * 1024 / size:.0f} µs per KB."
        )
    return [*told, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--alpaca", nargs="*", type=Path, default=[])
    options = parser.parse_args()
    rows = records()
    verdicts = [score(row["text"], previous=previous_of(row)) for row in rows]
    compared, points = peers(rows, verdicts)
    gated, shown = gate(rows, verdicts)
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
