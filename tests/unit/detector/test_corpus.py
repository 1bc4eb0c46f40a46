"""The dev corpora as an acceptance: recall, false positives, what the gate shows. Floors are what was reached."""

import pytest

from bench.eval_detector import group_of, previous_of, profile_for, records, shown_limit, shown_of
from detector import GateMode, GatePolicy, LoopClass, StreamGate, clean, score

RECORDS = records()
REPETITIVE = [r for r in RECORDS if group_of(r) in ("degenerate", "apart")]
HEALTHY = [r for r in RECORDS if r["label"] == "healthy"]


def test_nearly_every_repetitive_reply_is_found_without_a_profile() -> None:
    missed = [(r["id"], r["kind"]) for r in REPETITIVE if not score(r["text"]).degenerate]
    assert len(missed) <= 3, missed
    kinds = [kind for _, kind in missed]
    assert all(kinds.count(kind) <= 1 for kind in kinds), missed


def test_no_healthy_reply_is_flagged() -> None:
    flagged = [r["id"] for r in HEALTHY if score(r["text"]).degenerate]
    assert flagged == []


def test_legitimate_repetition_passes_under_a_profile_that_fits() -> None:
    flagged = [r["id"] for r in HEALTHY if score(r["text"], profile=profile_for(r)).degenerate]
    assert flagged == []


def test_a_restatement_is_found_wherever_the_earlier_reply_is_known() -> None:
    for record in RECORDS:
        if record["kind"] in ("context", "context restatement"):
            verdict = score(record["text"], previous=previous_of(record))
            assert verdict.loop_class is LoopClass.RESTATEMENT, record["id"]


def test_healthy_replies_leave_the_gate_whole() -> None:
    for record in HEALTHY:
        gate, text = StreamGate(), record["text"]
        out = "".join(gate.feed(text[at : at + 7], 0.0).text for at in range(0, len(text), 7)) + gate.finish().text
        assert out == gate.cleaned == text, record["id"]


def test_healthy_replies_are_hardly_ever_held() -> None:
    held = deltas = 0
    for record in HEALTHY:
        if "legit-repetition" in (record.get("tags") or ()):
            continue
        gate, text = StreamGate(), record["text"]
        for at in range(0, len(text), 6):
            deltas += 1
            held += gate.feed(text[at : at + 6], 0.0).state != "passing"
    assert held <= 0.001 * deltas


def test_the_recorded_chunks_of_healthy_replies_are_held_one_in_a_thousand_at_most() -> None:
    held = deltas = 0
    for record in HEALTHY:
        if record.get("chunks"):
            gate = StreamGate()
            for delta, ms in zip(record["chunks"]["deltas"], record["chunks"]["ms"], strict=True):
                deltas += 1
                held += gate.feed(delta, ms / 1000).state != "passing"
    assert deltas > 3000
    assert held <= 0.001 * deltas


def test_most_loops_are_cut_within_the_limits_of_what_may_be_shown() -> None:
    over = [r["id"] for r in REPETITIVE if score(r["text"]).degenerate and shown_of(r) > shown_limit(r)]
    assert len(over) <= 6, over


def test_the_first_copy_is_found_to_within_one_unit() -> None:
    far = []
    for record in REPETITIVE:
        verdict = score(record["text"])
        unit = max(len(verdict.unit), record.get("period_chars") or 0, 32)
        if verdict.degenerate and abs(verdict.start - (record["onset"] or 0)) > unit:
            far.append(record["id"])
    assert len(far) <= 4, far


@pytest.mark.parametrize("name", ["tricky-101", "tricky-102", "tricky-105", "rep-064"])
def test_a_loop_in_the_middle_is_taken_out_and_what_follows_stays(name: str) -> None:
    record = next(r for r in RECORDS if r["id"] == name)
    text = record["text"]
    cleaned = clean(text)
    assert cleaned.endswith(text[-24:])
    assert cleaned.startswith(text[: record["onset"]])
    assert len(cleaned) < 0.75 * len(text)


def test_whole_and_streamed_verdicts_agree() -> None:
    for record in RECORDS:
        gate, text = StreamGate(GatePolicy(mode=GateMode.CUT)), record["text"]
        for at in range(0, len(text), 11):
            gate.feed(text[at : at + 11], 0.0)
        gate.finish()
        whole = score(text)
        assert (whole.health, whole.loop_class, whole.rules, whole.onset, whole.fingerprint) == (
            gate.verdict.health,
            gate.verdict.loop_class,
            gate.verdict.rules,
            gate.verdict.onset,
            gate.verdict.fingerprint,
        ), record["id"]
