"""Inline reasoning is parted from text however the stream is cut."""

from hypothesis import given
from hypothesis import strategies as st

from detector import Channel, ThinkSplitter


def split(text: str, step: int) -> dict[Channel, str]:
    splitter, out = ThinkSplitter(), {Channel.TEXT: "", Channel.REASONING: ""}
    for at in range(0, len(text), step):
        for channel, piece in splitter.feed(text[at : at + step]):
            out[channel] += piece
    for channel, piece in splitter.finish():
        out[channel] += piece
    return out


def test_reasoning_at_the_start_is_parted_with_its_tags() -> None:
    for step in range(1, 30):
        got = split("<think>first a, then b</think>The answer is <b>.", step)
        assert got == {Channel.REASONING: "<think>first a, then b</think>", Channel.TEXT: "The answer is <b>."}


def test_talk_about_the_tag_stays_text() -> None:
    assert split("Use <think> to reason.", 3)[Channel.REASONING] == ""


@given(st.text(st.sampled_from("<think>/ab \n"), max_size=60), st.integers(1, 9))
def test_no_character_is_lost(text: str, step: int) -> None:
    got = split(text, step)
    assert len(got[Channel.TEXT]) + len(got[Channel.REASONING]) == len(text)
    assert got == split(text, max(1, len(text)))
