"""The stream gate: chunk borders, holds, modes, recovery, bounds."""

import random
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detector import GateMode, GatePolicy, GateState, RuleSet, StreamGate, clean
from detector.verdict import Release

HEAD = "The route is closed until noon, so take the coast road and turn left at the old mill. "
TAIL = (
    " After that the printer needs paper, the meeting moves to Thursday, and somebody has to tell the caterers about "
    "eleven more guests; Maria keeps the list, while Jonas checks whether the projector still works in room four. "
    "Nobody has booked hotels yet, which matters because a fair fills the whole town that week."
)
PIECES = st.sampled_from(
    [
        HEAD,
        TAIL,
        "好的，马上 ",
        "court ",
        "-",
        "GG",
        "今天下午三点在二楼开会，请带上报告。",
        "\n1. to be",
        "😀",
        "a",
        " ",
    ]
)
TEXTS = st.lists(st.tuples(PIECES, st.integers(1, 40)), max_size=5).map(lambda xs: "".join(p * n for p, n in xs))


def run(text: str, cuts: list[int], policy: GatePolicy | None = None) -> tuple[str, StreamGate]:
    gate, out, at, i = StreamGate(policy), "", 0, 0
    while at < len(text):
        step = cuts[i % len(cuts)]
        out += gate.feed(text[at : at + step], 0.0).text
        at, i = at + step, i + 1
    return out + gate.finish().text, gate


@settings(deadline=None, max_examples=150)
@given(TEXTS, st.lists(st.integers(1, 90), min_size=1, max_size=6), st.sampled_from([GateMode.CUT, GateMode.SUPPRESS]))
def test_output_and_verdict_do_not_depend_on_chunk_borders(text: str, cuts: list[int], mode: GateMode) -> None:
    policy = GatePolicy(mode=mode)
    sent, gate = run(text, cuts, policy)
    whole, other = run(text, [max(1, len(text))], policy)
    assert (sent, gate.cleaned, gate.verdict) == (whole, other.cleaned, other.verdict)
    assert gate.counters.errors == 0


@settings(deadline=None, max_examples=100)
@given(TEXTS)
def test_what_is_sent_is_the_text_with_spans_missing(text: str) -> None:
    sent, gate = run(text, [13], GatePolicy(mode=GateMode.SUPPRESS))
    for out in (sent, gate.cleaned):
        rest = iter(text)
        assert all(char in rest for char in out)
    if not gate.verdict.degenerate:
        assert sent == text


@settings(deadline=None, max_examples=200)
@given(st.text(st.characters(), max_size=400), st.sampled_from(list(RuleSet)))
def test_no_text_raises_inside_the_gate(text: str, rules: RuleSet) -> None:
    _, gate = run(text * 3, [5], GatePolicy(rules=rules))
    assert gate.counters.errors == 0


def test_a_healthy_delta_comes_back_as_the_same_object() -> None:
    gate = StreamGate()
    for at in range(0, len(TAIL), 6):
        delta = TAIL[at : at + 6]
        assert gate.feed(delta, 0.0).text is delta


@pytest.mark.parametrize("mode", [GateMode.SPLICE, GateMode.CUT, GateMode.RETRY])
def test_stopping_modes_stop_and_send_nothing_more(mode: GateMode) -> None:
    gate = StreamGate(GatePolicy(mode=mode))
    releases = [gate.feed(d, 0.0) for d in [HEAD, *["court "] * 80]]
    assert releases[-1].state is GateState.STOPPED
    assert gate.stop_mode is mode
    assert gate.cleaned.startswith(HEAD) and len(gate.cleaned) <= len(HEAD) + 12
    assert sum(len(r.text) for r in releases) <= len(HEAD) + 32
    assert gate.feed("more", 0.0).text == ""


def test_off_passes_everything() -> None:
    sent, gate = run("ha" * 5000, [7], GatePolicy(mode=GateMode.OFF))
    assert sent == gate.cleaned == "ha" * 5000


def test_a_reply_that_finds_its_way_again_comes_out_clean() -> None:
    sent, gate = run(HEAD + "court " * 120 + TAIL, [9], GatePolicy(mode=GateMode.SUPPRESS))
    assert sent.startswith(HEAD) and sent.endswith(TAIL.strip())
    assert gate.counters.recoveries == 1
    assert gate.cleaned.count("court") <= 2


def test_two_loops_in_one_reply_are_both_taken_out() -> None:
    cleaned = clean(HEAD + "好的，马上 " * 60 + TAIL + "court " * 90 + TAIL)
    assert cleaned.count("好的") <= 2 and cleaned.count("court") <= 2
    assert cleaned.count("eleven more guests") == 2


def test_a_suppressed_stream_that_never_recovers_is_stopped_hard() -> None:
    _, gate = run(HEAD + "court " * 2000, [8], GatePolicy(mode=GateMode.SUPPRESS))
    assert gate.state is GateState.STOPPED
    assert gate.counters.hard_stops == 1
    assert gate.stop_mode is GateMode.CUT


def test_held_text_goes_out_when_its_time_is_up() -> None:
    gate, got = StreamGate(), ""
    for at in range(0, 72, 6):
        got += gate.feed(("very well then " * 5)[at : at + 6], 0.0).text
    assert gate.state is GateState.HOLDING
    assert gate.tick(1.0) == Release(text="", state=GateState.HOLDING)
    assert got + gate.tick(1.6).text == ("very well then " * 5)[:72]
    assert gate.counters.over_held_chars > 0


def test_never_more_than_256_characters_are_held() -> None:
    gate = StreamGate()
    sent = fed = 0
    for _ in range(50):
        sent += len(gate.feed("- " * 8, 0.0).text)
        fed += 16
        if gate.state is not GateState.HOLDING:
            break
        assert fed - sent <= 256


def test_a_fault_of_the_detector_turns_the_stream_into_pass_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("detector.watch.Watch.check", lambda *_, **__: 1 / 0)
    sent, gate = run(HEAD * 3, [9])
    assert sent == HEAD * 3
    assert gate.counters.errors == 1


def _memory(gate: StreamGate, blocks: int, size: int = 2000) -> int:
    """Peak of the memory taken while `blocks` of `size` healthy characters go through, in bytes."""
    chance = random.Random(3)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(chance.choices(letters, k=chance.randint(2, 9))) for _ in range(20_000)]
    tracemalloc.start()
    for _ in range(blocks):
        gate.feed(" ".join(chance.choices(words, k=size // 6))[:size], 0.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert gate.state is not GateState.STOPPED
    return peak


def test_memory_does_not_grow_with_the_reply() -> None:
    policy = GatePolicy(max_scan_chars=8192)
    assert _memory(StreamGate(policy), 150) < 1.3 * _memory(StreamGate(policy), 40)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_ten_million_characters_take_less_than_four_megabytes() -> None:
    assert _memory(StreamGate(), 312, 32_000) < 4_000_000


def test_the_classic_rules_cut_a_short_unit_after_six_copies_and_120_characters() -> None:
    policy = GatePolicy(rules=RuleSet.CLASSIC, mode=GateMode.CUT, fast_rules=False, collapse=False)
    _, gate = run(HEAD + "好的，马上 " * 40, [5], policy)
    assert gate.state is GateState.STOPPED
    assert [str(r) for r in gate.verdict.rules] == ["period"]
    assert gate.cleaned.strip() == HEAD + "好的，马上"
    assert run("-" * 400, [5], policy)[1].state is GateState.PASSING
