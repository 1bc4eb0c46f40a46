"""Phrases exist for every scene and language, and broken files are named."""

from random import Random

import pytest

from fallback_phrases.catalog import BadPhraseFile, Catalog, load, parse

SCENES = ("default", "chat", "qa", "copywriting", "cockpit")


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load()


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("scene", SCENES)
def test_every_scene_has_its_own_phrases_in_both_languages(catalog: Catalog, language: str, scene: str) -> None:
    assert catalog.languages[language].scenes[scene]
    assert catalog.pick(language, scene, Random(1)) in catalog.languages[language].scenes[scene]


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("scene", SCENES)
def test_when_no_model_replied_nobody_is_asked_for_other_words(catalog: Catalog, language: str, scene: str) -> None:
    said = {catalog.pick(language, scene, Random(seed), replied=False) for seed in range(20)}
    assert said == set(catalog.languages[language].unreachable)


def test_a_file_without_sentences_for_that_says_its_scenes_and_a_program_still_gets_none() -> None:
    old = Catalog([parse('language = "en"\nclosing = ["a"]\n[scenes]\ndefault = ["Later."]', "en.toml")])
    assert old.pick("en", "chat", Random(1), replied=False) == "Later."
    assert load().pick("en", "structured", Random(1), replied=False) is None


def test_an_unknown_language_speaks_english(catalog: Catalog) -> None:
    assert catalog.pick("fr", "chat", Random(1)) in catalog.languages["en"].scenes["chat"]


def test_an_unknown_scene_uses_the_default_phrases(catalog: Catalog) -> None:
    assert catalog.pick("zh", "poetry", Random(1)) in catalog.languages["zh"].scenes["default"]


def test_a_program_that_waits_for_json_gets_no_phrase(catalog: Catalog) -> None:
    assert catalog.pick("en", "structured", Random(1)) is None


def test_a_closing_line_is_in_the_language_of_the_reply(catalog: Catalog) -> None:
    assert catalog.closing_line("zh", Random(1)) in catalog.languages["zh"].closing


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("language =", "Invalid", id="not TOML"),
        pytest.param('language = "xx"', "scenes.default", id="no default scene"),
        pytest.param('language = "xx"\nclosing = ["a"]\n[scenes]\ndefault = []', "non-empty", id="empty list"),
        pytest.param(
            'language = "xx"\nclosing = ["a"]\nunreachable = []\n[scenes]\ndefault = ["a"]',
            "unreachable must be a list of non-empty",
            id="nothing for when no model replied",
        ),
        pytest.param('language = "xx"\nclosing = ["a"]\nextra = 1\n[scenes]\ndefault = ["a"]', "extra", id="typo"),
    ],
)
def test_a_broken_file_is_refused_with_its_name(text: str, complaint: str) -> None:
    with pytest.raises(BadPhraseFile, match=complaint) as caught:
        parse(text, "xx.toml")
    assert "xx.toml" in str(caught.value)


def test_a_catalog_without_english_is_refused() -> None:
    with pytest.raises(BadPhraseFile, match="'en'"):
        Catalog([])


def test_every_phrase_and_closing_line_scores_clean(catalog: Catalog) -> None:
    score = pytest.importorskip("detector.score", reason="the detector is built apart", exc_type=ImportError).score
    for phrases in catalog.languages.values():
        for lines in (*phrases.scenes.values(), phrases.unreachable, phrases.closing):
            for line in lines:
                assert not score(line).degenerate, line
