"""A fleet with two hours behind it, for looking at the console: counts in Redis, calls and failed replies in SQL.

Everything is drawn from one seed, so that two pictures of the same page differ only where the page was changed.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from breaker.window import Counts, FastRow, MinuteRow
from pointsman.assemble import Service
from router.ports import CallRow, FailedReply
from store.redis_windows import RedisCounts
from store.sql_calls import SqlCallLog

WRITER = "seeded000000"
LOOPS = (
    ("stuck", "好的，我来为您介绍。你！你！你！你！你！你！你！你！你！你！你！你！你！你！你！你！你！你！你！你！你！你！你！你！", 10),
    ("phrase_loop", "The harbour is quiet. and then and then and then and then and then and then and then and then and then", 22),
    ("sentence_loop", "今天天气不错。我们可以去公园散步。我们可以去公园散步。我们可以去公园散步。我们可以去公园散步。我们可以去公园散步。", 17),
    ("format_runaway", "| name | value |\n| --- | --- |\n| --- | --- |\n| --- | --- |\n| --- | --- |\n| --- | --- |\n| --- | --- |", 32),
    ("paragraph_loop", "<img src=x onerror=alert(1)> & \"quotes\" say it again. <img src=x onerror=alert(1)> & \"quotes\" say it again.", 52),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Patient:
    """One model's last two hours: requests a minute, and the share of repeats it ends with (rising over the last 40 minutes)."""

    name: str
    vendor: str
    per_min: int = 12
    bad: float = 0.004
    hard: float = 0.0
    weight: float = 1.0


FEW = (
    Patient(name="qwen-max", vendor="aliyun", per_min=22, bad=0.34),
    Patient(name="deepseek-chat", vendor="deepseek", per_min=30, bad=0.185),
    Patient(name="glm-4-plus", vendor="zhipu", per_min=18, bad=0.105),
    Patient(name="doubao-pro", vendor="volcengine", per_min=26, bad=0.012),
    Patient(name="moonshot-v1-32k", vendor="moonshot", per_min=9, bad=0.02, hard=0.03),
    Patient(name="gpt-4o-mini", vendor="openai", per_min=40, bad=0.002),
    Patient(name="vendor/tiny-speech", vendor="in-house", per_min=1, bad=0.0),
    Patient(name="claude-haiku", vendor="anthropic", per_min=14, bad=0.001),
)
HEALTHY = tuple(
    Patient(name=p.name, vendor=p.vendor, per_min=p.per_min, bad=min(p.bad, 0.006), hard=p.hard) for p in FEW
)


def many(count: int, rng: Random) -> tuple[Patient, ...]:
    """A large fleet: most well, one in twenty ill."""
    vendors = ("aliyun", "deepseek", "zhipu", "volcengine", "openai", "in-house")
    return tuple(
        Patient(
            name=f"{rng.choice(vendors)}/model-{at:03d}",
            vendor=rng.choice(vendors),
            per_min=rng.randrange(2, 40),
            bad=rng.choice((0.1, 0.2, 0.32)) if at % 20 == 0 else rng.uniform(0, 0.01),
        )
        for at in range(count)
    )


def settings_text(
    folder: Path, patients: Sequence[Patient], base_url: str = "http://127.0.0.1:9/v1", **more: Any
) -> str:
    """A pointsman.yaml (as JSON) with three routes over the patients."""
    models = {p.name: {"vendor": p.vendor, "endpoints": [{"base_url": base_url, "model": p.name}]} for p in patients}
    candidates = [{"model": p.name, "weight": p.weight} for p in patients]
    routes = {
        "assistant": {"candidates": candidates[: max(4, len(candidates) // 2)], "scene": "chat"},
        "cockpit": {"candidates": candidates[-max(4, len(candidates) // 2) :], "scene": "cockpit", "language": "zh"},
        "copy": {"candidates": candidates[1:4], "scene": "copywriting"},
    }
    whole = {"listen": "127.0.0.1:0", "admin_listen": "127.0.0.1:0", "data_dir": str(folder), "drain_s": 1}
    return json.dumps({**whole, "models": models, "routes": routes, **more})


async def seed_counts(service: Service, patients: Sequence[Patient], rng: Random, *, minutes: int = 125) -> None:
    """The last `minutes` minutes of every patient, as a replica that is no more would have left them."""
    counts, now_min = RedisCounts(service.link, service.clock), int(service.clock.now_s() // 60)
    for patient in patients:
        rows: list[MinuteRow] = []
        for minute in range(now_min - minutes, now_min):
            ill = patient.bad if minute >= now_min - 40 else patient.bad * 0.15
            whole = _counts(patient, ill, rng)
            rows.append(
                MinuteRow(model=patient.name, scope="", minute=minute, counts=whole, fingerprints=_marks(whole))
            )
            chat, rest = _split(whole)
            rows.append(MinuteRow(model=patient.name, scope="scene:chat", minute=minute, counts=chat))
            rows.append(MinuteRow(model=patient.name, scope="scene:cockpit", minute=minute, counts=rest))
            rows.append(MinuteRow(model=patient.name, scope="endpoint:0", minute=minute, counts=whole))
        await counts.flush(WRITER, rows, [FastRow(model=patient.name, bucket=now_min * 12, attempts=1)])


def _counts(patient: Patient, ill: float, rng: Random) -> Counts:
    n = max(0, round(rng.gauss(patient.per_min, patient.per_min**0.5)))
    k = sum(rng.random() < ill for _ in range(n))
    kinds = [rng.choice(("stuck", "sentence_loop", "sentence_loop", "phrase_loop", "format_runaway")) for _ in range(k)]
    hard = sum(rng.random() < patient.hard for _ in range(n))
    return Counts(
        judged=n,
        stuck=kinds.count("stuck"),
        phrase_loop=kinds.count("phrase_loop"),
        sentence_loop=kinds.count("sentence_loop"),
        format_runaway=kinds.count("format_runaway"),
        timeouts=hard,
        streams=n // 2,
        hard_stops=k // 6,
        tokens_in=n * 420,
        tokens_out=n * 260,
        suppressed_chars=k * 900,
        elapsed_ms=n * 2_300,
    )


def _marks(counts: Counts) -> Mapping[str, int]:
    return {f"{at:016x}": n for at, n in ((0xA1, counts.stuck), (0xB2, counts.sentence_loop)) if n}


def _split(whole: Counts) -> tuple[Counts, Counts]:
    chat = Counts(judged=whole.judged * 2 // 3, sentence_loop=whole.sentence_loop, phrase_loop=whole.phrase_loop)
    return chat, Counts(judged=whole.judged - chat.judged, stuck=whole.stuck, format_runaway=whole.format_runaway)


def log_call(
    log: SqlCallLog, rng: Random, patients: Sequence[Patient], request_id: str, at: float, *, ill: bool
) -> None:
    """One request, answered at once or after a looped reply of another model."""
    first, second = rng.sample(list(patients), 2)
    kind, text, onset = rng.choice(LOOPS)
    tries: list[Mapping[str, Any]] = []
    elapsed = rng.randrange(400, 6_000)
    fallback, first_text_ms = "none", rng.randrange(150, min(900, elapsed))
    if ill:
        bad_ms = rng.randrange(700, 4_000)
        tries.append(_try(first.name, 0, bad_ms, loop_class=kind, held=rng.randrange(20, 250)))
        elapsed += bad_ms
        fallback = rng.choice(("model", "splice"))
        if fallback == "model":  # nothing of the first reply was shown
            first_text_ms += bad_ms + 30
    tries.append(
        _try(second.name, tries[0]["elapsed_ms"] + 30 if tries else 0, elapsed - sum(t["elapsed_ms"] for t in tries))
    )
    log.add_call(
        CallRow(
            request_id=request_id,
            at=at,
            app=rng.choice(("car-assistant", "shop", "writer")),
            route=rng.choice(("assistant", "cockpit", "copy")),
            scene=rng.choice(("chat", "cockpit", "copywriting")),
            session=rng.randbytes(8).hex(),
            served_model=second.name,
            fallback=fallback,
            status=200,
            code="",
            verdict="clean",
            loop_class="",
            attempts=tuple(tries),
            metrics={"trigram_repeat": 0.04, "char_repeat": 0.02, "context_sim": 0.1, "cycle_count": 1.0},
            stream=ill or rng.random() < 0.5,
            elapsed_ms=elapsed,
            first_text_ms=first_text_ms,
            tokens_in=rng.randrange(50, 900),
            tokens_out=rng.randrange(40, 700),
        )
    )
    if ill:
        log.add_failed(
            FailedReply(
                request_id=request_id,
                at=at,
                model=first.name,
                scene="chat",
                fault="repetition_detected",
                loop_class=kind,
                rules=("cycle", "trigram"),
                metrics={"trigram_repeat": 0.91, "char_repeat": 0.44, "context_sim": 0.0, "cycle_count": 14.0},
                fingerprint=f"{0xA1 if kind == 'stuck' else 0xB2:016x}",
                onset=onset,
                excerpt=text,
            )
        )


def _try(model: str, begun_ms: int, elapsed_ms: int, *, loop_class: str = "", held: int = 0) -> Mapping[str, Any]:
    bad = bool(loop_class)
    return {
        "model": model,
        "endpoint": 0,
        "fault": "repetition_detected" if bad else None,
        "status": 200,
        "begun_ms": begun_ms,
        "elapsed_ms": max(1, elapsed_ms),
        "loop_class": loop_class,
        "held_chars": held,
        "suppressed_chars": held * 3,
    }
