"""What goes into the report: tonight against the baseline, and the worst replies."""

from monitor.nightly.records import Result
from monitor.report.build import LOOP_CHARS, MOST_SAMPLES, SAMPLES_A_MODEL, worst
from tests.support.evals import result
from tests.support.reports import NIGHTS, night, report


def test_models_stand_in_the_order_of_concern() -> None:
    assert [model.standing for model in report().models] == [
        "doubled", "worse", "no_baseline", "same", "same", "better",
    ]  # fmt: skip


def test_the_trend_ends_with_tonight() -> None:
    whole = report()
    last = {point.model: point.total for point in whole.trend if point.day == whole.day}
    assert last.keys() == NIGHTS.keys()
    assert all(last[model.model] == model.total for model in whole.models)


def test_what_newly_repeats_is_told_apart_from_what_always_did() -> None:
    whole = {model.model: model for model in report().models}
    assert len(whole["deepseek-chat"].newly_ill) + 15 - whole["deepseek-chat"].no_longer_ill == 52
    assert whole["house-7b"].newly_ill == () and whole["house-7b"].baseline is None


def test_of_one_loop_one_sample_is_shown_and_models_take_turns() -> None:
    samples = worst(night().results)
    assert len(samples) <= MOST_SAMPLES
    marks = [(sample.model, sample.fingerprint) for sample in samples]
    assert len(set(marks)) == len(marks)
    assert all([m for m, _ in marks].count(model) <= SAMPLES_A_MODEL for model in NIGHTS)
    assert len({sample.model for sample in samples[: len(NIGHTS)]}) == len(NIGHTS)


def test_a_sample_keeps_the_loop_and_little_round_it() -> None:
    text = "x" * 900 + "ab" * 900 + "y" * 900
    (sample,) = worst([result(ill=True, reply=text, start=900, end=2_700, repeats=900, fingerprint="f")])
    assert len(sample.loop) <= LOOP_CHARS + 3 and " … " in sample.loop
    assert sample.before.startswith("… x") and sample.after.endswith("y …")
    assert len(sample.before) + len(sample.after) < 260


def test_replies_whose_text_is_not_kept_are_no_sample() -> None:
    assert worst([result(ill=True, reply="")]) == []


def test_one_reply_of_each_class_is_shown_before_a_second_of_any() -> None:
    def bad(number: int, loop_class: str, chars: int) -> Result:
        return result(
            number, ill=True, reply="x" * 2_000, start=0, end=chars, loop_class=loop_class, fingerprint=f"f{number}"
        )  # fmt: skip

    many = [bad(number, "phrase_loop", 1_000 + number) for number in range(8)]
    few = [bad(20, "stuck", 40), bad(21, "restatement", 300), bad(22, "stuck", 90)]
    shown = [(sample.loop_class, sample.prompt_id) for sample in worst([*many, *few])]
    assert shown[:3] == [("phrase_loop", "p7"), ("stuck", "p22"), ("restatement", "p21")]
    assert [kind for kind, _ in shown[3:]] == ["phrase_loop"] * 3
