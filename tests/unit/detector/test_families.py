"""Token families, by string and from tokenizer files."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detector.families import Family, families_of_tokenizer, family_of


@pytest.mark.parametrize(
    ("token", "family"),
    [
        (" the", Family.ENGLISH_LATIN),
        ("，你好", Family.CHINESE_CJK),
        ("です", Family.JAPANESE_KANA),
        ("한국", Family.KOREAN_HANGUL),
        ("é", Family.LATIN_EXTENDED),
        ("λ", Family.GREEK),
        ("да", Family.CYRILLIC),
        ("سلام", Family.ARABIC),
        ("שלום", Family.HEBREW),
        ("नमस्ते", Family.DEVANAGARI),
        ("தமிழ்", Family.INDIC),
        ("ไทย", Family.THAI),
        ("ខ្មែរ", Family.SOUTHEAST_ASIAN),
        ("მე", Family.CAUCASIAN),
        ("አማ", Family.ETHIOPIC),
        ("ᚠ", Family.OTHER_SCRIPT),
        (" 42", Family.DIGITS),
        ("),", Family.PUNCTUATION),
        ("\n\n", Family.WHITESPACE),
        ("", Family.WHITESPACE),
        ("∑", Family.MATHEMATICS),
        ("▒", Family.SYMBOLS),
        ("😀", Family.EMOJI),
        ("\ue000", Family.GIBBERISH_SYMBOLS),
        ("⠿", Family.GIBBERISH_SYMBOLS),
        ("bytes:\\xe4\\xbd", Family.PARTIAL_BYTES),
        ("\ud800", Family.PARTIAL_BYTES),
        ("<|im_end|>", Family.SPECIAL),
    ],
)
def test_family_of_a_token(token: str, family: Family) -> None:
    assert family_of(token) is family


def test_there_are_about_24_families() -> None:
    assert len(Family) == 25


def test_byte_level_tokenizer_is_decoded() -> None:
    data = {
        "model": {"vocab": {"Ġthe": 0, "ä½łå¥½": 1, "ä½": 2, "Ċ": 3}},
        "decoder": {"type": "ByteLevel"},
        "added_tokens": [{"id": 9, "content": "</done>", "special": True}],
    }
    assert families_of_tokenizer(json.dumps(data)) == {
        0: Family.ENGLISH_LATIN,
        1: Family.CHINESE_CJK,
        2: Family.PARTIAL_BYTES,
        3: Family.WHITESPACE,
        9: Family.SPECIAL,
    }


def test_unigram_tokenizer_and_tiktoken_ranks_are_read() -> None:
    unigram = {"model": {"vocab": [["<unk>", 0], ["\u2581да", -1.0]]}}
    assert families_of_tokenizer(json.dumps(unigram)) == {0: Family.SPECIAL, 1: Family.CYRILLIC}
    ranks = "\n".join(f"{base64.b64encode(token.encode()).decode()} {at}" for at, token in enumerate(["a", "中"]))
    assert families_of_tokenizer(ranks) == {0: Family.ENGLISH_LATIN, 1: Family.CHINESE_CJK}


def test_another_file_is_a_value_error() -> None:
    for content in ("{}", "not ranks"):
        with pytest.raises(ValueError, match=r"tokenizer\.json"):
            families_of_tokenizer(content)


@given(st.text(max_size=8))
def test_every_string_has_a_family(token: str) -> None:
    assert isinstance(family_of(token), Family)
