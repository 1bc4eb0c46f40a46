"""Phrases: edited with a preview, refused with the line named, saved as versions, brought back."""

from collections.abc import Mapping, Sequence

import pytest

from console.pages.phrases import difference
from console.phrase_ports import PhraseVersion
from fallback_phrases.catalog import Phrases, load, parse
from tests.support.console_desk import Browser, World

SHIPPED = load().languages


class Book:
    def __init__(self) -> None:
        self.kept: list[PhraseVersion] = []

    def current(self) -> Mapping[str, Phrases]:
        return {**SHIPPED, **{v.language: parse(v.body, "kept") for v in self.kept}}

    def scenes(self) -> frozenset[str]:
        return frozenset({"chat", "qa", "copywriting", "cockpit", "structured", "billing"})

    async def versions(self, language: str, limit: int) -> Sequence[PhraseVersion]:
        return [v for v in reversed(self.kept) if v.language == language][:limit]

    async def version(self, id: int) -> PhraseVersion | None:
        return next((v for v in self.kept if v.id == id), None)

    async def save(self, language: str, body: str, actor: str, reason: str) -> int:
        id_ = len(self.kept) + 1
        self.kept.append(PhraseVersion(id=id_, language=language, at=1.0, actor=actor, reason=reason, body=body))
        return id_


def typed(**scenes: str) -> dict[str, str]:
    """The English form as it stands, with some fields changed."""
    english = SHIPPED["en"]
    lists = {**english.scenes, "closing": english.closing, "unreachable": english.unreachable}
    fields = {f"scene_{name}": "\n".join(lines) for name, lines in lists.items()}
    return {"language": "en", "seen": "0", **fields, **{f"scene_{name}": text for name, text in scenes.items()}}


async def test_a_phrase_is_edited_saved_and_said() -> None:
    book, world = Book(), World()
    async with Browser(world, phrases=book) as browser:
        await browser.login("pma-operator", "Li")
        fields = typed(chat="Say that once more, please.\r\n\r\nI lost the thread; could you repeat?")
        answer = await browser.post("/phrases/save", seen_on="/phrases?language=en", reason="kinder", **fields)
        assert answer.headers["location"] == "/phrases?language=en&said=phrases_saved"
        text = (await browser.get(answer.headers["location"])).text
    assert book.current()["en"].scenes["chat"] == (
        "Say that once more, please.",
        "I lost the thread; could you repeat?",
    )
    assert book.current()["en"].closing == SHIPPED["en"].closing
    assert "in force" in text and "kinder" in text
    assert [(a.action, a.target, a.reason) for a in world.acted] == [("edit_phrases", "en", "kinder")]


async def test_what_is_said_when_no_model_replied_is_edited_like_a_scene() -> None:
    book = Book()
    async with Browser(World(), phrases=book) as browser:
        await browser.login()
        fields = typed(unreachable="No line is free; please ask again soon.")
        await browser.post("/phrases/save", seen_on="/phrases?language=en", reason="our own", **fields)
    assert book.current()["en"].unreachable == ("No line is free; please ask again soon.",)


async def test_a_preview_shows_what_goes_and_comes_and_changes_nothing() -> None:
    book = Book()
    async with Browser(World(), phrases=book) as browser:
        await browser.login()
        answer = await browser.post("/phrases/preview", seen_on="/phrases", **typed(qa="Ask <b>again</b> later."))
    assert "<ins>Ask &lt;b&gt;again&lt;/b&gt; later.</ins>" in answer.text and "<del>" in answer.text
    assert book.kept == []


async def test_an_unchanged_form_says_so() -> None:
    async with Browser(World(), phrases=Book()) as browser:
        await browser.login()
        answer = await browser.post("/phrases/preview", seen_on="/phrases", **typed())
    assert "Nothing would change." in answer.text


@pytest.mark.parametrize(
    ("scenes", "words"),
    [
        pytest.param({"default": ""}, "at least one phrase", id="no default"),
        pytest.param({"closing": " \n "}, "at least one line", id="no closing line"),
        pytest.param({"chat": "x"}, "2 to 300", id="too short"),
        pytest.param({"unreachable": "x"}, "2 to 300", id="too short, for when no model replied"),
        pytest.param({"unreachable": "again " * 45}, "like a loop", id="a loop, for when no model replied"),
        pytest.param({"chat": "y" * 301}, "2 to 300", id="too long"),
        pytest.param({"chat": "Twice.\nTwice."}, "twice", id="said twice"),
        pytest.param({"chat": "again " * 45}, "like a loop", id="a loop"),
        pytest.param({"chat": "bell \x07 rings"}, "cannot be printed", id="a control character"),
    ],
)
async def test_what_must_not_be_said_is_refused_with_its_scene(scenes: dict[str, str], words: str) -> None:
    book, world = Book(), World()
    async with Browser(world, phrases=book) as browser:
        await browser.login()
        refused = await browser.post("/phrases/save", seen_on="/phrases", reason="because", **typed(**scenes))
        preview = await browser.post("/phrases/preview", seen_on="/phrases", **typed(**scenes))
    assert refused.status_code == 422 and words in refused.text
    assert words in preview.text
    assert book.kept == [] and world.acted == []


async def test_a_scene_of_a_route_may_get_phrases_of_its_own() -> None:
    book = Book()
    async with Browser(World(), phrases=book) as browser:
        await browser.login()
        assert 'name="scene_billing"' in (await browser.get("/phrases?language=en")).text
        assert 'name="scene_structured"' not in (await browser.get("/phrases?language=en")).text
        fields = typed(billing="Billing is resting; please ask again soon.")
        await browser.post("/phrases/save", seen_on="/phrases", reason="new scene", **fields)
    assert book.current()["en"].scenes["billing"] == ("Billing is resting; please ask again soon.",)


async def test_an_older_version_is_brought_back_as_a_new_one() -> None:
    book, world = Book(), World()
    async with Browser(world, phrases=book) as browser:
        await browser.login()
        for at, text in enumerate(("The first wording.", "The second wording.")):
            fields = {**typed(chat=text), "seen": str(at)}
            await browser.post("/phrases/save", seen_on="/phrases", reason="wording", **fields)
        answer = await browser.post("/phrases/restore", seen_on="/phrases", id="1", reason="better after all")
        assert answer.status_code == 303
        assert (
            await browser.post("/phrases/restore", seen_on="/phrases", id="99", reason="because")
        ).status_code == 404
    assert len(book.kept) == 3 and book.current()["en"].scenes["chat"] == ("The first wording.",)
    assert world.acted[0].action == "restore_phrases"


async def test_a_viewer_reads_and_cannot_write() -> None:
    book = Book()
    async with Browser(World(), phrases=book) as browser:
        await browser.login("pma-viewer")
        page = (await browser.get("/phrases")).text
        assert "readonly" in page and 'name="reason"' not in page
        assert (await browser.post("/phrases/save", reason="because", **typed())).status_code == 403
    assert book.kept == []


def test_a_difference_keeps_the_lines_that_stay() -> None:
    assert [(line.kind, line.text) for line in difference("a\nb\nc", "a\nx\nc")] == [
        ("same", "a"), ("removed", "b"), ("added", "x"), ("same", "c"),
    ]  # fmt: skip


async def test_whoever_saves_second_overwrites_nobody() -> None:
    book, world = Book(), World()
    async with Browser(world, phrases=book) as first, Browser(world, phrases=book) as second:
        for browser in (first, second):
            await browser.login()
        mine, yours = typed(chat="The first wording."), typed(chat="The second wording.")
        assert (
            await first.post("/phrases/save", seen_on="/phrases?language=en", reason="first", **mine)
        ).status_code == 303
        answer = await second.post("/phrases/save", seen_on="/phrases?language=en", reason="second", **yours)
        assert answer.status_code == 409 and "Somebody saved these while you were writing" in answer.text
        assert "The second wording." in answer.text
        page = (await second.get("/phrases?language=en")).text
        assert 'name="seen" value="1"' in page
        again = await second.post(
            "/phrases/save", seen_on="/phrases?language=en", reason="second", **{**yours, "seen": "1"}
        )
        assert again.status_code == 303
    assert [one.reason for one in book.kept] == ["first", "second"]
