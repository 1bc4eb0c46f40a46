"""Which failure, if any, one finished reply is, in the order of SPEC §2.8.

Decides; `load_validators` alone looks outside (the installed plugin entry points).
In:  the reply's text, how it ended, the detector's verdict, the format the caller asked for.
Out: one typed Failure, or None. Each kind has its own retry recipe in the router.
A content filter is told before emptiness: a filtered reply is empty, and another endpoint must not be tried for it.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from detector.structured import Parsed, Reason, parse_structured
from detector.verdict import LoopClass, Verdict

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

VALIDATOR_GROUP = "pointsman.validators"
"""Entry point group of plugin validators: `name = "module:function"`, function(text, expected) -> str | None."""

REPETITION_FINISH_REASONS = frozenset({"repetition", "repetition_detected", "repetition_truncation"})
"""An upstream that ended the reply itself (vLLM: repetition, stop_reason repetition_detected)."""
FILTER_FINISH_REASONS = frozenset({"content_filter", "refusal", "sensitive", "safety"})
LENGTH_FINISH_REASONS = frozenset({"length", "max_tokens"})


class FailureKind(StrEnum):
    EMPTY = "empty"
    REFUSAL = "refusal"
    REPETITION_DETECTED = "repetition_detected"
    GARBLE = "garble"
    INVALID_FORMAT = "invalid_format"
    LENGTH_IN_REASONING = "length_in_reasoning"  # the caller's max_tokens went into reasoning: not the model's illness
    CUSTOM = "custom"


class FormatKind(StrEnum):
    MARKDOWN = "markdown"
    JSON_OBJECT = "json_object"
    JSON_SCHEMA = "json_schema"


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """The form the caller asked for. `sections`: headings a Markdown reply must hold, without the `#`."""

    kind: FormatKind
    schema: Mapping[str, Any] | None = None
    example: Any = None
    sections: tuple[str, ...] = ()


def format_asked(response_format: Any, example: Any = None) -> Format | None:
    """The format that an OpenAI `response_format` asks for; None for text, absent or unknown."""
    if not isinstance(response_format, Mapping):
        return None
    kind = response_format.get("type")
    if kind == "json_object":
        return Format(kind=FormatKind.JSON_OBJECT, example=example)
    if kind == "json_schema":
        named = response_format.get("json_schema")
        schema = named.get("schema") if isinstance(named, Mapping) else None
        return Format(
            kind=FormatKind.JSON_SCHEMA, schema=schema if isinstance(schema, Mapping) else None, example=example
        )
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a reply may not be handed on. `detail` is plain English that a retry may tell the model."""

    kind: FailureKind
    detail: str
    reason: str = ""  # a finer word within the kind: Reason, a loop class, a validator's name
    parsed: Parsed | None = None


Check = Callable[[str, Format | None], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Validator:
    """A plugin's check; `check` returns None when content, else what is wrong."""

    name: str
    check: Check


def markdown_validator(sections: Iterable[str]) -> Validator:
    """For prose that must be whole Markdown: code fences close, and these headings are there."""
    wanted = tuple(sections)
    return Validator(
        name="markdown", check=lambda text, _expected: unclosed_fence(text) or missing_sections(text, wanted)
    )


def check_reply(
    text: str,
    *,
    tool_only: bool,
    finish_reason: str | None,
    reasoning_chars: int,
    verdict: Verdict,
    expected: Format | None = None,
    refusal: str | None = None,
    parsed: Parsed | None = None,
    validators: Sequence[Validator] = (),
    on_validator_error: Callable[[str, Exception], None] | None = None,
) -> Failure | None:
    """Return the first failure of a finished reply, None when it may be handed on.

    `tool_only`: tool calls and no text, which is no failure. `reasoning_chars`: length of the reasoning channel in code
    points (or a token count where only that is known; only > 0 matters). `refusal`: the upstream's own refusal field.
    `parsed`: the result of `parse_structured` when the caller has it already.
    """
    failure = (
        _ended_early(
            text, tool_only=tool_only, finish_reason=finish_reason, reasoning_chars=reasoning_chars, refusal=refusal
        )
        or _ill(verdict, finish_reason)
        or (None if tool_only else _misshapen(text, expected, finish_reason, parsed))
    )
    return failure or _custom(text, expected, validators, on_validator_error)


def _ended_early(
    text: str, *, tool_only: bool, finish_reason: str | None, reasoning_chars: int, refusal: str | None
) -> Failure | None:
    if refusal or finish_reason in FILTER_FINISH_REASONS:
        return Failure(kind=FailureKind.REFUSAL, detail=refusal or "the upstream's content filter ended the reply")
    # A repetition finish without text is still a loop (the upstream kept it back), told below.
    if tool_only or not is_blank(text) or finish_reason in REPETITION_FINISH_REASONS:
        return None
    if finish_reason in LENGTH_FINISH_REASONS and reasoning_chars > 0:
        return Failure(
            kind=FailureKind.LENGTH_IN_REASONING, detail="max_tokens was used up by reasoning before any answer"
        )
    return Failure(
        kind=FailureKind.EMPTY, detail="the reply holds no text and no tool call", reason=finish_reason or ""
    )


_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad\u2800\u3164\x00"))


def is_blank(text: str) -> bool:
    """Whether a reader sees nothing: blanks, zero-width marks, the empty braille pattern."""
    return not text or text.isspace() or not text.translate(_INVISIBLE).strip()


def _ill(verdict: Verdict, finish_reason: str | None) -> Failure | None:
    if verdict.degenerate:
        word = verdict.loop_class.value if verdict.loop_class else ""
        if verdict.loop_class in (LoopClass.GARBLE, LoopClass.RARE):
            return Failure(kind=FailureKind.GARBLE, detail="the reply is made of unrelated words", reason=word)
        return Failure(kind=FailureKind.REPETITION_DETECTED, detail=f"the reply repeats itself ({word})", reason=word)
    if finish_reason in REPETITION_FINISH_REASONS:
        return Failure(
            kind=FailureKind.REPETITION_DETECTED,
            detail="the upstream ended the reply for repetition",
            reason="upstream",
        )
    return None


def _misshapen(text: str, expected: Format | None, finish_reason: str | None, parsed: Parsed | None) -> Failure | None:
    if expected is None:
        return None
    if expected.kind is FormatKind.MARKDOWN:
        problem = unclosed_fence(text) or missing_sections(text, expected.sections)
        return Failure(kind=FailureKind.INVALID_FORMAT, detail=problem, reason="markdown") if problem else None
    schema = expected.schema if expected.schema is not None else {"type": "object"}
    parsed = parsed or parse_structured(text, schema, expected.example, finish_reason)
    if parsed.usable:
        return None
    # Only where JSON was due are words taken for a refusal: in prose an apology may well be the right answer.
    if parsed.reason is Reason.NO_JSON and _REFUSES.match(text.strip()):
        return Failure(kind=FailureKind.REFUSAL, detail="the model declined in words", parsed=parsed)
    reason = parsed.reason or Reason.SCHEMA
    detail = "; ".join(parsed.errors) if parsed.errors else _TOLD[reason]
    return Failure(kind=FailureKind.INVALID_FORMAT, detail=detail, reason=reason.value, parsed=parsed)


_REFUSES = re.compile(
    r"(?:i['’]?m (?:very |really |so )?sorry|i am sorry|sorry|i apologi[sz]e|unfortunately)?[,.! ]*(?:but )?"
    r"(?:as an ai\b.{0,60})?\bi (?:can(?:['’]t|not)|am (?:unable|not able)|won['’]t|must decline)\b"
    r"|(?:非常|很|真的)?(?:抱歉|对不起|很遗憾|不好意思).{0,12}(?:无法|不能|不可以|没办法)|我(?:无法|不能)(?:提供|协助|帮助|满足|回答|处理)",
    re.IGNORECASE,
)

_TOLD = {
    Reason.CUT_OFF: "the JSON was cut off by the length limit",
    Reason.NO_JSON: "the reply holds no JSON object or array",
    Reason.FENCE: "the JSON inside the code fence does not parse",
    Reason.PROSE: "the JSON within the surrounding prose does not parse",
    Reason.SYNTAX: "the JSON has a syntax error",
    Reason.SCHEMA: "the JSON does not keep the schema",
}

_FENCE_LINE = re.compile(r"^ {0,3}(?:>[ \t]?)*(?:[-*+]|\d+[.)])?[ \t]*(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)


def unclosed_fence(text: str) -> str | None:
    """What to say of a code fence that never closes (CommonMark: same character, at least as long), None when all do."""
    opened: str | None = None
    for line in _FENCE_LINE.finditer(text):
        mark, rest = line.group(1), line.group(2)
        if opened is None:
            # An info string of a backtick fence holds no backtick: ```x``` on one line is inline code.
            opened = None if mark[0] == "`" and "`" in rest else mark
        elif mark[0] == opened[0] and len(mark) >= len(opened) and not rest.strip():
            opened = None
    return None if opened is None else "a code fence is opened and never closed"


_HEADING = re.compile(
    r"^ {0,3}#{1,6}[ \t]+(.+?)[ \t#]*$|^(.+)\n[ \t]*(?:=+|-{2,})[ \t]*$|^\*\*(.+?)\*\*[:：]?[ \t]*$", re.MULTILINE
)
_NUMBERING = re.compile(r"^(?:[\d一二三四五六七八九十]+[.、)．]|[（(][\d一二三四五六七八九十]+[)）])\s*")


def missing_sections(text: str, sections: Iterable[str]) -> str | None:
    """Name the required headings that a Markdown reply lacks; numbering, case and a closing colon do not matter."""
    present = {_heading(next(filter(None, found.groups()), "")) for found in _HEADING.finditer(text)}
    lacking = [section for section in sections if _heading(section) not in present]
    return f"missing sections: {', '.join(lacking)}" if lacking else None


def _heading(line: str) -> str:
    return _NUMBERING.sub("", line.strip().strip("*_").strip()).rstrip(":： ").casefold()


def _custom(
    text: str,
    expected: Format | None,
    validators: Sequence[Validator],
    on_error: Callable[[str, Exception], None] | None,
) -> Failure | None:
    for validator in validators:
        try:
            problem = validator.check(text, expected)
        except Exception as error:  # a plugin's bug must not cost the client a good reply
            if on_error is not None:
                on_error(validator.name, error)
            continue
        if problem:
            return Failure(kind=FailureKind.CUSTOM, detail=str(problem), reason=validator.name)
    return None


def load_validators(
    points: "Iterable[EntryPoint] | None" = None, on_error: Callable[[str, Exception], None] | None = None
) -> tuple[Validator, ...]:
    """Load the installed validators, in order of name; one that cannot be imported is told to `on_error` and left out."""
    from importlib.metadata import entry_points  # 40 ms that a user of the library may never need

    found: list[Validator] = []
    for point in sorted(
        entry_points(group=VALIDATOR_GROUP) if points is None else points, key=lambda point: point.name
    ):
        try:
            found.append(Validator(name=point.name, check=point.load()))
        except Exception as error:
            if on_error is not None:
                on_error(point.name, error)
    return tuple(found)
