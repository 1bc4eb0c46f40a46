"""Saved phrases over SQLite and PostgreSQL, and how every replica comes to say them."""

from random import Random

from sqlalchemy.ext.asyncio import AsyncEngine

from fallback_phrases.catalog import load, parse
from fallback_phrases.writing import written
from pointsman.phrases import KeptPhrases, joined
from store.sql_phrases import SqlPhrases

NEW = parse('language = "en"\nclosing = ["The end."]\n[scenes]\ndefault = ["Please ask again."]\n', "test")


class Deps:
    """What a swap changes."""

    catalog = load()


async def test_the_newest_version_of_a_language_is_in_force_on_every_replica(engine: AsyncEngine) -> None:
    store = SqlPhrases(engine)
    here, there = (KeptPhrases(deps=Deps(), store=store) for _ in range(2))  # type: ignore[arg-type]
    await here.refresh()
    assert here.deps.catalog.languages == load().languages
    await store.save("en", written(NEW).replace("again", "later"), "Li", "first", 1.0)
    await store.save("en", written(NEW), "Li", "second", 2.0)
    for replica in (here, there):
        await replica.refresh()
        assert replica.deps.catalog.pick("en", "chat", Random(1)) == "Please ask again."
        assert replica.deps.catalog.languages["zh"] == load().languages["zh"]
    assert [v.reason for v in await store.versions("en", 10)] == ["second", "first"]
    assert await store.version(99) is None


async def test_a_version_that_cannot_be_read_leaves_the_shipped_ones(engine: AsyncEngine) -> None:
    store = SqlPhrases(engine)
    await store.save("en", "no = toml = at all", "Li", "by hand", 1.0)
    assert joined((await store.newest()).values()).languages["en"] == load().languages["en"]


async def test_a_version_from_before_there_were_sentences_for_no_reply_says_the_shipped_ones(
    engine: AsyncEngine,
) -> None:
    store = SqlPhrases(engine)
    await store.save("en", written(NEW), "Li", "before", 1.0)
    english = joined((await store.newest()).values()).languages["en"]
    assert (english.scenes, english.unreachable) == (NEW.scenes, load().languages["en"].unreachable)


async def test_nothing_new_is_nothing_read(engine: AsyncEngine) -> None:
    store = SqlPhrases(engine)
    saved = await store.save("en", written(NEW), "Li", "first", 1.0)
    assert await store.newest(saved) == {}
