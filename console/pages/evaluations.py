"""Daily reports, and evaluation runs down to each answer: how every model did, and what it said where it did badly."""

from collections.abc import Sequence

from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from console.csv_out import Sheet, records
from console.marked import marked_span
from console.report_ports import EvalModel, EvalResult, EvalRun, ReportDay, Reports
from console.site import Site, Visit, looks

DAYS, RUNS, PAGE = 62, 30, 50
ONLY = ("ill", "wrong", "unjudged", "all")
LURES = (
    "open_question", "long_text", "list_counting", "restatement", "json", "translation", "role_play", "code",
)  # fmt: skip
"""The kinds of prompt of the standard suite, in its order; another suite's kind is found by its model."""
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; sandbox"
"""A report is one file with its styles inside; it runs nothing and asks nobody, and is shown as if from elsewhere."""


def evaluation_pages(site: Site, reports: Reports) -> list[Route]:
    async def page(visit: Visit) -> Response:
        days, runs = list(await reports.days(visit.most(DAYS))), list(await reports.runs(visit.most(RUNS)))
        sheets = {
            "days": records(days, *ReportDay.__dataclass_fields__),
            "runs": records(runs, *EvalRun.__dataclass_fields__),
        }
        return visit.page("reports.html", days=days, runs=runs, sheets=sheets)

    async def day(visit: Visit) -> Response:
        found = await reports.html(visit.request.path_params["day"], visit.language)
        if found is None:
            raise KeyError(visit.request.path_params["day"])
        return HTMLResponse(found, headers={"content-security-policy": REPORT_POLICY})

    async def run(visit: Visit) -> Response:
        about = await _run(visit, reports)
        wanted, begin = _wanted(visit), _number(visit, "from")
        only = "" if wanted["only"] == "all" else wanted["only"]
        found = await reports.results(
            about.id, model=wanted["model"], lure=wanted["lure"], only=only, limit=visit.most(PAGE + 1), offset=begin
        )
        models = sorted(await reports.models(about.id), key=lambda one: (-(_ratio(one) or 0.0), one.model))
        return visit.page(
            "reports_run.html",
            run=about,
            models=[(one, _ratio(one)) for one in models],
            lures=LURES,
            only=ONLY,
            wanted=wanted,
            found=found[:PAGE],
            older={**wanted, "from": begin + PAGE} if len(found) > PAGE else None,
            sheets={"models": _models_sheet(models), "answers": records(found, *EvalResult.__dataclass_fields__)},
        )

    async def answer(visit: Visit) -> Response:
        about, model, prompt = await _run(visit, reports), visit.asked("model"), visit.asked("prompt")
        one = await reports.result(about.id, model, prompt, _number(visit, "round"))
        if one is None:
            raise KeyError(f"{model} {prompt}")
        return visit.page("reports_answer.html", run=about, one=one, marked=marked_span(one.reply, one.start, one.end))

    return [
        looks(site, "/reports", page),
        looks(site, "/reports/runs/{id}", run),
        looks(site, "/reports/runs/{id}/answer", answer),
        looks(site, "/reports/{day}", day),
    ]


async def _run(visit: Visit, reports: Reports) -> EvalRun:
    """The run of the address. Raises KeyError."""
    id_ = visit.request.path_params["id"]
    if (about := await reports.run(id_)) is None:
        raise KeyError(id_)
    return about


def _wanted(visit: Visit) -> dict[str, str]:
    wanted = {name: visit.asked(name) for name in ("model", "lure", "only")}
    return {**wanted, "only": wanted["only"] if wanted["only"] in ONLY else ONLY[0]}


def _number(visit: Visit, name: str) -> int:
    given = visit.asked(name, most=9)
    return int(given) if given.isascii() and given.isdecimal() else 0


def _ratio(one: EvalModel) -> float | None:
    return one.ill / one.judged if one.judged else None


def _models_sheet(models: Sequence[EvalModel]) -> Sheet:
    names = tuple(EvalModel.__dataclass_fields__)
    return Sheet(columns=(*names, "ratio"), rows=([*(getattr(one, n) for n in names), _ratio(one)] for one in models))
