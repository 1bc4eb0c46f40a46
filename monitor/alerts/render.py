"""What a message says: model, level and what was done, figures against the line in force, since when, why, what next.

In:  the body of a letter, as the notifier filed it.  Out: a Message in the channel's language.
The values given to the templates are in docs/alerts.md; the lines come from the policy in force.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from base.clock import Clock
from monitor.alerts.alert import AlertKind, Severity
from monitor.alerts.channel import Language, Mention, Message
from monitor.alerts.incident import RANKS
from monitor.alerts.templates import Templates
from monitor.alerts.words import LEVELS, REASONS, said

log = logging.getLogger(__name__)
ICONS = {Severity.CRITICAL: "🔴", Severity.WARN: "🟠", Severity.INFO: "🔵"}
OVER = "✅"
LOUDNESS = (Mention.NOBODY, Mention.ON_CALL, Mention.ALL)
DIGEST_BYTES = 3_200
"""Of a digest's lines: with title and links they keep within the 4,096 bytes of the smallest robot; the rest is counted."""
LINE_BYTES = 3  # the mark of a quote, and the line's end
MORE: Mapping[Language, str] = {"zh": "查看全文", "en": "Read on"}
BROKEN: Mapping[Language, str] = {
    "zh": "> 自定义模板 {kind}.md 有误，已改用内置模板：{wrong}",
    "en": "> Your template {kind}.md is broken, the packaged one stands in: {wrong}",
}


class Renderer:
    """`link_base`: where the console is reached ("": messages go without links). `ack_link`: incident id → URL.

    `policy`: the breaker's numbers by name, for what comes next.
    """

    def __init__(
        self,
        templates: Templates,
        clock: Clock,
        policy: Mapping[str, Any],
        *,
        link_base: str = "",
        ack_link: Callable[[int], str] | None = None,
        listed: int = 10,
    ) -> None:
        self._templates, self._clock, self._policy = templates, clock, policy
        self._link_base, self._ack_link, self._listed = link_base.rstrip("/"), ack_link, listed

    def message(self, body: Mapping[str, Any], language: Language) -> Message:
        """The message of one letter. Raises KeyError, TypeError or ValueError for a body that is none."""
        values = self.values(body, language)
        kind = values["kind"]
        text, wrong = self._templates.text(kind, language, values)
        if wrong:
            log.error("alert template %s/%s.md: %s", language, kind, wrong)
            text += "\n" + BROKEN[language].format(kind=kind, wrong=wrong.replace("<", "‹"))
        step = int(body.get("step", 0))
        return Message(
            title=_title(text),
            markdown=text,
            link=values["link"],
            more=MORE[language],
            severity=Severity(body["severity"]),
            mention=Mention.ALL if step >= 3 else Mention.ON_CALL if step else Mention.NOBODY,
            data=body,
        )

    def digest(self, bodies: Sequence[Mapping[str, Any]], language: Language) -> Message:
        """One message that stands for several: their titles, the gravest first, each with its alert's short name; as loud as
        the loudest of them."""
        bodies = sorted(bodies, key=lambda body: -RANKS[Severity(body["severity"])])
        messages = [self.message(body, language) for body in bodies]
        items = []
        for body, one in zip(bodies, messages, strict=True):
            ref = self._ref(body)
            items.append(f"{one.title} `{ref}`" if ref else one.title)
        shown = _within(items, DIGEST_BYTES)
        severity = max((one.severity for one in messages), key=RANKS.__getitem__)
        severity = max(Severity.WARN, severity, key=RANKS.__getitem__)
        lead = {**bodies[0]["lead"], "kind": AlertKind.DIGEST.value, "moment": True, "id": 0, "model": "", "scene": ""}
        facts = {"count": len(items), "items": items[:shown], "more": len(items) - shown}
        lead |= {"facts": facts, "severity": severity.value}
        body = {**bodies[0], "lead": lead, "firing": [lead], "over": [], "firing_count": 1, "over_count": 0}
        quiet: Mapping[str, Any] = {**body, "severity": severity.value, "step": 0, "held": 0, "dossier": {}}
        return replace(
            self.message(quiet, language), mention=max((one.mention for one in messages), key=LOUDNESS.index)
        )

    def values(self, body: Mapping[str, Any], language: Language) -> dict[str, Any]:
        """What a template is given."""
        lead, facts = body["lead"], body["lead"].get("facts") or {}
        dossier = body.get("dossier") or {}
        over = not body["firing"] and not lead["moment"]
        until = lead["resolved_at"] if over else body["at"]
        members = [*body["firing"], *body["over"]]
        others = [self._other(one, language) for one in members if one["id"] != lead["id"]][: self._listed]
        counted = int(body.get("firing_count", 0)) + int(body.get("over_count", 0))
        return {
            "kind": AlertKind(lead["kind"]).value,
            "why": body["why"],
            "over": over,
            "moment": lead["moment"],
            "step": int(body.get("step", 0)),
            "severity": body["severity"],
            "icon": OVER if over else ICONS[Severity(body["severity"])],
            "ref": self._ref(body),
            "model": lead["model"] or lead["subject"],
            "subject": lead["subject"],
            "scene": lead["scene"],
            "level": lead["stage"],
            "level_name": said(LEVELS, lead["stage"], language),
            "facts": facts,
            **{name: facts.get(name) for name in ("ratio", "n", "k", "line", "growth", "actor", "note", "enforced")},
            "peak_ratio": lead["peak_ratio"],
            "samples": lead["samples"],
            "since": self._clock.real_s(lead["opened_at"]),
            "until": self._clock.real_s(float(facts["until"])) if facts.get("until") else None,
            "duration_s": max(0.0, float(until) - float(lead["opened_at"])),
            "classes": facts.get("classes") or facts.get("top_class") or dossier.get("classes"),
            "scenes": facts.get("scenes") or dossier.get("scenes"),
            "sample": _one_line(facts.get("sample") or dossier.get("sample") or ""),
            "reasons": [self._reason(reason, language) for reason in facts.get("reasons") or ()],
            "others": others,
            "count": counted,
            "more": max(0, counted - 1 - len(others)),
            "held": int(body.get("held", 0)),
            "policy": self._policy,
            "link": self._link(lead),
            "runbook": f"{self._link_base}/runbooks/{lead['kind']}" if self._link_base else "",
            "ack_link": self._ack_link(int(lead["id"])) if self._ack_link and self._link_base and lead["id"] else "",
        }

    def _link(self, lead: Mapping[str, Any]) -> str:
        if not self._link_base or lead["kind"] == AlertKind.TEST:
            return ""
        return f"{self._link_base}/incidents" + (f"/{lead['id']}" if lead["id"] else "")

    @staticmethod
    def _ref(body: Mapping[str, Any]) -> str:
        return f"A{body['lead']['id']}" if body["lead"]["id"] else ""

    @staticmethod
    def _other(one: Mapping[str, Any], language: Language) -> dict[str, Any]:
        over = one["resolved_at"] is not None and not one["moment"]
        level = said(LEVELS, one["stage"], language) if one["kind"] == AlertKind.TRANSITION else ""
        name = " ".join(part for part in (one["scene"] or one["subject"], level) if part)
        facts = one.get("facts") or {}
        return {
            "mark": OVER if over else ICONS[Severity(one["severity"])],
            "name": name,
            "ratio": facts.get("ratio"),
            "ref": f"A{one['id']}",
        }

    @staticmethod
    def _reason(reason: object, language: Language) -> str:
        """The rule in words, then its own name, by which documents and the admin JSON know it."""
        word = said(REASONS, reason, language)
        if word == str(reason):
            return word
        return f"{word}（{reason}）" if language == "zh" else f"{word} ({reason})"


def _title(markdown: str) -> str:
    """The first line without its marks."""
    return markdown.partition("\n")[0].replace("**", "").strip("# ").strip()[:200]


def _within(lines: Sequence[str], limit_bytes: int) -> int:
    """How many of the lines there is room for; one at least."""
    room = limit_bytes
    for number, line in enumerate(lines):
        room -= len(line.encode("utf-8", "replace")) + LINE_BYTES
        if room < 0:
            return max(1, number)
    return len(lines)


SAMPLE_CHARS = 120


def _one_line(sample: object) -> str:
    text = " ".join(str(sample).split())
    return text if len(text) <= SAMPLE_CHARS else text[:SAMPLE_CHARS] + "…"
