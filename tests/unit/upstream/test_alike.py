"""Events that are like the one before them: known by their bytes, and never taken for what they are not."""

import json

import pytest

from upstream.alike import SIZES, TRIES, Mould, events_in
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


def chunk(data: bytes) -> bytes:
    body = b"data: %b\n\n" % data
    return b"%x\r\n%b\r\n" % (len(body), body)


@pytest.mark.parametrize("text", ["two", " a", "，火车晚点", "x" * 300, "y" * 70_000])
def test_a_chunk_that_holds_one_like_event_is_known_frame_and_all(text: str) -> None:
    mould = pressed(event("one"), "one")
    for said in (text, text, "two"):
        whole = chunk(event(said))
        assert mould.in_chunks(whole) == [said] and events_in(whole) == [event(said)]
    several = [text, "two", "three"]
    read = b"".join(chunk(event(said)) for said in several)
    assert mould.in_chunks(read) == several and events_in(read) == [event(said) for said in several]
    mould.press(event("three", model="other"), "three")
    assert mould.in_chunks(chunk(event(text))) == []
    assert mould.in_chunks(chunk(event(text, model="other"))) == [text]


@pytest.mark.parametrize(
    "whole",
    [
        pytest.param(chunk(event("two")).upper(), id="hex in capitals, which go the longer way"),
        pytest.param(b"0" + chunk(event("two")), id="a leading zero"),
        pytest.param(chunk(event("two")).replace(b"\r\n", b";x=y\r\n", 1), id="an extension"),
        pytest.param(chunk(event("two"))[1:], id="a size that does not fit"),
        pytest.param(chunk(event("two"))[:-1], id="a byte is missing"),
        pytest.param(chunk(event("two")) + b"0", id="a byte too many"),
        pytest.param(chunk(event("two")) + chunk(event("two"))[:-1], id="one and a part"),
        pytest.param(chunk(event("two")) + b"0\r\n\r\n", id="one and the end"),
        pytest.param(chunk(event("two")) + chunk(event("two", model="other")), id="one and another"),
        pytest.param(b"-5\r\n" + chunk(event("two")), id="a size below nothing"),
        pytest.param(b"zz\r\n" + chunk(event("two")), id="no size"),
        pytest.param(b"", id="nothing"),
        pytest.param(chunk(event("two") + b"\n\ndata: " + event("two")), id="two events"),
        pytest.param(chunk(event("two")).replace(b"data: ", b"data:", 1), id="no blank"),
        pytest.param(chunk(event('say "so"')), id="an escape"),
        pytest.param(chunk(event("two", model="other")), id="another model"),
        pytest.param(b"5\r\nhello\r\n", id="shorter than any"),
        pytest.param(b"0\r\n\r\n", id="the end"),
    ],
)
def test_what_is_no_such_chunk_has_to_be_taken_apart(whole: bytes) -> None:
    assert pressed(event("one"), "one").in_chunks(whole) == []
    assert Mould().in_chunks(whole) == []


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


@pytest.mark.parametrize("digits", [2, 3, 4])
def test_a_chunk_of_one_byte_more_than_it_says_went_to_the_client_as_it_was(digits: int) -> None:
    said = 16**digits - 1
    mould = pressed(event("one"), "one")
    text = "x" * (said - len(event("")) - 8)
    fits = chunk(event(text))
    assert fits.startswith(b"%x\r\n" % said)
    assert mould.in_chunks(fits) == [text]
    assert mould.in_chunks(fits.replace(text.encode(), text.encode() + b"x")) == []


def test_reads_of_ever_other_sizes_do_not_fill_the_memory() -> None:
    mould = pressed(event("one"), "one")
    for size in range(1, 3 * SIZES):
        assert mould.in_chunks(chunk(event("x" * size))) == ["x" * size]
    assert len(mould._before_in_chunk) <= SIZES


def test_a_text_of_many_paragraphs_lost_the_short_way() -> None:
    mould = pressed(event("one"), "one")
    for _ in range(3 * TRIES):
        assert mould.in_chunks(chunk(event("two"))) == ["two"]
        assert mould.in_chunks(chunk(event("\n\n"))) == []
        mould.press(event("\n\n"), "\n\n")


def test_a_vendor_whose_events_all_hold_escapes_is_not_tried_for_ever() -> None:
    mould = pressed(event("one"), "one")
    for _ in range(TRIES + 1):
        mould.press(event("\n"), "\n")
    assert not mould.pressed
