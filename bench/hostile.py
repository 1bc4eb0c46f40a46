"""Constructed texts that are the worst known for a detector of repetition; 200,000 characters each."""

import random
import string

SIZE = 200_000


def hostile(size: int = SIZE) -> dict[str, str]:
    """Name and text of each."""
    chance = random.Random(1)
    words = ["".join(chance.choices(string.ascii_lowercase, k=chance.randint(2, 9))) for _ in range(2000)]
    texts = {
        "Fibonacci word": fibonacci(size),
        "Thue-Morse word": thue_morse(size),
        "one letter, then another": "a" * (size - 1) + "b",
        "two letters at random": "".join(chance.choices("ab", k=size)),
        "a unit of 50 with a slip in every third copy": _slips(words[:8], 3, size, chance),
        "a unit of 4,000 with a slip in every second copy": _slips(words[:600], 2, size, chance),
        "Thue-Morse word of two words": " ".join({"a": "yes", "b": "no"}[letter] for letter in thue_morse(size // 3)),
        "a numbered list of words that come again": "".join(f"{at}. {words[at % 977]}\n" for at in range(size // 9)),
        "a table of words that come again": "".join(
            f"|{'|'.join(words[(at * 7 + column) % 500] for column in range(6))}|\n" for at in range(size // 30)
        ),
        "blanks": " " * size,
    }
    return {name: text[:size] for name, text in texts.items()}


def fibonacci(size: int) -> str:
    last, word = "a", "ab"
    while len(word) < size:
        last, word = word, word + last
    return word[:size]


def thue_morse(size: int) -> str:
    return "".join("ab"[at.bit_count() & 1] for at in range(size))


def _slips(words: list[str], every: int, size: int, chance: random.Random) -> str:
    out: list[str] = []
    length = copies = 0
    while length < size:
        copy = list(words)
        copies += 1
        if copies % every == 0:
            copy[chance.randrange(len(copy))] = "slip"
        out.append(" ".join(copy))
        length += len(out[-1]) + 1
    return " ".join(out)
