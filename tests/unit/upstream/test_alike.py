"""Events that are like the one before them: known by their bytes, and never taken for what they are not."""

import json

import pytest

from upstream.alike import TRIES, Mould
from upstream.shapes import decode_event


def event(text: str, **more: object) -> bytes:
    body = {"id": "1", "model": "gpt", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}
    return json.dumps(body | more, ensure_ascii=False).encode()


def pressed(data: bytes, text: str) -> Mould:
    mould = Mould()
    mould.press(data, text)
    return mould


@pytest.mark.parametrize("text", ["two", " a", "，火车晚点", "…", "a, b: {c}", "'", " "])
def test_the_text_of_a_like_event_is_what_a_decoder_finds(text: str) -> None:
    data = event(text)
    choices = decode_event(data).choices
    assert choices is not None and choices[0].delta is not None and choices[0].delta.content == text
    assert pressed(event("one"), "one").text(data) == text


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(event('say "so"'), id="an escaped quote"),
        pytest.param(event("line\n"), id="an escape"),
        pytest.param(event("two").replace(b"two", b"t\nwo"), id="a raw line break, which is no JSON"),
        pytest.param(event("two").replace(b"two", b"t\xffwo"), id="no UTF-8"),
        pytest.param(event("two").replace(b'"two"', b'"two", "content": "three"'), id="a second string"),
        pytest.param(event(""), id="no text"),
        pytest.param(event("two", model="other"), id="another model"),
        pytest.param(event("two", usage={"prompt_tokens": 1}), id="usage"),
        pytest.param(event("two").replace(b"null", b'"stop"'), id="an end"),
        pytest.param(event("one")[: len(event("one")) // 2], id="half an event"),
        pytest.param(event("one").replace(b'"one"', b'"'), id="start and end overlap"),
    ],
)
def test_what_is_not_alike_has_to_be_read(data: bytes) -> None:
    assert pressed(event("one"), "one").text(data) == ""


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(event("gpt"), "gpt", id="the text stands there twice"),
        pytest.param(event("x").replace(b'"x"', b'"\\u0067pt"'), "gpt", id="only another field is written as the text"),
        pytest.param(event(", "), ", ", id="the text is what stands between two strings"),
    ],
)
def test_where_the_text_is_not_sure_nothing_is_kept(data: bytes, text: str) -> None:
    assert pressed(data, text).text(data) == ""


def test_a_vendor_that_pads_each_event_with_noise_is_not_tried_for_ever() -> None:
    mould = Mould()
    for at in range(TRIES):
        mould.press(event("one", noise="n" * at), "one")
    assert mould.text(event("two", noise="n" * (TRIES - 1))) == "two"  # alike after all: tried anew
    for at in range(TRIES + 1):
        mould.press(event("one", noise="m" * at), "one")
    assert mould.text(event("two", noise="m" * TRIES)) == ""
