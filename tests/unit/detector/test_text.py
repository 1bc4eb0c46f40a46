"""Tokens do not depend on where a text is cut."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from detector.profile import profile_of
from detector.text import TOKEN, tokens
from detector.watch import Watch

PIECES = st.sampled_from(
    [
        "court",
        " ",
        "\n",
        "\n1. ",
        "\n12",
        ". ",
        "好的",
        "，",
        "ABC",
        "é",
        "e\u0301",
        "—",
        "’",
        "7",
        "\n  ",
        "- ",
        "ｆ",
        "㎏",
        "ß",
    ]
)
TEXTS = st.lists(PIECES, max_size=40).map("".join)


def read(text: str, ends: list[int]) -> list[str]:
    watch = Watch(profile_of(None))
    watch.push(text)
    out: list[str] = []
    for end in ends:
        out += watch.unread(end)
    return out + watch.unread(len(text), final=True)


@settings(deadline=None)
@given(TEXTS, st.integers(1, 40))
@example(text=" 7. ", step=1)
def test_tokens_read_in_steps_are_those_of_the_whole(text: str, step: int) -> None:
    assert read(text, list(range(step, len(text), step))) == read(text, [])


@settings(deadline=None)
@given(TEXTS)
def test_the_fast_roads_lead_to_the_same_tokens(text: str) -> None:
    assert tokens(text) == TOKEN.findall(text.casefold())
