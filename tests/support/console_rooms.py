"""What the joined pages show and do, in memory: incidents, settings, gray releases, complaints, reports, switches."""

from collections.abc import Mapping, Sequence
from typing import Any

from base.switch import Switch
from breaker.gray import GrayRelease, GrayStage
from console.alerts_ports import ChannelRow, DeliveryRow, EventRow, IncidentRow, Said, SilenceAsked, SilenceRow
from console.config_ports import OnDisk, ProcessConfig, Reloaded, Running
from console.gray_api import GrayRefused
from console.report_ports import EvalRun, ReportDay
from monitor.gray_report import report
from tests.support.console_desk import World

INCIDENT = IncidentRow(
    id=7, ref="A7", kind="transition", subject="<i>alpha</i>", model="alpha", scene="", severity="critical",
    peak_severity="critical", stage="open", state="firing", muted="", opened_at=1_699_999_000.0,
    updated_at=1_699_999_000.0, resolved_at=None, peak_ratio=0.34, samples=120, acked_at=None, acked_by="",
    announced=True, told_at=1_699_999_010.0, escalation=0, moment=False,
    facts={"ratio": 0.34, "level": "open", "epoch": 3, "sample": "<b>again</b> again", "top_class": "stuck"},
)  # fmt: skip


class Room:
    """Incidents, silences and channels; what was done to them."""

    def __init__(self) -> None:
        self.rows, self.done, self.over = [INCIDENT], [], False  # type: ignore[var-annotated]
        self.asked: list[dict[str, Any]] = []
        self.happened = [
            EventRow(at=1.0, event="fired", actor="", text=""),
            EventRow(at=2.0, event="noted", actor="Li", text="<u>hm</u>"),
        ]

    def kinds(self) -> Sequence[str]:
        return ["transition", "gray"]

    def known(self, field: str) -> Sequence[str] | None:
        return {"kind": self.kinds(), "model": ["alpha", "beta"], "scene": ["qa"]}.get(field)

    def channel_names(self) -> Sequence[str]:
        return ["ops"]

    async def incidents(self, **asked: Any) -> Sequence[IncidentRow]:
        self.asked.append(asked)
        return self.rows

    async def incident(self, id: int) -> IncidentRow | None:
        return next((row for row in self.rows if row.id == id), None)

    async def events(self, id: int) -> Sequence[EventRow]:
        return self.happened

    async def deliveries(self, **_: Any) -> Sequence[DeliveryRow]:
        return [
            DeliveryRow(
                id=1, notice="n", channel="ops", model="alpha", kind="transition", why="first", severity="critical",
                state="failed", tries=3, detail="errcode 93000", created_at=1.0, due_at=1.0, sent_at=None,
            )
        ]  # fmt: skip

    async def _do(self, what: str, id: int, actor: str, text: str) -> bool:
        self.done.append((what, id, actor, text))
        return not self.over

    async def ack(self, id: int, actor: str, text: str) -> bool:
        return await self._do("ack", id, actor, text)

    async def unack(self, id: int, actor: str, text: str) -> bool:
        return await self._do("unack", id, actor, text)

    async def note(self, id: int, actor: str, text: str) -> bool:
        return await self._do("note", id, actor, text)

    async def close(self, id: int, actor: str, text: str) -> bool:
        return await self._do("close", id, actor, text)

    async def silences(self, *, past: bool = False) -> Sequence[SilenceRow]:
        return [
            SilenceRow(
                id=3, state="active", kind="", model="alpha", subject="", scene="", author="Li", reason="vendor works",
                starts_at=1.0, ends_at=2.0, ended_by="",
            )
        ]  # fmt: skip

    async def silence(self, asked: SilenceAsked) -> SilenceRow:
        self.done.append(("silence", asked.minutes, asked.author, asked.model))
        return (await self.silences())[0]

    async def unsilence(self, id: int, actor: str) -> bool:
        return await self._do("unsilence", id, actor, "")

    async def channels(self) -> Sequence[ChannelRow]:
        return [
            ChannelRow(
                name="ops", kind="wecom", language="zh", backup="", state="broken", detail="93000", since=1.0,
                posts_last_minute=0, waiting=2,
            )
        ]  # fmt: skip

    async def test(self, channel: str, actor: str) -> Said:
        return Said(result="config", detail="errcode 93000", took_s=0.1)


class Settings:
    def __init__(self) -> None:
        self.file, self.mistakes, self.reloads = "models:\n  a: 1\n", (), 0  # type: ignore[var-annotated]

    def running(self) -> Running:
        return Running(hash="aaaa", since=1.0, file="pointsman.yaml", text="models:\n  a: 2\n")

    async def on_disk(self) -> OnDisk:
        return OnDisk(text=self.file, mistakes=self.mistakes)

    async def everywhere(self) -> Sequence[ProcessConfig]:
        return [ProcessConfig(boot_id="b1", role="router", hash="bbbb", at=1.0)]

    async def reload(self) -> Reloaded:
        self.reloads += 1
        return Reloaded(hash="cccc", mistakes=self.mistakes)


class Releases:
    def __init__(self) -> None:
        self.release = GrayRelease(model="alpha", candidate="acme/large", version="v2", id="g1", share=0.05)
        self.done: list[tuple[str, ...]] = []
        self.refuses = False

    def models(self) -> Sequence[str]:
        return ["alpha", "acme/large"]

    async def standing(self) -> Sequence[GrayRelease]:
        return [self.release]

    async def history(self, model: str | None, limit: int) -> Sequence[GrayRelease]:
        return [self.release.changed(stage=GrayStage.ROLLED_BACK)]

    async def find(self, id: str) -> GrayRelease | None:
        return self.release if id == "g1" else None

    def report(self, release: GrayRelease) -> Mapping[str, Any]:
        return report(release)

    async def start(self, model: str, candidate: str, **more: Any) -> GrayRelease:
        return await self._do("start", model, candidate, more["actor"])

    async def _do(self, *what: str) -> GrayRelease:
        if self.refuses:
            raise GrayRefused("<b>nothing</b> is under way")
        self.done.append(what)
        return self.release

    async def step(self, model: str, actor: str, note: str) -> GrayRelease:
        return await self._do("step", model, actor, note)

    async def stop(self, model: str, actor: str, note: str) -> GrayRelease:
        return await self._do("stop", model, actor, note)

    pause = resume = promote = step


class Complaints:
    def __init__(self, listed: bool = True) -> None:
        self.is_listed = listed

    def models(self) -> Sequence[str]:
        return ["alpha"]

    async def listed(self) -> Sequence[Mapping[str, Any]]:
        one = {
            "model": "alpha", "day": "2026-01-31", "users": 7, "complaints": 9, "threshold": 5, "clean_days": 1,
            "samples": [{"note": "<b>says it twice</b>", "kind": "repeat", "request_id": "pm-1"}],
        }  # fmt: skip
        return [one] if self.is_listed else []

    async def history(self, model: str | None, limit: int) -> Sequence[Mapping[str, Any]]:
        return [{"model": "alpha", "day": "2026-01-30", "users": 6, "left_at": None, "left_why": "", "left_by": ""}]

    async def dismiss(self, model: str, actor: str, why: str) -> bool:
        was, self.is_listed = self.is_listed, False
        return was


class Found:
    async def findings(self, *_: Any) -> Sequence[dict[str, Any]]:
        return [
            {
                "id": 1, "at": 1.0, "kind": "hourly", "model": "alpha", "scene": "", "standing": True,
                "numbers": {"ratio": 0.12, "growth": 2.0}, "facts": {},
            },
            {
                "id": 2, "at": 2.0, "kind": "model_changed", "model": "alpha", "scene": "", "standing": False,
                "numbers": {}, "facts": {"was": "gpt-1 (fp1)", "is": "<gpt-2>"},
            },
        ]  # fmt: skip


class Kept:
    async def days(self, limit: int) -> Sequence[ReportDay]:
        return [ReportDay(day="2026-01-31", at=1.0, run_id="r1")]

    async def html(self, day: str, language: str) -> str | None:
        return f"<style>b {{}}</style>{language}" if day == "2026-01-31" else None

    async def runs(self, limit: int) -> Sequence[EvalRun]:
        return [EvalRun(id="r1", suite="standard 1", state="failed", started_at=1.0, ended_at=None, detail="<b>x</b>")]

    async def run(self, id: str) -> EvalRun | None:
        return None


class Levers:
    def __init__(self) -> None:
        self.set_to: list[Switch] = []
        self.at = World().now_s()

    def routes(self) -> Sequence[str]:
        return ["chat"]

    def now_s(self) -> float:
        return self.at

    async def switches(self) -> Sequence[Switch]:
        return self.set_to

    async def set(self, switch: Switch) -> None:
        self.set_to = [switch]


def everything() -> dict[str, Any]:
    """All parts that a console may be joined with; `World` and `Browser` have the others."""
    return {
        "alerts": Room(), "configuration": Settings(), "grays": Releases(), "anomalies": Complaints(),
        "watched": Found(), "reports": Kept(), "switches": Levers(),
    }  # fmt: skip
