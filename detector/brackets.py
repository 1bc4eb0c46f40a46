"""Where JSON objects and arrays stand in a text that may hold much else.

Decides; one pass over the text, linear also on hostile input.
In:  any text.
Out: Scan, the spans of whole top-level values in code points, and what was left open.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """Brackets of a text: the whole values at the top level, and what was still open at its end."""

    spans: tuple[tuple[int, int], ...]
    first: int | None  # where the first value opens
    unclosed: int | None  # where the value opened that never closed


OPENS = re.compile(
    r"""\{\s*(?:["'}]|[A-Za-z_]\w*\s*:|/[/*]|\Z)|\[\s*(?:["'\[\]{]|-?\d|(?:true|false|null|True|False|None)\b|/[/*]|\Z)"""
)
_MARK = re.compile(r'["\\{}\[\]]')
_CLOSES = {"}": "{", "]": "["}


def scan_brackets(text: str) -> Scan:
    """Find the top-level objects and arrays of `text` in one pass, aware of strings and escapes.

    A bracket outside any value only counts as one when what follows can begin JSON, so `[see below]` is prose.
    """
    spans: list[tuple[int, int]] = []
    stack: list[str] = []
    open_of = {"{": 0, "[": 0}  # counted, so that a flood of wrong closers costs no walk down the stack
    start, position, in_string, first = 0, 0, False, None
    while (found := (_MARK if stack else OPENS).search(text, position)) is not None:
        position, mark = found.end(), found.group()[0]
        if not stack:
            start = found.start()
            first = start if first is None else first
            stack.append(mark)
            open_of[mark] += 1
            position = start + 1
        elif mark == "\\":
            position += 1 if in_string else 0
        elif mark == '"':
            in_string = not in_string
        elif in_string:
            continue
        elif mark in "{[":
            stack.append(mark)
            open_of[mark] += 1
        elif open_of[_CLOSES[mark]]:
            while True:  # brackets forgotten inside are dropped; the repair sees to them
                last = stack.pop()
                open_of[last] -= 1
                if last == _CLOSES[mark]:
                    break
            if not stack:
                spans.append((start, position))
    return Scan(spans=tuple(spans), first=first, unclosed=start if stack else None)
