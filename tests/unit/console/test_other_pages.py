"""Settings, gray releases, complaints, reports and incidents on the pages, over ports in memory."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from base.switch import Switch, SwitchMode
from breaker.gray import GrayRelease, GrayStage
from console.alerts_ports import ChannelRow, DeliveryRow, EventRow, IncidentRow, Said, SilenceRow
from console.config_ports import OnDisk, ProcessConfig, Reloaded, Running
from console.gray_api import GrayRefused
from console.pages.settings import difference
from console.report_ports import EvalRun, ReportDay
from monitor.gray_report import report
from tests.support.console_desk import Browser, World

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

    def kinds(self) -> Sequence[str]:
        return ["transition", "gray"]

    def channel_names(self) -> Sequence[str]:
        return ["ops"]

    async def incidents(self, **asked: Any) -> Sequence[IncidentRow]:
        self.asked.append(asked)
        return self.rows

    async def incident(self, id: int) -> IncidentRow | None:
        return next((row for row in self.rows if row.id == id), None)

    async def events(self, id: int) -> Sequence[EventRow]:
        return [
            EventRow(at=1.0, event="fired", actor="", text=""),
            EventRow(at=2.0, event="noted", actor="Li", text="<u>hm</u>"),
        ]

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

    async def silence(self, **fields: Any) -> SilenceRow:
        self.done.append(("silence", fields["minutes"], fields["author"], fields["model"]))
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


async def test_an_incident_is_listed_shown_in_words_and_taken() -> None:
    room, world = Room(), World()
    async with Browser(world, alerts=room) as browser:
        await browser.login("pma-operator", "Li")
        text = (await browser.get("/incidents")).text
        assert "A7" in text and "critical" in text and "refuses us" in text and "vendor works" in text
        assert (await browser.get("/incidents/99999999999999999999999")).status_code == 404
        one = (await browser.get("/incidents/7")).text
        assert "Level moved: &lt;i&gt;alpha" in one and "L3 open" in one and "Stuck" in one and "epoch" not in one
        assert (
            "&lt;b&gt;again" in one
            and "&lt;u&gt;hm" in one
            and "errcode 93000" in one
            and "/runbooks/transition" in one
        )
        answer = await browser.post("/incidents/7/ack", seen_on="/incidents/7")
        assert answer.headers["location"] == "/incidents/7?said=incident_ack"
    assert room.done == [("ack", 7, "Li", "")] and world.acted[0].action == "ack_incident"


async def test_notes_closing_and_giving_back_need_words() -> None:
    room = Room()
    async with Browser(World(), alerts=room) as browser:
        await browser.login()
        for act in ("note", "close", "unack"):
            assert (await browser.post(f"/incidents/7/{act}", seen_on="/incidents/7", reason="")).status_code == 422
        await browser.post("/incidents/7/note", seen_on="/incidents/7", reason="vendor called")
        await browser.post("/incidents/7/close", seen_on="/incidents/7", reason="was a drill")
    assert [what for what, *_ in room.done] == ["note", "close"]


async def test_whoever_comes_second_is_told_that_it_is_over() -> None:
    room = Room()
    room.over = True
    async with Browser(World(), alerts=room) as browser:
        await browser.login()
        answer = await browser.post("/incidents/7/ack", seen_on="/incidents/7")
    assert answer.status_code == 409 and "over already" in answer.text


async def test_silence_names_what_or_everything_and_ends_early() -> None:
    room = Room()
    async with Browser(World(), alerts=room) as browser:
        await browser.login("pma-operator", "Li")
        refused = await browser.post("/silences/make", seen_on="/incidents", reason="works", minutes="30")
        assert refused.status_code == 422 and "everything" in refused.text
        await browser.post("/silences/make", seen_on="/incidents", reason="works", minutes="30", model="alpha")
        await browser.post("/silences/end", seen_on="/incidents", id="3")
    assert room.done == [("silence", 30.0, "Li", "alpha"), ("unsilence", 3, "Li", "")]


async def test_a_robot_is_tested_and_its_answer_shown() -> None:
    async with Browser(World(), alerts=Room()) as browser:
        await browser.login()
        answer = await browser.post("/channels/test", seen_on="/incidents", channel="ops")
        assert "config" in answer.text and "errcode 93000" in answer.text
        assert (await browser.post("/channels/test", seen_on="/incidents", channel="nowhere")).status_code == 422


async def test_incidents_are_filtered_and_come_as_csv() -> None:
    room = Room()
    async with Browser(World(), alerts=room) as browser:
        await browser.login()
        await browser.get("/incidents?state=over&model=alpha&kind=gray&before=5")
        assert "A7" in (await browser.get("/incidents?csv=incidents")).text
        assert (await browser.get("/incidents/8")).status_code == 404
    assert room.asked[0] == {"open": False, "model": "alpha", "kind": "gray", "before": 5.0, "limit": 101}


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


async def test_the_file_is_compared_with_what_is_in_force_and_taken_by_an_administrator() -> None:
    settings, world = Settings(), World()
    async with Browser(world, configuration=settings) as browser:
        await browser.login()
        text = (await browser.get("/config")).text
        assert "<del>  a: 2</del>" in text and "<ins>  a: 1</ins>" in text
        assert "Not every process runs by the same settings" in text
        assert (await browser.post("/config/reload", seen_on="/config", reason="new model")).status_code == 303
        settings.mistakes = ("line 3: <b>models</b>: is missing",)
        refused = await browser.post("/config/reload", seen_on="/config", reason="try again")
        assert refused.status_code == 422 and "&lt;b&gt;models" in refused.text
        assert "cannot be taken as it is" in (await browser.get("/config")).text
    assert settings.reloads == 2 and [act.action for act in world.acted] == ["reload", "reload"]


async def test_an_operator_takes_no_settings() -> None:
    settings = Settings()
    async with Browser(World(), configuration=settings) as browser:
        await browser.login("pma-operator")
        assert "/config/reload" not in (await browser.get("/config")).text
        assert (await browser.post("/config/reload", reason="because")).status_code == 403
    assert settings.reloads == 0


def test_no_difference_is_nothing() -> None:
    assert difference("a\n", "a\n") == []


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


async def test_a_gray_release_shows_both_arms_and_takes_orders() -> None:
    grays, world = Releases(), World()
    async with Browser(world, grays=grays) as browser:
        await browser.login("pma-operator", "Li")
        text = (await browser.get("/gray")).text
        assert "alpha → acme/large" in text and "5\u00a0% of the sessions" in text and "rolled back" in text
        assert (await browser.get("/gray/release?id=g1")).status_code == 200
        assert (await browser.get("/gray/release?id=g9")).status_code == 404
        fields = {"model": "alpha", "reason": "looks bad"}
        assert (await browser.post("/gray/command", seen_on="/gray", word="stop", **fields)).status_code == 303
        assert (await browser.post("/gray/command", seen_on="/gray", word="explode", **fields)).status_code == 422
        started = await browser.post("/gray/start", seen_on="/gray", candidate="acme/large", version="v3", **fields)
        assert started.headers["location"] == "/gray?said=gray_started"
        grays.refuses = True
        refused = await browser.post("/gray/command", seen_on="/gray", word="step", **fields)
        assert refused.status_code == 409 and "&lt;b&gt;nothing" in refused.text
    assert grays.done == [("stop", "alpha", "Li", "looks bad"), ("start", "alpha", "acme/large", "Li")]
    assert [act.action for act in world.acted] == ["gray_step", "gray_start", "gray_stop"]


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


async def test_an_anomaly_is_shown_with_samples_and_dismissed_once() -> None:
    world = World()
    async with Browser(world, anomalies=Complaints(), watched=Found()) as browser:
        await browser.login("pma-operator")
        text = (await browser.get("/feedback")).text
        assert "7 users complained" in text and "&lt;b&gt;says it twice" in text and "id=pm-1" in text
        assert "Ratio 12.0\u00a0%" in text
        # The model's own timeline has them too, a vendor's silent change among them.
        model = (await browser.get("/model?name=alpha")).text
        for page in (text, model):
            assert "gpt-1 (fp1)" in page and "&lt;gpt-2&gt;" in page and "Ratio 12.0\u00a0%" in page
        fields = {"model": "alpha", "reason": "a drill"}
        assert (await browser.post("/feedback/dismiss", seen_on="/feedback", **fields)).status_code == 303
        assert (await browser.post("/feedback/dismiss", seen_on="/feedback", **fields)).status_code == 409
        assert "2026-01-30" in (await browser.get("/feedback?csv=anomalies")).text
    assert world.acted[0].action == "dismiss_anomaly"


class Kept:
    async def days(self, limit: int) -> Sequence[ReportDay]:
        return [ReportDay(day="2026-01-31", at=1.0, run_id="r1")]

    async def html(self, day: str, language: str) -> str | None:
        return f"<style>b {{}}</style>{language}" if day == "2026-01-31" else None

    async def runs(self, limit: int) -> Sequence[EvalRun]:
        return [EvalRun(id="r1", suite="standard 1", state="failed", started_at=1.0, ended_at=None, detail="<b>x</b>")]


async def test_reports_are_listed_and_shown_where_they_can_run_nothing() -> None:
    async with Browser(World(), reports=Kept()) as browser:
        await browser.login("pma-viewer")
        text = (await browser.get("/reports")).text
        assert "2026-01-31" in text and "✕ failed" in text and "&lt;b&gt;x" in text
        shown = await browser.get("/reports/2026-01-31")
        assert shown.text.endswith("en") and "sandbox" in shown.headers["content-security-policy"]
        assert "script-src 'self'" not in shown.headers["content-security-policy"]
        assert (await browser.get("/reports/2020-01-01")).status_code == 404


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


async def test_a_switch_is_turned_with_an_end_told_on_the_fleet_page_and_turned_back() -> None:
    levers, world = Levers(), World()
    async with Browser(world, switches=levers) as browser:
        await browser.login("pma-operator", "Li")
        fields = {"route": "", "reason": "<b>false</b> alarms", "minutes": "30"}
        answer = await browser.post("/switches/turn", seen_on="/switches", mode="observe", **fields)
        assert answer.headers["location"] == "/switches?said=switched"
        (switch,) = levers.set_to
        assert (switch.route, switch.mode, switch.until) == ("", SwitchMode.OBSERVE, levers.at + 1_800)
        fleet = (await browser.get("/")).text
        assert "The whole fleet: Detector only observes, for another 30 min, by Li: &lt;b&gt;false" in fleet
        await browser.post("/switches/turn", seen_on="/switches", mode="normal", route="", reason="all well")
        assert "Detector only observes, for" not in (await browser.get("/")).text
        for wrong in ({"route": "nowhere", "mode": "bypass"}, {"route": "chat", "mode": "off"}):
            refused = await browser.post("/switches/turn", seen_on="/switches", reason="because", **wrong)
            assert refused.status_code == 422
    assert [act.target for act in world.acted] == ["fleet", "fleet"]


@pytest.mark.parametrize("language", ["zh", "en"])
async def test_every_joined_page_is_whole_in_both_languages(language: str) -> None:
    parts = {
        "alerts": Room(), "configuration": Settings(), "grays": Releases(), "anomalies": Complaints(),
        "watched": Found(), "reports": Kept(), "switches": Levers(),
    }  # fmt: skip
    async with Browser(World(), language=language, **parts) as browser:
        await browser.login()
        for path in ("/incidents", "/incidents/7", "/config", "/gray", "/feedback", "/reports", "/switches"):
            answer = await browser.get(path)
            assert answer.status_code == 200, path
            assert " style=" not in answer.text and "{" not in answer.text.split("<main")[1].split("<dialog")[0], path
