"""What a reply says as JSON, how hard it was to read, and whether that may be handed on.

Decides; never raises for any text, and never fetches a remote `$ref`.
In:  the reply's text, and where known the caller's JSON Schema, the prompt's example, the finish reason.
Out: Parsed (step, value, text to hand on, lossy, example_leak, reason, errors).
A parse is no proof of health (a looping array repairs into a fine list): repetition is judged before, see checks.py.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from detector.brackets import OPENS, Scan, scan_brackets
from detector.schema import example_paths, schema_errors

MAX_REPAIR_CHARS = 200_000
"""Longer texts are not repaired: as `max_scan_chars` of the gate (SPEC §2.5)."""


_FLOOD_WINDOW = 4_000


class Step(StrEnum):
    """The rung of the ladder that parsed; the order is the order tried."""

    AS_IS = "as_is"
    UNFENCED = "unfenced"
    BALANCED = "balanced"
    REPAIRED = "repaired"


class Reason(StrEnum):
    """The first thing wrong with a structured reply; also set when a later step mended it."""

    CUT_OFF = "cut_off"
    NO_JSON = "no_json"
    FENCE = "fence"
    PROSE = "prose"
    SYNTAX = "syntax"
    SCHEMA = "schema"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """What the ladder made of one reply.

    `step` None: nothing parsed, `value` means nothing. `text` is strict JSON to hand on instead of the reply.
    `lossy`: repaired after a cut, so items may be missing or invented at the end. `example_leak`: paths of values copied
    from the prompt's example. `errors`: schema errors as `path: message`, at most schema.MAX_ERRORS.
    """

    step: Step | None = None
    value: Any = None
    text: str = ""
    lossy: bool = False
    example_leak: tuple[str, ...] = ()
    reason: Reason | None = None
    errors: tuple[str, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether the value may be handed on: parsed, and the schema holds."""
        return self.step is not None and not self.errors


_FENCED = re.compile(
    r"^[ \t]*(`{3,}|~{3,})[ \t]*[\w+.-]*[ \t]*\r?\n(.*?)(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)


def parse_structured(
    text: str,
    schema: Mapping[str, Any] | bool | None = None,
    example: Any = None,
    finish_reason: str | None = None,
    *,
    source: str = "",
) -> Parsed:
    """Read `text` by the ladder of SPEC §2.7: as is, without fences, first balanced value, repair.

    The first step that parses wins; among several values of one step the first that meets `schema` is taken.
    `example` is the prompt's example (parsed, or its text); values that also stand in `source`, the text the model was
    asked about, are no leak. A schema that is itself broken is not applied (`schema_problem` tells so beforehand).
    """
    if (fitting := _whole(text, schema)) is not None:
        value, strict = fitting
        leak = example_paths(value, example, schema, source) if example is not None else ()
        return Parsed(step=Step.AS_IS, value=value, text=strict, example_leak=leak)
    scan = scan_brackets(text)
    found = _climb(text, scan, schema)
    if found is None:
        return Parsed(reason=_why(text, scan, finish_reason), errors=())
    step, value, strict = found
    errors = () if schema is None else schema_errors(value, schema)
    reason = None if step is Step.AS_IS else _why(text, scan, finish_reason)
    if reason is None and errors:
        reason = Reason.SCHEMA
    was_cut = finish_reason == "length" or scan.unclosed is not None
    return Parsed(
        step=step,
        value=value,
        text=strict,
        lossy=step is Step.REPAIRED and was_cut,
        example_leak=example_paths(value, example, schema, source) if example is not None else (),
        reason=reason,
        errors=errors,
    )


def _whole(text: str, schema: Mapping[str, Any] | bool | None) -> tuple[Any, str] | None:
    """The whole text, if it is JSON that keeps the schema: nearly every reply, so the text is not looked through first."""
    bare = text.strip().removeprefix("\ufeff")
    try:
        value = _strict(bare)
    except (ValueError, RecursionError):
        return None
    return (value, bare) if schema is None or not schema_errors(value, schema) else None


def _climb(text: str, scan: Scan, schema: Mapping[str, Any] | bool | None) -> tuple[Step, Any, str] | None:
    bare = text.strip().removeprefix("\ufeff")
    steps = (
        (Step.AS_IS, iter((bare,))),
        (Step.UNFENCED, _fenced(text)),
        (Step.BALANCED, (text[start:end] for start, end in scan.spans)),
    )
    for step, pieces in steps:
        best = _first_fitting(pieces, schema)
        if best is not None:
            return step, *best
    if scan.first is None or len(text) > MAX_REPAIR_CHARS or _floods(text):
        return None
    return _repair(_without_fence(text, scan))


def _first_fitting(pieces: Iterator[str], schema: Mapping[str, Any] | bool | None) -> tuple[Any, str] | None:
    best: tuple[Any, str] | None = None
    for piece in pieces:
        try:
            value = _strict(piece)
        except (ValueError, RecursionError):
            continue
        if schema is None or not schema_errors(value, schema):
            return value, piece
        best = best or (value, piece)
    return best


def _strict(piece: str) -> Any:
    return json.loads(piece, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")  # Python reads NaN and Infinity, clients in other languages do not


def _fenced(text: str) -> Iterator[str]:
    return (found.group(2).strip() for found in _FENCED.finditer(text))


def _without_fence(text: str, scan: Scan) -> str:
    fenced = next(_FENCED.finditer(text), None)
    if fenced is not None and OPENS.search(fenced.group(2)):
        text = fenced.group(2)
        return text[_first_opening(text) :]
    return text[scan.first or 0 :]


def _first_opening(text: str) -> int:
    found = OPENS.search(text)
    return found.start() if found else 0


def _floods(text: str) -> bool:
    """Whether 4,000 characters in a row hold hardly more than one short unit: under 5 % distinct 8-grams.

    The repairer is quadratic on floods of brackets and quotes (16,000 characters of `{"`: seven seconds), and what it
    makes of them is no answer.
    """
    for start in range(0, len(text), _FLOOD_WINDOW):
        part = text[start : start + _FLOOD_WINDOW]
        if len(part) > 1_000 and 20 * len({part[at : at + 8] for at in range(len(part) - 7)}) < len(part):
            return True
    return False


def _repair(text: str) -> tuple[Step, Any, str] | None:
    import json_repair

    try:
        value = json_repair.loads(text, skip_json_loads=True)
        # A repair may yield inf or a lone surrogate; what we hand on must be strict JSON.
        strict = json.dumps(value, ensure_ascii=False, allow_nan=False)
        strict.encode()
    except Exception:  # a foreign parser on hostile text: whatever it raises, the reply was not readable
        return None
    # A scalar or an empty shell out of prose is the repairer's invention, not the model's answer.
    if not isinstance(value, dict | list) or (not value and text.strip()[1:].strip()[:1] not in ("}", "]")):
        return None
    return Step.REPAIRED, value, strict


def _why(text: str, scan: Scan, finish_reason: str | None) -> Reason:
    """The first reason why the text is not JSON as it stands."""
    if scan.first is None:
        return Reason.NO_JSON if finish_reason != "length" or text.strip() else Reason.CUT_OFF
    if scan.unclosed is not None and finish_reason in ("length", "max_tokens"):
        return Reason.CUT_OFF
    if text.lstrip().startswith(("```", "~~~")):
        return Reason.FENCE
    end = scan.spans[-1][1] if scan.spans and scan.unclosed is None else len(text)
    if text[: scan.first].strip() or text[end:].strip() or len(scan.spans) > 1:
        return Reason.PROSE
    return Reason.SYNTAX
