"""Suite files: what is refused and how it is told, and that the same file always gives the same prompts."""

from collections import Counter
from pathlib import Path

import pytest

from detector import score
from detector.schema import schema_errors
from monitor.nightly.shapes import Lure
from monitor.nightly.suite import LEAST_PROMPTS, SuiteError, builtin, load, of_lures, read_files, sample

HEAD = "suite: s\nlanguage: en\nsize: 10\nitems:\n"
ITEM = "  - {id: one, lure: open_question, prompt: 'Tell me of {what}.', vary: {what: [tea, rain]}}\n"


def told(text: str) -> str:
    with pytest.raises(SuiteError) as error:
        load({"f.yaml": text})
    return str(error.value)


def test_the_suite_that_travels_with_the_package_is_whole() -> None:
    suite = load(builtin())
    assert len(suite.prompts) >= LEAST_PROMPTS
    bases = {prompt.id.rpartition(".")[0] for prompt in suite.prompts}
    assert len(bases) >= 64
    spread = Counter((prompt.lure, prompt.language) for prompt in suite.prompts)
    assert len(spread) == 2 * len(Lure)
    assert min(spread.values()) >= 20


def test_its_ids_and_its_questions_are_all_different() -> None:
    suite = load(builtin())
    assert len({prompt.id for prompt in suite.prompts}) == len(suite.prompts)
    assert len({str(prompt.messages) for prompt in suite.prompts}) == len(suite.prompts)


def test_no_slot_is_left_open_and_every_answer_keeps_its_schema() -> None:
    for prompt in load(builtin()).prompts:
        assert not any(f"{{{name}}}" in prompt.asked for name in prompt.meta)
        if prompt.schema is not None:
            assert schema_errors(prompt.expect, prompt.schema) == ()


def test_the_earlier_replies_written_for_it_are_healthy() -> None:
    assert not [p.id for p in load(builtin()).prompts if p.previous and score(p.previous).degenerate]


def test_the_same_files_give_the_same_version_and_another_word_another() -> None:
    texts = {"f.yaml": HEAD + ITEM}
    assert load(texts).version == load(texts).version
    assert load({"f.yaml": HEAD + ITEM.replace("rain", "snow")}).version != load(texts).version


def test_variation_fills_every_slot_up_to_the_size_asked() -> None:
    text = HEAD.replace("10", "3") + ITEM + ITEM.replace("one", "two").replace("[tea, rain]", "[a, b, c, d]")
    suite = load({"f.yaml": text})
    assert len(suite.prompts) == 3
    assert {prompt.id.partition(".")[0] for prompt in suite.prompts} == {"one", "two"}


def test_a_sample_is_spread_over_lures_and_languages_and_known_as_one() -> None:
    suite = load(builtin())
    part = sample(suite, 40)
    assert part.sampled and not suite.sampled
    assert Counter(p.lure for p in part.prompts).keys() == set(Lure)
    assert part == sample(suite, 40)
    assert sample(suite, 10_000) == suite


def test_one_kind_of_prompt_can_be_asked_alone() -> None:
    part = of_lures(load(builtin()), [Lure.JSON])
    assert {prompt.lure for prompt in part.prompts} == {Lure.JSON}
    assert part.sampled


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- a list", "f.yaml: must be a mapping"),
        ("suite: ]", "f.yaml: line 1: is not YAML"),
        (HEAD, "f.yaml: items: "),
        ("language: en\nsize: 1\nitems:\n" + ITEM, "f.yaml: suite: is missing"),
        (HEAD + ITEM.replace("lure", "luer"), "f.yaml: item one: luer: unknown field"),
        (HEAD + ITEM.replace("open_question", "open"), "f.yaml: item one: lure: must be 'open_question'"),
        (HEAD + "  - {lure: code, prompt: x}\n", "f.yaml: item number 1: id: is missing"),
        (HEAD + ITEM + ITEM, "f.yaml: item one: id: is taken already in f.yaml"),
        (HEAD + ITEM.replace("{what: [tea, rain]}", "{other: [tea]}"), "item one: vary: nothing fills {what}"),
        (
            HEAD + ITEM.replace("{what: [tea, rain]}", "{what: [tea], where: [x]}"),
            "item one: vary: 'where' fills no slot",
        ),
        (HEAD + "  - {id: a, lure: code}\n", "item a: prompt: say either prompt or turns"),
        (HEAD + "  - {id: a, lure: restatement, prompt: x}\n", "item a: turns: a restatement needs an earlier"),
        (HEAD + "  - {id: a, lure: code, turns: [{user: x}, {assistant: y}]}\n", "the last turn must be the user's"),
        (HEAD + "  - {id: a, lure: code, turns: [{user: x, assistant: y}]}\n", "item a: turns.0: a turn is either"),
        (HEAD + "  - {id: a, lure: code, prompt: x, profile: poem}\n", "item a: profile: unknown profile 'poem'"),
        (HEAD + "  - {id: a, lure: json, prompt: x}\n", "item a: schema: is missing"),
        (HEAD + "  - {id: a, lure: json, prompt: x, schema: {type: thing}}\n", "item a: schema: not a JSON Schema"),
        (HEAD + "  - {id: a, lure: json, prompt: x, schema: {type: object}}\n", "item a: cases: is missing"),
        (
            HEAD + "  - {id: a, lure: json, prompt: '{w}', schema: {type: integer}, cases: [{w: x, expect: y}]}\n",
            "item a: cases.1.expect: breaks the item's own schema",
        ),
        (
            HEAD + "  - {id: a, lure: json, prompt: '{w}', schema: {type: integer}, cases: [{w: x}]}\n",
            "item a: cases.1.expect: is missing",
        ),
        (HEAD + "  - {id: a, lure: code, prompt: x, schema: {}}\n", "item a: schema: only items with lure json"),
    ],
)
def test_a_mistake_is_told_with_file_item_and_field(text: str, words: str) -> None:
    assert words in told(text)


def test_all_mistakes_are_told_at_once() -> None:
    text = told(HEAD + "  - {id: a, lure: code}\n  - {id: b, lure: json, prompt: x}\n")
    assert "item a" in text and "item b" in text


def test_files_of_two_suites_do_not_run_together() -> None:
    with pytest.raises(SuiteError, match="of one suite"):
        load({"f": HEAD + ITEM, "g": HEAD.replace("suite: s", "suite: t") + ITEM.replace("one", "two")})


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SuiteError, match="No such file") as error:
        read_files([tmp_path / "none.yaml", bad])
    assert "not UTF-8" in str(error.value)
