"""What the gate costs a delta by the window that its classic rules search: `python -m bench.gate_window`.

In this process, processor time, healthy prose in deltas of 5 characters. Writes bench/results/window.json.
"""

import json
import time
from collections.abc import Sequence

from bench.eval_detector import records
from bench.processes import RESULTS
from detector import GatePolicy, StreamGate
from detector.policy import RuleSet

WINDOWS = (256, 512, 1024, 4096, 16384)
CHARS, TURNS = 20_000, 5


def prose(size: int) -> str:
    """Healthy English replies of a small real model, one after the other."""
    kept = [r["text"] for r in records() if r["label"] == "healthy" and r["lang"] == "en" and r["source"] != "handmade"]
    text = "\n\n".join(dict.fromkeys(kept))
    return text[:size]


def cost_us(policy: GatePolicy, deltas: Sequence[str]) -> float:
    """Per delta, the best of some turns."""
    best = float("inf")
    for _ in range(TURNS):
        gate, began = StreamGate(policy), time.process_time()
        for at, delta in enumerate(deltas):
            gate.feed(delta, at * 0.005)
        best = min(best, time.process_time() - began)
    return best / len(deltas) * 1e6


def main() -> None:
    text = prose(CHARS)
    deltas = [text[at : at + 5] for at in range(0, len(text), 5)]
    policies = [("default", 0, GatePolicy())]
    policies += [("classic", window, GatePolicy(rules=RuleSet.CLASSIC, window=window)) for window in WINDOWS]
    rows = [
        {"rules": rules, "window": size, "us_per_delta": cost_us(policy, deltas)} for rules, size, policy in policies
    ]
    for row in rows:
        print(f"{row['rules']} {row['window'] or ''}: {row['us_per_delta']:.2f} µs a delta")
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "window.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
