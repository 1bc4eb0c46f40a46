"""The report for a group robot: Markdown that WeCom and DingTalk both show, within a limit of bytes.

Pure. WeCom takes 4,096 bytes in all, title, link and frame included, so the digest keeps to 3,600 and says what it left out;
it is cut between lines, never inside one.
"""

from collections.abc import Sequence

from monitor.report import words
from monitor.report.charts import percent
from monitor.report.document import ModelPart, Report
from monitor.report.html import change_lines, headline
from monitor.report.words import Language

LIMIT_BYTES = 3_600
SAMPLE_CHARS = 60
_SPECIAL = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]#|"} | {"<": "‹"})
"""`>` is a mark at the head of a line alone, where nothing of these words stands; without a `<` it calls nobody."""


def digest(report: Report, language: Language, limit: int = LIMIT_BYTES) -> str:
    """The night in a few lines, the worst first; at most `limit` bytes of UTF-8."""
    text = words.TEXT[language]
    foot = _foot(report, language)
    blocks = [_model(model, language) for model in report.models]
    head = [f"**{headline(report, language)}**"]
    shown: list[str] = []
    for number, block in enumerate(blocks):
        more = text["more_models"].format(n=len(blocks) - number)
        rest = len(blocks) - number - 1
        closing = [text["more_models"].format(n=rest)] if rest else []
        if _size([*head, *shown, *block, *closing, *foot]) > limit:
            shown.append(more)
            break
        shown += block
    lines = [*head, *shown, *foot]
    while _size(lines) > limit and len(lines) > 1:
        lines.pop()
    return "\n".join(lines)


def escaped(line: str) -> str:
    """A model's or a vendor's words as Markdown text: nothing in them is a link, a mention or a heading."""
    return " ".join(line.split()).translate(_SPECIAL)


def _size(lines: Sequence[str]) -> int:
    return len("\n".join(lines).encode())


def _model(model: ModelPart, language: Language) -> list[str]:
    standing = words.name_of(words.STANDINGS, language, model.standing)
    rate = f"{percent(model.total.ratio)} ({model.total.k}/{model.total.n})" if model.total.n else "–"
    top = max(model.classes.items(), key=lambda entry: entry[1], default=None)
    most = f" · {words.name_of(words.CLASSES, language, top[0])} {top[1]}" if top else ""
    lines = [f"- {escaped(model.model)}: **{rate}** {standing}{most}"]
    if model.standing in ("worse", "doubled", "better"):
        lines += [f"  > {escaped(line)}" for line in change_lines(model, language)[:3]]
    return lines


def _foot(report: Report, language: Language) -> list[str]:
    text = words.TEXT[language]
    lines = []
    if report.samples:
        worst = report.samples[0]
        loop = worst.loop if len(worst.loop) <= SAMPLE_CHARS else f"{worst.loop[:SAMPLE_CHARS]}…"
        told = text["repeats"].format(n=worst.repeats)
        lines.append(f"{text['samples']}: {escaped(worst.model)}, {told}: {escaped(loop)}")
    if report.detail:
        lines.append(escaped(text["not_asked"].format(detail=report.detail[:200])))
    if report.priced:
        lines.append(text["total_cost"].format(cost=words.money(report.cost, report.currency)))
    return lines
