"""How good the detector is on the dev corpora: recall per kind, false positives, onset error, what a gate shows.

Run: python -m bench.eval_detector [--misses]. Reads tests/data/corpus, prints a table.
"""

import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from detector import GateMode, GatePolicy, GateState, StreamGate, score
from detector.text import TOKEN

CORPUS = Path(__file__).parent.parent / "tests" / "data" / "corpus"
OTHER = {"garble", "context restatement", "context"}
APART = {"short", "hard"}
_FITS = {
    "json": "structured", "csv": "structured", "encoding": "structured", "data": "structured", "log": "structured",
    "table": "structured", "tool": "structured", "code": "code", "markup": "code", "lyrics": "verse",
    "poem": "verse", "count": "list", "conjugation": "list", "list": "list",
}  # fmt: skip


def records() -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for path in sorted(CORPUS.glob("*.jsonl")):
        out += [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    return out


def previous_of(record: dict[str, Any]) -> str | None:
    if record.get("history"):
        return str(record["history"])
    said = [m["content"] for m in record.get("messages") or () if m["role"] == "assistant"]
    return said[-1] if said else None


def profile_for(record: dict[str, Any]) -> str | None:
    """The profile a caller would name for this record."""
    return _FITS.get(record.get("category") or "")


def group_of(record: dict[str, Any]) -> str:
    """`degenerate`, `apart` (tags hard and short), `other` (not repetitive), `borderline` or `healthy`."""
    if record["label"] != "degenerate":
        return str(record["label"])
    if record["kind"] in OTHER:
        return "other"
    return "apart" if APART & set(record.get("tags") or ()) else "degenerate"


def shown_of(record: dict[str, Any]) -> int:
    """Characters of the loop that a client sees, deltas of 5."""
    gate, sent, text = StreamGate(GatePolicy(mode=GateMode.CUT)), 0, record["text"]
    for at in range(0, len(text), 5):
        release = gate.feed(text[at : at + 5], 0.0)
        sent += len(release.text)
        if release.state is GateState.STOPPED:
            break
    else:
        sent += len(gate.finish().text)
    return sent - (record["onset"] or 0)


def unit_of(record: dict[str, Any]) -> int:
    """Length of what repeats, in characters: the label's, else of what is said twice in a row where the loop begins, else
    the middle distance between what is said again.

    Measured in the labelled stretch, over word trigrams that were said before in it: near copies of a paragraph are as
    far apart as copies. 0 where hardly anything is said twice: a few words in rotation.
    """
    if record.get("period_chars"):
        return int(record["period_chars"])
    text = record["text"][record["onset"] or 0 : record.get("loop_end") or record.get("end") or len(record["text"])]
    head = text[:24]
    again = text.find(head, 1)
    while 0 < again <= len(text) * 2 // 5:
        if text[:again] == text[again : 2 * again]:
            return again
        again = text.find(head, again + 1)
    words = [(m.start(), m.group().casefold()) for m in TOKEN.finditer(text)]
    last: dict[tuple[str, ...], int] = {}
    apart = []
    for at in range(len(words) - 2):
        gram = tuple(word for _, word in words[at : at + 3])
        if gram in last:
            apart.append(words[at][0] - last[gram])
        last[gram] = words[at][0]
    return int(statistics.median(apart)) if len(apart) * 2 > len(words) else 0


def shown_limit(record: dict[str, Any]) -> int:
    """SPEC 2.5: two copies of a unit of up to 100 characters, or 32; three of a longer; 160 if irregular."""
    unit = unit_of(record)
    if unit > 100:
        return 3 * unit
    return max(2 * unit, 32 if record.get("period_chars") else 160)


def main() -> None:
    found: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    rows: list[tuple[Any, ...]] = []
    over = far = wrong = 0
    for record in records():
        verdict = score(record["text"], previous=previous_of(record))
        group, rules = group_of(record), [str(r) for r in verdict.rules]
        if group == "healthy":
            if verdict.degenerate and "restatement-asked" not in (record.get("tags") or ()):
                wrong += 1
                rows.append(("flagged", record["id"], rules, verdict.unit[:40], verdict.start))
            name = profile_for(record)
            if name and (named := score(record["text"], profile=name)).degenerate:
                rows.append(("flagged with profile", record["id"], name, [str(r) for r in named.rules]))
            continue
        count = found[group, record["kind"]]
        count[0] += verdict.degenerate
        count[1] += 1
        if group not in ("degenerate", "apart"):
            continue
        if not verdict.degenerate:
            rows.append(("missed", record["id"], record["kind"], record.get("tags")))
            continue
        unit = max(len(verdict.unit), record.get("period_chars") or 0, 32)
        error = verdict.start - (record["onset"] or 0)
        if abs(error) > unit:
            far += 1
            rows.append(("onset", record["id"], record["kind"], error, unit, rules))
        excess = shown_of(record) - shown_limit(record)
        if excess > 0:
            over += 1
            rows.append(("shown over the limit by", excess, record["id"], record["kind"], unit_of(record)))
    for (group, kind), (hit, every) in sorted(found.items()):
        print(f"{group:12} {kind:32} {hit:4} of {every}")
    for group in ("degenerate", "apart"):
        counts = [v for k, v in found.items() if k[0] == group]
        print(f"{group}: {sum(h for h, _ in counts)} of {sum(n for _, n in counts)}")
    print(f"healthy flagged: {wrong}; onset off by more than a unit: {far}; shown over the limit: {over}")
    if "--misses" in sys.argv:
        for row in rows:
            print(*row)


if __name__ == "__main__":
    main()
