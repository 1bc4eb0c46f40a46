"""Counting, boards, keys of answers, genes and rows of data repeat by trade: none of them is a loop."""

import random

import pytest

from detector import score
from detector.figures import is_answer, wordy

_CHANCE = random.Random(9)
_ONES = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
_TENS = ["twenty", "thirty", "forty"]


def _hundred() -> list[str]:
    digits = "零一二三四五六七八九"
    return [
        digits[n] if n < 10 else ("" if n < 20 else digits[n // 10]) + "十" + (digits[n % 10] if n % 10 else "")
        for n in range(1, 100)
    ] + ["一百"]


def _moves(disks: int, a: str, b: str, c: str) -> list[str]:
    if not disks:
        return []
    return [*_moves(disks - 1, a, c, b), f"Move disk {disks} from peg {a} to peg {b}", *_moves(disks - 1, c, b, a)]


def _key(*answers: str) -> str:
    return "\n".join(f"{at}. {_CHANCE.choice(answers)}" for at in range(1, 41))


HEALTHY = {
    "counting in words": ", ".join(f"{ten}-{one}" for ten in _TENS for one in _ONES),
    "counting in Chinese": "、".join(_hundred()),
    "counting in Chinese, line by line": "\n".join(_hundred()),
    "a key of yes and no": _key("Yes", "No"),
    "a key of true and false": _key("True", "False"),
    "labels of a classifier": _key("positive", "negative", "neutral"),
    "labels in Chinese": _key("正面", "负面", "中性"),
    "a key in Spanish": _key("Verdadero", "Falso"),
    "a key in German": _key("richtig", "falsch"),
    "a key in Russian": _key("верно", "неверно"),
    "labels in Chinese, each after its text": "\n".join(
        f"评论{at}：{_CHANCE.choice(('正面', '负面', '中性'))}" for at in range(1, 41)
    ),
    "the same in one line": "；".join(f"评论{at}：{_CHANCE.choice(('正面', '负面', '中性'))}" for at in range(1, 41)),
    "three disks moved": "\n".join(_moves(3, "A", "C", "B")),
    "four disks moved": "\n".join(_moves(4, "A", "C", "B")),
    "a chess board": "r n b q k b n r\np p p p p p p p\n" + ". . . . . . . .\n" * 4 + "P P P P P P P P\nR N B Q K B N R",
    "a gene": "".join(_CHANCE.choice("ACGT") for _ in range(190)),
    "rows of a table of values": "date,city,status\n" + "\n".join(f"2024-03-{d:02d},Berlin,ok" for d in range(1, 32)),
    "a log of one check": "\n".join(
        f"2024-05-01T10:{m:02d}:00Z INFO [health] GET /healthz 200 {_CHANCE.randrange(2, 9)}ms" for m in range(30)
    ),
    "a drill": "\n".join(f"我{verb}{thing}。" for verb in ("喜欢", "不喜欢", "想要") for thing in ("苹果", "香蕉", "橙子", "葡萄")),
    "a drum pattern": "Kick: x---x---x---x---\nSnare: ----x-------x---\nHat: x-x-x-x-x-x-x-x-\n" * 2,
}  # fmt: skip


@pytest.mark.parametrize("text", HEALTHY.values(), ids=HEALTHY)
def test_what_says_figures_instead_of_words_is_healthy(text: str) -> None:
    verdict = score(text)
    assert not verdict.degenerate, (verdict.rules, verdict.unit)


def test_numerals_and_single_letters_are_no_words_but_a_and_i_are() -> None:
    assert not wordy(["e4", "x", "三", "twenty", "7", "k"])
    assert wordy(["a", "i", "saw", "a", "ship"])


def test_a_bullet_answers_nothing() -> None:
    assert is_answer("yes")
    assert score("Words for good:\n" + "- High\n" * 20).degenerate
    assert score("Fruits:\n" + "".join(f"{at}. Oranges\n" for at in range(1, 20))).degenerate
