"""A model that its vendor refuses: loud where nobody answers, a line where others do, and nothing for a moment's wait."""

from dataclasses import replace

import pytest

from breaker.levels import Level
from console.fleet_ports import Refusal
from console.refusals import nobody_answers
from tests.support.console_desk import WORDS, Browser, World

REFUSED = Refusal(endpoint=0, status=401, waits=False, told_at=0.0, again_at=300.0)
WAITS = Refusal(endpoint=0, status=429, waits=True, told_at=0.0, again_at=20.0)


@pytest.mark.parametrize(
    ("refusals", "nobody"),
    [
        pytest.param([], False, id="nobody refuses"),
        pytest.param([REFUSED], True, id="the only endpoint refuses"),
        pytest.param([replace(REFUSED, others=1)], False, id="another endpoint is in use"),
        pytest.param([REFUSED, replace(WAITS, endpoint=1)], True, id="one refuses, the other waits"),
        pytest.param([WAITS], False, id="asked to wait for a moment"),
        pytest.param([replace(WAITS, again_at=60.0)], True, id="asked to wait for long"),
    ],
)
def test_nobody_answers_where_every_endpoint_is_left_alone(refusals: list[Refusal], nobody: bool) -> None:
    assert nobody_answers(refusals) is nobody


async def page(world: World, path: str, language: str = "en") -> str:
    async with Browser(world, language=language) as browser:
        await browser.login()
        return (await browser.get(path)).text


def refusing(world: World, **changed: object) -> World:
    now_s = world.now_s()
    told = replace(REFUSED, told_at=now_s - 10, again_at=now_s + 290, **changed)  # type: ignore[arg-type]
    world.refused = {"alpha": [told]}
    return world


@pytest.mark.parametrize("path", ["/", "/model?name=alpha"])
async def test_a_model_that_its_vendor_refuses_reads_as_refused_and_not_as_healthy(path: str) -> None:
    world = refusing(World())
    card = (await page(world, path)).split('class="card')[1].split("</article>")[0]
    assert card.startswith((" refused", " hero refused")) and "<b>Refused</b>" in card and "Healthy" not in card
    assert "Refused by the vendor (401), asked again at <time datetime=" in card
    assert "Check key, credit and model name" in card and "Too few replies" not in card
    chinese = await page(world, path, "zh")
    assert "被供应商拒绝（401），<time datetime=" in chinese and "</time> 再试" in chinese and "请核对密钥" in chinese


async def test_a_refused_model_stands_before_one_that_is_reduced() -> None:
    world = refusing(World())
    world.stands("acme/large", Level.REDUCED)
    text = await page(world, "/")
    assert "2 of 2 models need a look" in text
    assert text.index('class="card refused"') < text.index('class="card reduced"')
    assert 'class="signal refused"' in text.split('class="tally"')[1].split("</ul>")[0]


async def test_one_of_two_endpoints_refused_is_a_line_and_the_level_stays() -> None:
    text = await page(refusing(World(), others=1), "/")
    card = text.split('class="card healthy"')[1].split("</article>")[0]
    assert "1 of 2 endpoints refused" in card and "<b>Healthy</b>" in card
    assert "1 of 2 endpoints, the others are in use" in card and "Too few replies" in card


async def test_a_moments_wait_does_not_make_a_model_loud() -> None:
    world = World()
    world.refused = {"alpha": [replace(WAITS, told_at=world.now_s(), again_at=world.now_s() + 20)]}
    text = await page(world, "/")
    assert "All 2 models are healthy" in text and "Asked by the vendor to wait (429)" in text


async def test_an_open_model_that_is_refused_too_stays_open_and_says_both() -> None:
    world = refusing(World())
    world.stands("alpha", Level.OPEN)
    card = (await page(world, "/")).split('class="card open"')[1].split("</article>")[0]
    assert "L3 open" in card and "Refused by the vendor (401)" in card


async def test_refused_models_are_found_by_the_filter_and_taken_away_with_their_reason() -> None:
    world = refusing(World())
    text = await page(world, "/?level=refused")
    assert "alpha" in text and "acme/large" not in text.split("<main")[1]
    sheet = await page(world, "/?csv=fleet", "zh")
    row = next(line for line in sheet.splitlines() if line.startswith("alpha,"))
    assert ",healthy,refused," in row and "被供应商拒绝（401）" in row and "Z 再试" in row and "<time" not in row


def test_the_words_hold_in_both_languages() -> None:
    for t in WORDS.values():
        assert {"refusal.refused", "refusal.waits", "refusal.some", "refusal.again_at", "level.refused"} <= t.keys
