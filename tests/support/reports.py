"""A night of six models with something of everything, and its report: for the report's tests and for looking at it."""

from random import Random

from breaker.policy import BreakerPolicy
from breaker.seen import Tally
from detector import score
from monitor.nightly.compare import compare
from monitor.nightly.night import Night
from monitor.nightly.policy import NightlyPolicy
from monitor.nightly.records import Result, Run, Trigger
from monitor.nightly.shapes import Lure
from monitor.nightly.tally import by_model
from monitor.report.build import part, report_of
from monitor.report.document import Point, Report
from tests.support.evals import baseline

LOOPS = {
    "stuck": "当然可以，" + "好" * 180,
    "phrase_loop": "导航为您服务，" + "前方两百米右转，" * 22,
    "sentence_loop": "The old harbour grew slowly. " + "Ships came in every morning and left at night. " * 14,
    "paragraph_loop": "答案如下。\n"
    + "第一步先把材料准备齐全，检查一遍；第二步按顺序放好，注意留出间隙；第三步等待十分钟再看结果。\n" * 6,
    "format_runaway": "结果如下：\n" + "—" * 400,
}
HOSTILE = "<script>alert(1)</script> [x](http://evil) "
NIGHTS = {
    # model: (loops tonight, loops of the baseline, served name)
    "qwen-plus": (8, 9, "qwen-plus-2026-09"),
    "deepseek-chat": (52, 15, "deepseek-v4"),
    "glm-air": (27, 14, "glm-air"),
    "kimi-k3": (4, 22, "kimi-k3-0911"),
    "house-7b": (96, None, "house-7b"),
    "doubao-lite": (3, 4, "doubao-lite"),
}
POLICY = NightlyPolicy.model_validate(
    {"prices": {name: {"input": 0.8, "output": 2.0} for name in NIGHTS if name != "house-7b"}}
)
RUN = Run(
    id="nightly-2026-01-31", trigger=Trigger.NIGHTLY, started_at=1_769_799_600.0, suite="standard",
    suite_version="e2c8848a2433", detector_version="1", prompts=528, sampled=False, models=tuple(NIGHTS),
)  # fmt: skip


def night(seed: int = 3) -> Night:
    order, results = Random(seed), list[Result]()
    verdicts = {name: score(text) for name, text in LOOPS.items()}
    for model, (loops, _, served) in NIGHTS.items():
        ill = set(order.sample(range(528), loops))
        for number in range(528):
            lure, name = list(Lure)[number % 8], order.choices(list(LOOPS), [6, 3, 5, 3, 1])[0]
            bad, verdict = number in ill, verdicts[name]
            fault = "timeout_total" if not bad and order.random() < 0.01 else ""
            structured = lure is Lure.JSON and not fault
            right = structured and not bad and order.random() < 0.9
            results.append(
                Result(
                    run_id=RUN.id, model=model, prompt_id=f"p{number}", round=1, at=RUN.started_at + 2 * number,
                    lure=lure.value, language="zh" if number % 3 else "en", counted=not fault, ill=bad, fault=fault,
                    loop_class=name if bad else "", fingerprint=f"{verdict.fingerprint:016x}" if bad else "",
                    start=verdict.start, end=verdict.end, repeats=verdict.repeats,
                    step=("as_is" if order.random() < 0.8 else "unfenced") if right else "",
                    parsed=right if structured else None, schema_ok=right if structured else None,
                    content_ok=(right and order.random() < 0.9) if structured else None,
                    why_not="" if right or not structured else "no_json", served_model=served, tokens_in=60,
                    tokens_out=order.randint(80, 420), elapsed_s=order.uniform(1, 9), cost=0.0007,
                    asked=f"{HOSTILE if number % 2 else ''}请介绍一座城市的历史（{number}）" if bad else "",
                    reply=(LOOPS[name] if number % 2 else LOOPS[name] + "\n" + HOSTILE) if bad else "", reply_chars=900,
                )
            )  # fmt: skip
    tallies, breaker = by_model(results), BreakerPolicy()
    pinned = {
        model: baseline(
            model=model, n=524, k=k, classes={"sentence_loop": k - k // 3, "stuck": k // 3}, run_id="nightly-2026-01-10",
            served_model="deepseek-v3" if model == "deepseek-chat" else served, version=2,
            ill_prompts=tuple(f"p{number}" for number in range(k)),
        )
        for model, (_, k, served) in NIGHTS.items()
        if k is not None
    }  # fmt: skip
    comparisons = {
        model: compare(
            found.total,
            pinned[model].tally if model in pinned else None,
            breaker,
            min_judged=400,
            classes=found.classes,
            pinned_classes=pinned[model].classes if model in pinned else None,
        )
        for model, found in tallies.items()
    }
    return Night(run=RUN, results=tuple(results), tallies=tallies, comparisons=comparisons, baselines=pinned)


def report(seed: int = 3) -> Report:
    order, trend = Random(seed), list[Point]()
    for day in range(18, 31):
        for model, (loops, _, _) in NIGHTS.items():
            if model == "kimi-k3" and day in (22, 23):
                continue
            rate = loops / 528 if model != "deepseek-chat" or day > 28 else 0.03
            k = sum(order.random() < rate for _ in range(528))
            trend.append(Point(day=f"2026-01-{day}", model=model, total=part(Tally(528, k))))
    live = {"qwen-plus": Tally(182_334, 214), "deepseek-chat": Tally(96_120, 1_904)}
    return report_of(
        night(seed), POLICY, day="2026-01-31", timezone="Asia/Shanghai", now_s=1_769_805_000.0, trend=trend, live=live
    )
