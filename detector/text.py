"""Words every rule shares: token, width, shape of a text.

Token = one CJK/kana/hangul character, or one run of letters or digits with its marks, casefolded; width counts CJK twice
(DETECTION.md section 1).
"""

import re
import string
from itertools import compress
from operator import not_

_CJK = "\u3040-\u30ff\u3131-\u318e\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_MARKS = "\u0300-\u036f\u064b-\u065f\u0591-\u05bd\u200d"
CJK = re.compile(f"[{_CJK}]")
_WORD = f"[^\\W_{_CJK}]+(?:[{_MARKS}]+[^\\W_{_CJK}]*)*"
TOKEN = re.compile(f"[{_CJK}]|{_WORD}")
_RUN = re.compile(f"[{_CJK}]+|{_WORD}")
# The same where no mark is about: a class of characters that the engine of `re` knows is three times as fast.
_PLAIN_RUN = re.compile(f"[^\\W_]+|[{_CJK}]")
_MARK = re.compile(f"[{_MARKS}]")
_MARK_SET = frozenset(filter(_MARK.match, map(chr, range(0x300, 0x2100))))
CJK_RUN = re.compile(f"[{_CJK}]+")
_INSIDE = re.compile(f"[^\\W_{_CJK}]|[{_MARKS}]")
WORD = re.compile(r"[^\W_]")
# Bounded, so that `settled` can tell where one may still be going on.
LIST_MARK = re.compile(r"\n[ \t]{0,40}(?:[-*+•·#>]+|\d{1,9}[ \t]{0,8}[.)、:：])[ \t]*")
_NUMBERED = re.compile(r"\n[ \t]{0,40}\d{1,9}[ \t]{0,8}[.)、:：]")  # what LIST_MARK takes for a number
_OPEN_MARK = re.compile(r"\n[ \t]{0,40}(?:\d{1,9}[ \t]{0,8})?")
_OPEN_FIRST = re.compile(_OPEN_MARK.pattern.removeprefix(r"\n"))  # the same where a text begins
_TYPOGRAPHIC = "‘’“”–—…"
_ALNUM = string.ascii_letters + string.digits
_CELL = 200  # characters; what goes on longer without a border stands below the table
LONGEST_OPEN = 64  # characters that `settled` may leave for later; a longer word is cut
_CODE_END = re.compile(r"[;{}()\[\],:=\\|>]\s*$")
# Clauses of a verse that goes on in the next line: two words or more, or CJK, then the mark. Words in capitals are SQL's.
_VERSE_WORD = r"(?!\w?[A-Z]{2})[^\W\d_]+(?:['’-][^\W\d_]+)*"
_CLAUSE = re.compile(rf"\s*(?:{_VERSE_WORD}[,.!?;]? +)+{_VERSE_WORD}[,;:]\s*$")
_CJK_CLAUSE = re.compile(r"(?:[^\W\d_]|[\s,.!?;:·，。、！？；：“”‘’《》…—-])+(?<=[,;:])\s*$")


_SPACED = {code: " " for code in range(128) if not chr(code).isalnum()}
_ASCII = bytes(range(128))
_SPACED_BYTES = bytes(code if code > 127 or chr(code).isalnum() else 32 for code in range(256))


def width(text: str) -> int:
    """Characters, CJK counting 2."""
    return len(text) if text.isascii() else len(text) + len(CJK.findall(text))


def tokens(text: str) -> list[str]:
    """The tokens of a text, casefolded; ASCII, the common case, takes a faster road to the same list."""
    if not text.isascii():
        text = unquoted(text, " ")
    if text.isascii():
        return spaced(text).split()
    text = text.casefold()
    return _parted((_RUN if _MARK.search(text) else _PLAIN_RUN).findall(text))


def words_of(blanks: str, *, cjk: bool) -> list[str]:
    """The tokens of a text, or a part of one, that `blanked` gave; `cjk`: whether it may hold CJK."""
    words = blanks.split()
    return _parted(words) if cjk else words


def _parted(runs: list[str]) -> list[str]:
    """The tokens that runs of letters are made of: those of CJK are as many as characters."""
    out: list[str] = []
    read = 0
    for at in compress(range(len(runs)), map(not_, map(str.isascii, runs))):
        out += runs[read:at]
        read, run = at + 1, runs[at]
        if CJK_RUN.fullmatch(run):
            out += run
        elif CJK.search(run):
            out += TOKEN.findall(run)
        else:
            out.append(run)
    return out + runs[read:] if read else runs


def unquoted(text: str, mark: str) -> str:
    """`mark` for each typographic quote, dash and ellipsis: without them most English is ASCII, whose road is faster."""
    for typographic in _TYPOGRAPHIC:
        text = text.replace(typographic, mark)
    return text


def settled(text: str, low: int, end: int) -> int:
    """Where between `low` and `end` the tokens are certain, whatever comes: before a word or list mark that may go on."""
    least = max(low, end - LONGEST_OPEN)
    stop = least + len(text[least:end].rstrip(_ALNUM))  # at C speed; what follows is for letters beyond ASCII
    while stop > least:
        char = text[stop - 1]
        if not (char.isalnum() if char.isascii() else _INSIDE.match(char)):
            break
        stop -= 1
    line = text.rfind("\n", least, end)
    if line >= 0 and (mark := _OPEN_MARK.match(text, line, end)) and mark.end() == end:
        return line
    if line < 0 and least == 0 and _OPEN_FIRST.fullmatch(text, 0, end):
        return 0
    return end if stop == least and end - low >= LONGEST_OPEN else stop


def spaced(text: str) -> str:
    """ASCII text in lower case with a blank for whatever is neither letter nor digit."""
    return text.lower().translate(_SPACED)


def beyond_ascii(text: str) -> set[str]:
    """The different characters of a text that are not ASCII."""
    return set(text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass"))


def blanked(text: str, others: set[str]) -> str | None:
    """The text casefolded, a blank for each character that leaves no token, numbers of lists included.

    `others` are its characters beyond ASCII. None if it takes more than blanks: marks that belong to letters, letters whose
    folding changes the length.
    """
    text = _NUMBERED.sub(_blanks, f"\n{text}")[1:]
    if not others:
        return spaced(text)
    if not others.isdisjoint(_MARK_SET) or len(folded := text.casefold()) != len(text):
        return None
    for char in set("".join(others).casefold()):
        if not (char.isalnum() or char.isascii()):
            folded = folded.replace(char, " ")
    return folded.encode("utf-8", "surrogatepass").translate(_SPACED_BYTES).decode("utf-8", "surrogatepass")


def _blanks(match: re.Match[str]) -> str:
    return " " * len(match[0])


def plain_lines(text: str) -> str:
    """Lists: drop bullets and numbers, and a prefix of 12+ characters shared with the line above."""
    out: list[str] = []
    above = ""
    for line in LIST_MARK.sub("\n", "\n" + text)[1:].split("\n"):
        same = _shared(line, above)
        out.append(line[same:] if 12 <= same < len(line) else line)
        above = line
    return "\n".join(out)


def _shared(a: str, b: str) -> int:
    most = min(len(a), len(b))
    if a[:most] == b[:most]:
        return most
    return next(i for i in range(most) if a[i] != b[i])


def _shape_of(lines: list[str]) -> str:
    """`code` if most lines end as code does, `verse` if too few of these hold more than words, else `prose`."""
    ends = [line for line in lines if _CODE_END.search(line)]
    if len(lines) < 4 or len(ends) < 0.6 * len(lines):
        return "prose"
    return "code" if sum(not _clause(line) for line in ends) >= 0.6 * len(lines) else "verse"


def _clause(line: str) -> bool:
    """Whether a line is plain words up to a comma, semicolon or colon."""
    return (_CJK_CLAUSE if CJK.search(line) else _CLAUSE).match(line) is not None


def shape(text: str) -> str:
    """`table`, `code`, `verse` (code by its line ends alone) or `prose`, by the last 600 characters."""
    lines = [line for line in text[-600:].splitlines() if line.strip()][-10:]
    rows = [at for at, line in enumerate(lines, 1) if line.count("|") >= 2 or line.count("\t") >= 2]
    if len(rows) >= 3:
        if "|" in text[-_CELL:] or "\t" in text[-_CELL:]:
            return "table"
        lines = lines[rows[-1] :]  # below the table
    if text.count("```") % 2:
        return "code"
    if (kind := _shape_of(lines)) != "prose":
        return kind
    tail = text[-600:]
    # Data written on one line (JSON, coordinates) has no lines to count; its punctuation gives it away.
    marks = sum(map(tail.count, '{}[]"'))
    if len(tail) >= 120 and marks > 0.04 * len(tail) and marks + sum(map(tail.count, ":,")) > 0.14 * len(tail):
        return "code"
    return "prose"
