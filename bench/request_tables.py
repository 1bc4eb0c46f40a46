"""The measured parts and plots of docs/performance.md."""

from collections.abc import Sequence

from bench.drawing import bars, lines
from bench.figures import Figures, ratio, shown
from bench.loads import LENGTHS, SIZES_KB
from bench.subjects import AS_SET_UP, SUBJECTS, Act

GATEWAYS = ("nginx", "tensorzero", "litellm", "pointsman")
CALM = 0.3
"""Cores that others may use before the figures are said to hold no longer."""
Row = Sequence[str]


def table(head: Row, rows: Sequence[Row]) -> list[str]:
    rule = ["---" if at == 0 else "---:" for at in range(len(head))]
    return [f"| {' | '.join(row)} |" for row in (head, rule, *rows)]


def request_parts(figures: Figures) -> dict[str, list[str]]:
    return {
        "machine": machine(figures),
        "gateways": gateways(figures),
        "marks": marks(figures),
        "surroundings": surroundings(figures),
        "lengths": lengths(figures),
        "memory": memory(figures),
        "window": window(figures),
        "profile": profile(figures),
        "start": start(figures),
    }


def machine(figures: Figures) -> list[str]:
    here = figures.kept.get("pointsman", {}).get("machine")
    if not here:
        return ["Not measured yet."]
    versions = {name: figures.kept.get(name, {}).get("version", "") for name in GATEWAYS}
    beside = ", ".join(f"{name} {version}" for name, version in versions.items() if version and name != "pointsman")
    worst = max(figures.foreign(subject.name) for subject in SUBJECTS)
    out = [
        f"Measured on {here['day']}: {here['processors']} processors ({here['processor']}), Python {here['python']}, "
        f"{here['libraries']}; {beside}. Others took at most {worst:.2f} of a core meanwhile."
    ]
    if worst > CALM or min(figures.kept.get(subject.name, {}).get("speed", 1.0) for subject in SUBJECTS) < 1:
        out += [
            "",
            "**The machine was busy, or the slices were cut short: no absolute figure here holds, ratios within a row hardly.**",
        ]
    return out


def gateways(figures: Figures) -> list[str]:
    head = (
        "µs of processor time", "request, 1 connection", "32", "128", "start of a stream", "event, each 5 ms, 8 streams",
        "32 streams", "event without pause", "added p50 of a request", "added p50 to the first text", "MB idle", "MB after",
        "errors",
    )  # fmt: skip
    rows: list[Row] = []
    for name in GATEWAYS:
        if not figures.has(name):
            why = figures.kept.get(name, {}).get("not_measured", "not in the last run")
            rows.append((name, f"NOT MEASURED: {why}", *[""] * (len(head) - 2)))
            continue
        rows.append(
            (
                name,
                *(shown(figures.request_us(name, load)) for load in ("whole c1", "whole c32", "whole c128")),
                shown(figures.start_us(name)),
                shown(figures.event_us(name), 1),
                shown(figures.of(name, "busy", "event_us"), 1),
                shown(figures.of(name, "burst", "cpu_us_event"), 1),
                shown(figures.added_us(name, "whole c1", "p50_us")),
                shown(figures.added_us(name, "first text", "ttft_p50_us")),
                shown(figures.resident_mb(name)),
                shown(figures.resident_mb(name, "rss_end_mb")),
                str(figures.errors(name)),
            )
        )
    notes = [f"- {name}: {note}" for name in GATEWAYS if (note := figures.kept.get(name, {}).get("note"))]
    least, most = (figures.of("pointsman", "whole c32", f"cpu_us_{end}") for end in ("least", "most"))
    spread = f"The slices of Pointsman's figure at 32 connections ran from {shown(least)} to {shown(most)} µs."
    return [*table(head, rows), "", *notes, "", spread]


def marks(figures: Figures) -> list[str]:
    """What PERFORMANCE.md asks for, and whether it holds."""
    us = figures.request_us
    rows = [
        ("request, 32 connections, µs", us("pointsman"), 600.0, 240.0),
        ("the same, over LiteLLM's", ratio(us("pointsman"), us("litellm")), 1 / 20, None),
        ("the same, over tensorzero's, which does not score", ratio(us("pointsman"), us("tensorzero")), None, 1.0),
        (
            "growth from 1 to 128 connections",
            ratio(us("pointsman", "whole c128"), us("pointsman", "whole c1")),
            1.3,
            1.1,
        ),
        ("start of a stream, µs", figures.start_us("pointsman"), 900.0, 300.0),
        ("event each 5 ms, µs", figures.event_us("pointsman"), 60.0, 45.0),
        ("the same, over nginx's", ratio(figures.event_us("pointsman"), figures.event_us("nginx")), 3.0, None),
        ("added p50 of a request, 1 connection, µs", figures.added_us("pointsman", "whole c1", "p50_us"), 700.0, 350.0),
        ("added p50 to the first text, µs", figures.added_us("pointsman", "first text", "ttft_p50_us"), 1500.0, 700.0),
        ("memory of an idle router, MB", figures.resident_mb("memory"), 130.0, 110.0),
        ("after 100,000 requests, over idle", _grown(figures), 1.1, None),
        ("request with Redis down, over Redis on", _against(figures, "redis", Act.REDIS_DOWN), 1.05, None),
        ("request with SQL down, over SQL on", _against(figures, "sql", Act.SQL_DOWN), 1.05, None),
    ]
    return table(
        ("mark", "measured", "first mark", "holds", "second mark", "holds"),
        [(name, _short(value), _short(first, ""), _holds(value, first), _short(second, ""), _holds(value, second)) for name, value, first, second in rows],
    )  # fmt: skip


def _short(value: float | None, missing: str = "not measured") -> str:
    if value is None:
        return missing
    return f"{value:,.0f}" if value >= 20 else f"{value:.3g}"


def _holds(value: float | None, mark: float | None) -> str:
    if mark is None:
        return ""
    return "–" if value is None else "yes" if value <= mark else "**no**"


def _grown(figures: Figures) -> float | None:
    return ratio(figures.resident_mb("memory", "rss_end_mb"), figures.resident_mb("memory"))


def _against(figures: Figures, subject: str, act: Act) -> float | None:
    return ratio(figures.request_us(subject, phase=act), figures.request_us(subject))


def surroundings(figures: Figures) -> list[str]:
    """Pointsman alone, each row a phase of a subject."""
    rows: list[Row] = []
    for subject in SUBJECTS:
        if subject.gateway != "pointsman" or "whole c32" not in subject.loads:
            continue
        for phase in (AS_SET_UP, *subject.acts):
            if not figures.has(subject.name):
                why = figures.kept.get(subject.name, {}).get("not_measured", "not in the last run")
                rows.append((f"{subject.name}, {phase}", f"NOT MEASURED: {why}", *[""] * 8))
                continue
            rows.append(
                (
                    _called(subject.name, phase),
                    "none given: embedded"
                    if subject.redis == "embedded"
                    else "down"
                    if phase == Act.REDIS_DOWN
                    else "on",
                    f"{subject.sql}{' down' if phase == Act.SQL_DOWN else ''}",
                    shown(figures.request_us(subject.name, phase=phase)),
                    shown(figures.request_us(subject.name, "structured c32", phase))
                    if "structured c32" in subject.loads
                    else "",
                    shown(figures.start_us(subject.name, phase)),
                    shown(figures.event_us(subject.name, phase), 1),
                    shown(figures.added_us(subject.name, "whole c1", "p50_us", phase)),
                    shown(figures.added_us(subject.name, "first text", "ttft_p50_us", phase)),
                    shown(figures.resident_mb(subject.name)),
                )
            )
    head = (
        "Pointsman", "Redis", "SQL", "request, 32 connections, µs", "structured", "start of a stream", "event",
        "added p50 of a request", "added p50 to the first text", "MB idle",
    )  # fmt: skip
    added = figures.added_us("pointsman", "structured c1", "p50_us")
    return [*table(head, rows), "", f"Added p50 of a structured request at one connection: {shown(added)} µs."]


def _called(subject: str, phase: str) -> str:
    whose = {"pointsman": "all on, 2 models", "scoring": "scoring on", "redis": "Redis on", "sql": "SQL on"}
    return str(phase) if phase != AS_SET_UP else whose.get(subject, subject)


def lengths(figures: Figures) -> list[str]:
    whole = [
        (f"whole, {kb} KB", shown(us := figures.request_us("lengths", f"whole {kb} KB")), shown(us and us / kb))
        for kb in SIZES_KB
    ]
    streamed = []
    for n in LENGTHS:
        load = f"stream of {n}"
        per = figures.of("lengths", load, "cpu_us_event")
        streamed.append((f"stream of {n} deltas", shown(figures.of("lengths", load, "cpu_us_stream")), shown(per, 1)))
    return table(("reply", "µs of processor time", "per KB, or per event"), [*whole, *streamed])


def memory(figures: Figures) -> list[str]:
    done = figures.of("memory", "100,000 requests", "requests")
    rows = [("router, idle, just started", shown(figures.resident_mb("memory")))]
    rows.append((f"after {shown(done)} requests", shown(figures.resident_mb("memory", "rss_end_mb"))))
    return table(("one worker, Redis beside it", "MB resident"), rows)


def window(figures: Figures) -> list[str]:
    rows = figures.kept.get("window", [])
    return table(
        ("rules of the gate", "window, characters", "µs per delta of 5 characters"),
        [(row["rules"], str(row["window"] or ""), shown(row["us_per_delta"], 2)) for row in rows],
    )


def profile(figures: Figures) -> list[str]:
    found = figures.kept.get("profile")
    if not found:
        return ["Not measured yet."]
    out: list[str] = []
    for kind, told in found["kinds"].items():
        rows = [(f"`{name}`", f"{100 * part:.1f} %") for name, part in told["files"][:16]]
        out += [f"{kind} ({told['samples']:,} samples):", "", *table(("part", "of the time"), rows), ""]
    return out[:-1]


def start(figures: Figures) -> list[str]:
    rows = figures.kept.get("start", [])
    return table(
        ("idle router (`serve --role router`, embedded Valkey, SQLite)", "s of processor time until it listens", "MB resident"),
        [(row["what"], shown(row["cpu_s"], 2), shown(row["resident_mb"])) for row in rows],
    )  # fmt: skip


# -- plots -----------------------------------------------------------------------------------------------------------


def request_plots(figures: Figures) -> dict[str, str]:
    out: dict[str, str] = {}
    found = [(name, us) for name in GATEWAYS if (us := figures.request_us(name))]
    if found:
        out["gateways"] = bars(found, title="A plain request at 32 connections", unit="µs of processor time, log scale")
    sizes = [(float(kb), us) for kb in SIZES_KB if (us := figures.request_us("lengths", f"whole {kb} KB"))]
    streamed = [
        (n / 4, us) for n in LENGTHS if (us := figures.of("lengths", f"stream of {n}", "cpu_us_stream"))
    ]  # a delta and its frame are about 0.25 KB
    if sizes and streamed:
        out["reply-length"] = lines(
            {"whole reply": sizes, "stream, 0.25 KB an event": streamed},
            title="What a reply costs by its length", across="KB", up="µs of processor time", log_y=True,
        )  # fmt: skip
    models = {
        name: [
            (float(count), value)
            for count, subject in ((1, "1 model"), (2, "redis"), (10, "10 models"), (100, "100 models"))
            if (value := read(subject)) is not None
        ]
        for name, read in (("request, 32 connections", figures.request_us), ("start of a stream", figures.start_us))
    }
    if all(models.values()):
        out["models"] = lines(
            models, title="What a request costs by models of its route", across="models", up="µs of processor time"
        )
    rows = figures.kept.get("window", [])
    classic = [(float(row["window"]), row["us_per_delta"]) for row in rows if row["window"]]
    if classic:
        flat = next(row["us_per_delta"] for row in rows if not row["window"])
        series = {"classic rules": classic, "default rules": [(x, flat) for x, _ in classic]}
        out["window"] = lines(
            series, title="The gate by its window", across="characters searched", up="µs a delta of 5 characters"
        )
    return out


def short_table(figures: Figures) -> str:
    """For the terminal, after a run."""
    return "\n".join(["", *gateways(figures), "", *surroundings(figures), "", *marks(figures)])
