"""A verdict names what it was judged by and what that cost, whole and streamed alike."""

from itertools import count

import pytest

from detector import GatePolicy, Profile, StreamGate, score
from detector.batch import judge, record_of, summary
from detector.verdict import Verdict

HEALTHY = " ".join(
    f"The clockmaker of house {n} wound watch {n * 7} while gulls circled pier {n % 5}." for n in range(30)
)
LOOP = "Fine so far. " + "We could try it like that. " * 40


def streamed(text: str, profile: str | Profile | None = None) -> Verdict:
    gate = StreamGate(GatePolicy(), profile, timer=count().__next__)  # each reading is a second later
    for at in range(0, len(text), 7):
        gate.feed(text[at : at + 7], 0.0)
    verdict = gate.finish().verdict
    assert verdict is not None
    return verdict


@pytest.mark.parametrize("text", [HEALTHY, LOOP], ids=["healthy", "loop"])
@pytest.mark.parametrize(("profile", "line"), [(None, 0.6), ("verse", 0.8)])
def test_a_verdict_carries_the_profile_in_force_and_its_numbers(text: str, profile: str | None, line: float) -> None:
    for verdict in (score(text, profile=profile), streamed(text, profile)):
        assert (verdict.profile, verdict.thresholds.trigram_repeat) == (profile or "", line)


def test_a_profile_of_ones_own_stands_in_the_verdict_with_its_own_numbers() -> None:
    own = Profile(name="hotline", cycle_count=6, trigram_repeat=0.7)
    assert (score(LOOP, profile=own).profile, score(LOOP, profile=own).thresholds.cycle_count) == ("hotline", 6)
    assert streamed(HEALTHY, own).thresholds.trigram_repeat == 0.7


def test_a_healthy_stream_tells_its_metrics_as_a_whole_reply_does() -> None:
    whole, stream = score(HEALTHY), streamed(HEALTHY)
    assert stream.metrics.trigram_repeat == whole.metrics.trigram_repeat > 0
    assert stream.metrics.cycle_count == whole.metrics.cycle_count


@pytest.mark.parametrize("text", [HEALTHY, LOOP], ids=["healthy", "loop"])
def test_a_streams_verdict_says_what_the_looks_at_it_cost(text: str) -> None:
    assert streamed(text).cost_us >= 1e6


def test_the_command_line_shows_the_lines_in_force() -> None:
    assert "trigram_repeat 0.00 (line 0.8)" in summary(judge("Short and sound.", profile="verse"))[1]
    assert "(line 0.6)" in summary(judge("Short and sound."))[1]


@pytest.mark.parametrize("text", ["word " * 30_000, "你！" * 300, "the same again " * 400])
def test_the_share_of_trigrams_was_nothing_for_a_plain_loop(text: str) -> None:
    assert score(text).metrics.trigram_repeat > 0.9, "its figures are of the whole run, not of the first copies"


def test_a_loop_too_short_for_a_share_of_trigrams_is_shown_without_one() -> None:
    verdict = judge("ha " * 20)
    assert verdict.degenerate and "trigram_repeat – (line 0.6)" in summary(verdict)[1]
    assert record_of(verdict)["metrics"]["trigram_repeat"] is None
