"""An evaluation run on the pages: how each model did, and each answer, over a port in memory."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from console.report_ports import EvalModel, EvalResult, EvalRun, ReportDay
from tests.support.console_desk import Browser, World

CLEAN = EvalResult(
    model="acme/alpha", prompt_id="open-1", round=1, at=1.0, lure="open_question", language="en", counted=True, ill=False,
    fault="", loop_class="", rules=(), metrics={}, start=0, end=0, repeats=0, step="", parsed=None, schema_ok=None,
    content_ok=None, why_not="", served_model="alpha-1", finish_reason="stop", parameters={}, tokens_in=10, tokens_out=20,
    elapsed_s=1.5, cost=0.0, asked="", reply="", reply_chars=0,
)  # fmt: skip
LOOP = replace(
    CLEAN, prompt_id="open-2", ill=True, loop_class="stuck", repeats=40, start=3, end=9, reply_chars=900, rules=("stuck",),
    asked="What is <i>new</i>?", reply="<b>hahaha", metrics={"trigram_repeat": 0.9}, parameters={"top_p": 0.3},
)  # fmt: skip
WRONG = replace(
    CLEAN, model="beta", prompt_id="json-1", lure="json", parsed=True, schema_ok=False, content_ok=False, why_not="schema: x"
)  # fmt: skip
LATE = replace(CLEAN, model="beta", counted=False, fault="timeout_total")
ALL = (CLEAN, LOOP, WRONG, LATE)


class Kept:
    """`asked`: the filters that were handed down."""

    def __init__(self, results: Sequence[EvalResult] = ALL) -> None:
        self.kept = results
        self.asked: list[dict[str, Any]] = []

    async def days(self, limit: int) -> Sequence[ReportDay]:
        return [ReportDay(day="2026-01-31", at=1.0, run_id="r1")]

    async def html(self, day: str, language: str) -> str | None:
        return None

    async def runs(self, limit: int) -> Sequence[EvalRun]:
        return [EvalRun(id="r1", suite="standard 1", state="done", started_at=1.0, ended_at=9.0, detail="")]

    async def run(self, id: str) -> EvalRun | None:
        return (await self.runs(1))[0] if id == "r1" else None

    async def models(self, run_id: str) -> Sequence[EvalModel]:
        made = {
            "model": "beta", "asked": 2, "judged": 0, "ill": 0, "json_asked": 1, "json_valid": 0, "json_right": 0,
        }  # fmt: skip
        sick = {**made, "model": "acme/alpha", "judged": 2, "ill": 1, "json_asked": 0}
        return [EvalModel(**made), EvalModel(**sick)] if self.kept else []

    async def results(self, run_id: str, *, limit: int, offset: int, **wanted: Any) -> Sequence[EvalResult]:
        self.asked.append(wanted)
        return self.kept[offset : offset + limit]

    async def result(self, run_id: str, model: str, prompt_id: str, round: int) -> EvalResult | None:
        return next((o for o in self.kept if (o.model, o.prompt_id, o.round) == (model, prompt_id, round)), None)


async def test_a_run_shows_how_each_model_did_and_its_answers() -> None:
    kept = Kept()
    async with Browser(World(), reports=kept) as browser:
        await browser.login("pma-viewer")
        assert 'href="/reports/runs/r1"' in (await browser.get("/reports")).text
        text = (await browser.get("/reports/runs/r1")).text
        assert text.index("acme/alpha") < text.index("beta")  # the worst first
        assert "50.0\u00a0%" in text and "0 of 1" in text
        assert "✕ Stuck" in text and "× 40" in text and "Took too long" in text
        assert 'off its schema <small class="wrap"> x</small>' in text  # what is wrong with its JSON, in words
        assert "/reports/runs/r1/answer?model=acme%2Falpha&amp;prompt=open-2&amp;round=1" in text.replace(
            "acme/", "acme%2F"
        )
        await browser.get("/reports/runs/r1?only=all&model=beta&lure=json")
        await browser.get("/reports/runs/r1?only=everything")
        assert (await browser.get("/reports/runs/r9")).status_code == 404
    assert kept.asked == [
        {"model": "", "lure": "", "only": "ill"},
        {"model": "beta", "lure": "json", "only": ""},
        {"model": "", "lure": "", "only": "ill"},
    ]


async def test_one_answer_shows_the_prompt_and_the_loop_marked() -> None:
    async with Browser(World(), reports=Kept()) as browser:
        await browser.login("pma-viewer")
        text = (await browser.get("/reports/runs/r1/answer?model=acme/alpha&prompt=open-2&round=1")).text
        assert "&lt;b&gt;" in text and "<mark>hahaha</mark>" in text and "What is &lt;i&gt;new" in text
        assert "top_p" in text and "the reply had 900 characters" in text
        bare = (await browser.get("/reports/runs/r1/answer?model=beta&prompt=json-1&round=1")).text
        assert "not kept" in bare and "by its schema" in bare
        for wrong in ("model=beta&prompt=open-2&round=1", "model=beta&prompt=json-1&round=%C2%B2", ""):
            assert (await browser.get(f"/reports/runs/r1/answer?{wrong}")).status_code == 404
        assert (await browser.get("/reports/runs/r9/answer?model=beta&prompt=json-1&round=1")).status_code == 404


async def test_many_answers_come_page_by_page_and_whole_as_csv() -> None:
    many = [replace(LOOP, prompt_id=f"open-{at:03d}") for at in range(120)]
    async with Browser(World(), reports=Kept(many)) as browser:
        await browser.login("pma-viewer")
        first = (await browser.get("/reports/runs/r1")).text
        assert "open-049" in first and "open-050" not in first and "from=50" in first
        last = (await browser.get("/reports/runs/r1?from=100")).text
        assert "open-119" in last and "from=150" not in last
        assert "open-000" in (await browser.get("/reports/runs/r1?from=%C2%B2")).text  # a number to some, not to us
        assert len((await browser.get("/reports/runs/r1?csv=answers")).text.splitlines()) == 121
        assert "acme/alpha,2,2,1,0,0,0,0.5" in (await browser.get("/reports/runs/r1?csv=models")).text


async def test_a_run_without_answers_says_so() -> None:
    async with Browser(World(), reports=Kept([])) as browser:
        await browser.login("pma-viewer")
        assert "no answer yet" in (await browser.get("/reports/runs/r1")).text
