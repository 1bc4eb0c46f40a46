"""The last words: edited scene by scene, previewed against what is in force, saved as a version that can be brought back."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher

from starlette.responses import Response
from starlette.routing import Route

from console.csv_out import records
from console.fleet_ports import AuditTrail
from console.forms import BadForm, Form, reason_of
from console.phrase_ports import PhraseBook, PhraseVersion
from console.site import Site, Visit, acts, looks
from detector import score
from fallback_phrases.catalog import DEFAULT_SCENE, SILENT_SCENES, BadPhraseFile, Phrases, parse
from fallback_phrases.writing import CLOSING, UNREACHABLE, Flaw, flaws, lines_of, texts, written

VERSIONS = 50
FIELD = "scene_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a preview. `kind`: same, added or removed."""

    kind: str
    text: str


class PhrasePages:
    def __init__(self, book: PhraseBook, audit: AuditTrail) -> None:
        self._book, self._audit = book, audit

    def routes(self, site: Site) -> list[Route]:
        return [
            looks(site, "/phrases", self.page),
            acts(site, "/phrases/preview", self.preview),
            acts(site, "/phrases/save", self.save),
            acts(site, "/phrases/restore", self.restore),
        ]

    def _language(self, given: str) -> str:
        known = self._book.current()
        return given if given in known else sorted(known, reverse=True)[0]

    async def page(self, visit: Visit) -> Response:
        language = self._language(visit.asked("language", default=visit.language))
        versions = await self._book.versions(language, visit.most(VERSIONS))
        return visit.page(
            "phrases.html",
            language=language,
            languages_known=sorted(self._book.current(), reverse=True),
            fields=self._fields(self._book.current()[language]),
            versions=versions,
            seen=await self._newest(language),
            prefix=FIELD,
            sheets={"versions": records(versions, *PhraseVersion.__dataclass_fields__)},
        )

    def _fields(self, phrases: Phrases) -> Mapping[str, str]:
        """Every scene that may have phrases, those without any empty; the default first, what belongs to no scene last."""
        have = texts(phrases)
        scenes = sorted((self._book.scenes() | set(phrases.scenes)) - SILENT_SCENES - {DEFAULT_SCENE})
        return {name: have.get(name, "") for name in (DEFAULT_SCENE, *scenes, UNREACHABLE, CLOSING)}

    def _typed(self, form: Form) -> Phrases:
        language = form.one_of("language", list(self._book.current()))
        scenes = self._fields(self._book.current()[language])
        lists = {name: lines_of(form.raw(FIELD + name)) for name in scenes}
        closing, unreachable = lists.pop(CLOSING), lists.pop(UNREACHABLE)
        # A scene left empty speaks by its default.
        kept = {name: lines for name, lines in lists.items() if lines or name == DEFAULT_SCENE}
        return Phrases(language=language, scenes=kept, closing=closing, unreachable=unreachable)

    async def preview(self, visit: Visit) -> Response:
        typed = self._typed(visit.form)
        before, after = texts(self._book.current()[typed.language]), texts(typed)
        changed = {
            name: difference(before.get(name, ""), after.get(name, ""))
            for name in (*after, *(set(before) - set(after)))
            if before.get(name, "") != after.get(name, "")
        }
        template = "phrases_preview.html" if visit.partial else "phrases_alone.html"
        return visit.page(template, changed=changed, flaws=self._flaws(typed), language=typed.language)

    def _flaws(self, typed: Phrases) -> list[Flaw]:
        """The detector reads phrases too: one that it would call a loop must not go out."""
        loops = [
            Flaw(scene=scene, line=number, why="loops")
            for scene, lines in {**typed.scenes, UNREACHABLE: typed.unreachable, CLOSING: typed.closing}.items()
            for number, line in enumerate(lines, 1)
            if score(line).degenerate
        ]
        return [*flaws(typed, self._book.scenes()), *loops]

    async def _newest(self, language: str) -> int:
        """What an edit is based on; 0: nothing was ever saved."""
        return next((one.id for one in await self._book.versions(language, 1)), 0)

    async def save(self, visit: Visit) -> Response:
        typed, reason = self._typed(visit.form), reason_of(visit.form)
        if visit.form.raw("seen") != str(await self._newest(typed.language)):
            return visit.problem(409, "problem.overtaken")
        if found := self._flaws(typed):
            words = visit.words(f"flaw.{found[0].why}")
            raise BadForm("phrases", "flawed", scene=found[0].scene, line=found[0].line, flaw=words)
        return await self._saved(visit, typed, reason, "edit_phrases")

    async def restore(self, visit: Visit) -> Response:
        id_, reason = int(visit.form.number("id", least=1, most=2**31 - 1)), reason_of(visit.form)
        version = await self._book.version(id_)
        if version is None:
            raise KeyError(id_)
        try:
            phrases = parse(version.body, f"version {id_}")
        except BadPhraseFile:
            raise BadForm("phrases", "unreadable") from None
        return await self._saved(visit, phrases, reason, "restore_phrases")

    async def _saved(self, visit: Visit, phrases: Phrases, reason: str, action: str) -> Response:
        counts = {scene: len(lines) for scene, lines in phrases.scenes.items()}
        await self._audit.record(
            actor=visit.actor,
            action=action,
            target=phrases.language,
            reason=reason,
            details=counts,
            role=visit.role.value,
        )
        await self._book.save(phrases.language, written(phrases), visit.actor, reason)
        return visit.away("/phrases", language=phrases.language, said="phrases_saved")


def difference(before: str, after: str) -> list[Line]:
    """What went and what came, in order; unchanged lines stay for the reader's bearings."""
    old, new = before.split("\n") if before else [], after.split("\n") if after else []
    out: list[Line] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            out += [Line(kind="same", text=line) for line in old[i1:i2]]
        else:
            out += [Line(kind="removed", text=line) for line in old[i1:i2]]
            out += [Line(kind="added", text=line) for line in new[j1:j2]]
    return out
