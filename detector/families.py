"""Which family of signs a token belongs to: by its string, or by its id from a dictionary built once.

Decides; `families_of_tokenizer` takes the file's content, the caller reads it.
In:  a token's string; or a tokenizer file (Hugging Face `tokenizer.json`, or tiktoken ranks).
Out: Family; {token id: Family}.
Why families: a model that lost the thread proposes Chinese, Cyrillic and symbols for one and the same place, a model that
merely hesitates proposes synonyms (msprobe's rare-character rule, SPEC §2.6).
"""

import base64
import json
import re
import unicodedata
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any


class Family(StrEnum):
    CHINESE_CJK = "chinese_cjk"
    JAPANESE_KANA = "japanese_kana"
    KOREAN_HANGUL = "korean_hangul"
    ENGLISH_LATIN = "english_latin"
    LATIN_EXTENDED = "latin_extended"
    GREEK = "greek"
    CYRILLIC = "cyrillic"
    ARABIC = "arabic"
    HEBREW = "hebrew"
    DEVANAGARI = "devanagari"
    INDIC = "indic"
    THAI = "thai"
    SOUTHEAST_ASIAN = "southeast_asian"
    CAUCASIAN = "caucasian"
    ETHIOPIC = "ethiopic"
    OTHER_SCRIPT = "other_script"
    DIGITS = "digits"
    PUNCTUATION = "punctuation"
    WHITESPACE = "whitespace"
    MATHEMATICS = "mathematics"
    SYMBOLS = "symbols"
    EMOJI = "emoji"
    GIBBERISH_SYMBOLS = "gibberish_symbols"
    PARTIAL_BYTES = "partial_bytes"
    SPECIAL = "special"


NEUTRAL = frozenset({Family.PUNCTUATION, Family.WHITESPACE, Family.SPECIAL})
"""Fit beside any script, so they do not count as a family of their own."""

_SCRIPTS = (  # first name in Unicode's own character names -> family
    (("CJK", "KANGXI", "IDEOGRAPHIC", "BOPOMOFO"), Family.CHINESE_CJK),
    (("HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA"), Family.JAPANESE_KANA),
    (("HANGUL",), Family.KOREAN_HANGUL),
    (("GREEK",), Family.GREEK),
    (("CYRILLIC",), Family.CYRILLIC),
    (("ARABIC",), Family.ARABIC),
    (("HEBREW",), Family.HEBREW),
    (("DEVANAGARI",), Family.DEVANAGARI),
    (("BENGALI", "GURMUKHI", "GUJARATI", "ORIYA", "TAMIL", "TELUGU", "KANNADA", "MALAYALAM", "SINHALA"), Family.INDIC),
    (("THAI",), Family.THAI),
    (("LAO", "KHMER", "MYANMAR", "TIBETAN", "JAVANESE", "BALINESE"), Family.SOUTHEAST_ASIAN),
    (("ARMENIAN", "GEORGIAN"), Family.CAUCASIAN),
    (("ETHIOPIC",), Family.ETHIOPIC),
    (("LATIN", "FULLWIDTH LATIN"), Family.LATIN_EXTENDED),
)
_SPECIAL = re.compile(r"<\|.*\|>|<(?:s|/s|pad|unk|bos|eos|mask|think|/think)>|\[(?:PAD|UNK|CLS|SEP|MASK|INST|/INST)\]")


@lru_cache(maxsize=1 << 16)
def family_of(token: str) -> Family:
    """The family of most of the token's characters; letters win over the blanks and points around them."""
    if _SPECIAL.fullmatch(token):
        return Family.SPECIAL
    if token.startswith("bytes:\\x") or re.fullmatch(r"<0x[0-9A-Fa-f]{2}>", token):
        return Family.PARTIAL_BYTES
    votes: dict[Family, int] = {}
    for char in token:
        family = _of_char(char)
        votes[family] = votes.get(family, 0) + 1
    telling = {family: count for family, count in votes.items() if family not in NEUTRAL} or votes
    return max(telling, key=lambda family: telling[family], default=Family.WHITESPACE)


def _of_char(char: str) -> Family:
    code, category = ord(char), unicodedata.category(char)
    if char.isascii() and char.isalpha():
        return Family.ENGLISH_LATIN
    if category.startswith("Z") or char in "\t\n\r\v\f":
        return Family.WHITESPACE
    if category == "Nd":
        return Family.DIGITS
    if category.startswith("P") or (char.isascii() and category.startswith("S")):  # | + = < > frame text, tables, code
        return Family.PUNCTUATION
    if char == "\ufffd" or 0xD800 <= code <= 0xDFFF:
        return Family.PARTIAL_BYTES
    if code in range(0x2800, 0x2900) or category in ("Co", "Cn", "Cc"):
        return Family.GIBBERISH_SYMBOLS
    if category[0] in "LM" or category in ("Nl", "No"):
        return _of_script(char)
    if category == "Sm":
        return Family.MATHEMATICS
    if 0x1F000 <= code <= 0x1FAFF or 0x2600 <= code <= 0x27BF or category == "Cf":
        return Family.EMOJI
    return Family.SYMBOLS


def _of_script(char: str) -> Family:
    name = unicodedata.name(char, "")
    for starts, family in _SCRIPTS:
        if name.startswith(starts):
            return family
    return Family.EMOJI if name.startswith("VARIATION SELECTOR") else Family.OTHER_SCRIPT


def families_of_tokenizer(content: str) -> dict[int, Family]:
    """Build {token id: Family} from a tokenizer file's text; raises ValueError when it is neither known format."""
    if content.lstrip().startswith("{"):
        return _from_hugging_face(json.loads(content))
    return _from_ranks(content)


def _from_hugging_face(data: Mapping[str, Any]) -> dict[int, Family]:
    model = data.get("model")
    vocabulary = model.get("vocab") if isinstance(model, Mapping) else None
    if isinstance(vocabulary, list):  # Unigram: [[piece, score], ...], the place is the id
        vocabulary = {entry[0]: place for place, entry in enumerate(vocabulary)}
    if not isinstance(vocabulary, Mapping):
        raise ValueError("no model.vocab: not a tokenizer.json")
    byte_level = '"ByteLevel"' in json.dumps([data.get(part) for part in ("pre_tokenizer", "decoder")])
    plain = _byte_level_text if byte_level else _sentence_piece_text
    found = {int(number): family_of(plain(token)) for token, number in vocabulary.items()}
    added = data.get("added_tokens") or []
    found.update({int(entry["id"]): Family.SPECIAL for entry in added if entry.get("special")})
    return found


def _sentence_piece_text(token: str) -> str:
    return token.replace("\u2581", " ")


def _byte_level_text(token: str) -> str:
    """Undo GPT-2's mapping of bytes to printable characters."""
    try:
        return bytes(_BYTE_OF[char] for char in token).decode()
    except KeyError:
        return token
    except UnicodeDecodeError:
        return "\ufffd"


def _byte_table() -> dict[str, int]:
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + place): byte for place, byte in enumerate(hidden)}


_BYTE_OF = _byte_table()


def _from_ranks(content: str) -> dict[int, Family]:
    found: dict[int, Family] = {}
    for line in content.splitlines():
        if line.strip():
            token, _, rank = line.partition(" ")
            if not rank.strip().isdigit():
                raise ValueError("neither a tokenizer.json nor tiktoken ranks")
            found[int(rank)] = family_of(base64.b64decode(token).decode(errors="replace"))
    return found
