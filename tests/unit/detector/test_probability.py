"""Probability signals: the known lanes of the rules, the corpus's real logprobs, streams, hostile input."""

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detector.families import Family
from detector.probability import (
    Finding,
    Position,
    ProbabilityWatch,
    has_echoes,
    read_logprobs,
    score_logprobs,
    with_finding,
)
from detector.token_cycle import TokenCycle
from detector.verdict import CLEAN, Health, LoopClass, Rule, Verdict

CORPUS = Path(__file__).parents[2] / "data" / "corpus" / "smollm2_replies_dev.jsonl"
RECORDS = [record for line in CORPUS.read_text().splitlines() if (record := json.loads(line))["logprobs"]]


def sure(token: str | int, best: float = -0.01) -> Position:
    others = tuple((1_000_000 + place, -9.0) for place in range(4))
    return Position(token=token, logprob=best, top=((token, best), *others))


def rule_of(positions: list[Position]) -> Rule | None:
    found = score_logprobs(positions)
    return found.rule if found else None


FLAT = Position(token="x", logprob=-3.0, top=(("ab", -3.0), ("中", -3.0), ("да", -3.0), ("ไท", -3.0), ("α", -3.0)))


def test_corpus_garble_is_found_and_no_healthy_reply_is_flagged() -> None:
    garbled = [r for r in RECORDS if r["label"] == "degenerate" and r["kind"] == "garble"]
    found = sum(rule_of(read_logprobs(record["logprobs"])) is Rule.GARBLE for record in garbled)
    assert len(garbled) == 9
    assert found == 9
    flagged = [
        record["id"]
        for record in RECORDS
        if record["label"] == "healthy"
        and with_finding(CLEAN, score_logprobs(read_logprobs(record["logprobs"])), []).degenerate
    ]
    assert flagged == []


def test_streamed_and_whole_find_the_same_on_the_corpus() -> None:
    for record in RECORDS[:60]:
        positions = read_logprobs(record["logprobs"])
        watch = ProbabilityWatch()
        for position in positions:
            watch.feed(position)
        assert watch.finish() == score_logprobs(positions)


def test_rare_tokens_alone_are_told_only_at_the_end_and_are_no_illness() -> None:
    watch = ProbabilityWatch()
    assert watch.feed(FLAT) is None
    finding = watch.finish()
    assert finding is not None
    assert (finding.rule, finding.start) == (Rule.RARE_TOKENS, 0)
    assert with_finding(CLEAN, finding, [FLAT]) == Verdict(rules=(Rule.RARE_TOKENS,))


def test_more_than_a_fifth_rare_tokens_in_a_window_are_garble_at_that_window() -> None:
    rng = random.Random(1)
    healthy = [sure(rng.randrange(10**6)) for _ in range(192)]
    ill = [FLAT if at % 4 == 0 else sure(at) for at in range(200)]
    found = score_logprobs(healthy + ill)
    assert found == Finding(rule=Rule.GARBLE, loop_class=LoopClass.GARBLE, start=192, end=320)


def test_masked_candidates_are_no_illness() -> None:
    masked = Position(
        token="{", logprob=-1.2, top=(("{", -1.2), *((name, -math.inf) for name in ("中", "да", "α", "ไท")))
    )
    assert score_logprobs([masked, sure(1), masked, sure(2)]) is None


@pytest.mark.parametrize("period", [1, 3, 26, 42, 43, 64, 128, 500])
def test_exact_cycle_of_ids_is_found_at_any_period(period: int) -> None:
    head = [sure(10_000 + at) for at in range(100)]
    loop = [sure(at % period) for at in range(5 * max(period, 64))]
    found = score_logprobs(head + loop)
    assert found is not None
    assert (found.rule, found.period_tokens, found.start) == (Rule.TOKEN_CYCLE, period, 100)
    assert found.end <= 100 + max(64, 4 * period) + 4


def noisy_period(period: int, size: int) -> list[Position]:
    """The probabilities cycle, the ids do not quite: a counter goes on in each round."""
    rng = random.Random(4)
    series = [-0.15 * rng.random() for _ in range(period)]
    return [sure(at if at % period == 0 else at % period, series[at % period]) for at in range(size)]


def test_sentence_loop_of_26_tokens_is_found_by_its_echoes_after_15_windows() -> None:
    found = score_logprobs(noisy_period(26, 1_400))
    assert found is not None
    assert found.rule is Rule.TOKEN_LOOP
    assert found.end == 128 + 14 * 64


def test_repetition_at_low_confidence_is_left_to_the_other_rules() -> None:
    unsure = [sure(at if at % 26 == 0 else at % 26, -0.5) for at in range(1_400)]
    assert score_logprobs(unsure) is None


def test_constant_series_has_no_echo() -> None:
    assert not has_echoes([-0.01] * 128, 0.65, 0.325)
    assert has_echoes([-0.1 if at % 20 == 0 else 0.0 for at in range(128)], 0.65, 0.325)


def test_table_rules_and_blanks_need_many_copies() -> None:
    rule = [sure(token) for _ in range(20) for token in ("|", " ---", " |", "\n")]
    assert score_logprobs(rule) is None
    assert rule_of(rule * 5) is Rule.TOKEN_CYCLE


def test_cycle_memory_is_bounded_and_old_tokens_are_forgotten() -> None:
    cycle = TokenCycle(lambda token: False, window=256)
    rng = random.Random(2)
    assert not any(cycle.feed(rng.randrange(10**9)) for _ in range(20_000))
    assert len(cycle._recent) < 512
    assert len(cycle._last) < 512


def test_dictionary_of_families_is_used_for_ids() -> None:
    families = {1: Family.CHINESE_CJK, 2: Family.CYRILLIC, 3: Family.THAI, 4: Family.GREEK, 5: Family.PUNCTUATION}
    flat = Position(token=1, logprob=-3.0, top=tuple((number, -3.0) for number in families))
    found = score_logprobs([flat], families=families)
    assert found is not None and found.rule is Rule.RARE_TOKENS
    assert score_logprobs([flat], families=dict.fromkeys(families, Family.CYRILLIC)) is None


def test_openai_shape_is_read_and_spans_are_code_points() -> None:
    data = {
        "content": [
            {"token": "中文", "logprob": -3.0, "top_logprobs": [{"token": t, "logprob": v} for t, v in FLAT.top]}
        ]
    }
    positions = read_logprobs(data)
    assert positions == [Position(token="中文", logprob=-3.0, top=FLAT.top)]
    verdict = with_finding(CLEAN, Finding(rule=Rule.GARBLE, loop_class=LoopClass.GARBLE, start=0, end=1), positions)
    assert (verdict.health, verdict.start, verdict.end) == (Health.DEGENERATE, 0, 2)


JSONISH: Any = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=4),
    lambda leaf: (
        st.lists(leaf, max_size=4)
        | st.dictionaries(
            st.sampled_from(["content", "token", "logprob", "top_logprobs", "tokens", "token_logprobs", "top"]),
            leaf,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=300, deadline=None)
@given(JSONISH)
def test_no_logprobs_raise(data: Any) -> None:
    score_logprobs(read_logprobs(data))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.floats()), max_size=300))
def test_no_series_raises(series: list[tuple[int, float]]) -> None:
    data = {
        "tokens": [t for t, _ in series],
        "token_logprobs": [v for _, v in series],
        "top": [[[t, v]] * 5 for t, v in series],
    }
    score_logprobs(read_logprobs(data))
