"""A client's request is checked once, and a mistake is named with its fix."""

import json
from typing import Any

import pytest

from router.errors import BadRequest
from router.wire import ChatRequest, guess_language, parse_chat


def asked(headers: dict[str, str] | None = None, **fields: Any) -> ChatRequest:
    body = {"model": "main", "messages": [{"role": "user", "content": "hello"}], **fields}
    return parse_chat(json.dumps(body).encode(), headers or {}, "app")


def test_unknown_fields_are_kept() -> None:
    assert asked(enable_thinking=True).body["enable_thinking"] is True


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        pytest.param({"model": 3}, "model", id="model is a number"),
        pytest.param({"model": ""}, "model", id="model is empty"),
        pytest.param({"messages": []}, "messages", id="no messages"),
        pytest.param({"messages": ["hi"]}, "messages[0]", id="message is text"),
        pytest.param({"messages": [{"content": "x"}]}, "messages[0].role", id="no role"),
        pytest.param({"messages": [{"role": "user", "content": 5}]}, "messages[0].content", id="content is a number"),
        pytest.param({"n": 2}, "n", id="two replies"),
        pytest.param({"n": True}, "n", id="n is a bool"),
        pytest.param({"stream": "yes"}, "stream", id="stream is text"),
        pytest.param({"temperature": "hot"}, "temperature", id="temperature is text"),
        pytest.param({"temperature": 3}, "temperature", id="temperature too high"),
        pytest.param({"max_tokens": 0}, "max_tokens", id="no tokens"),
        pytest.param({"max_tokens": 1.5}, "max_tokens", id="part of a token"),
        pytest.param({"tools": {}}, "tools", id="tools is an object"),
        pytest.param({"stream_options": []}, "stream_options", id="stream_options is a list"),
    ],
)
def test_a_bad_field_is_named(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(BadRequest) as caught:
        asked(**fields)
    assert caught.value.param == param
    assert "must be" in caught.value.message


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"\xff\xfe", b'{"a": NaN}', b"[" * 100_000])
def test_a_body_that_is_no_json_object_is_a_bad_request(raw: bytes) -> None:
    with pytest.raises(BadRequest):
        parse_chat(raw, {})


@pytest.mark.parametrize("raw", [b"", b" \r\n"])
def test_an_empty_body_is_called_empty_and_not_broken_json(raw: bytes) -> None:
    with pytest.raises(BadRequest, match=r"^the body is empty: send one UTF-8 JSON object$"):
        parse_chat(raw, {})


@pytest.mark.parametrize(
    "headers",
    [
        {"x-pointsman-deadline-ms": "-5"},
        {"x-pointsman-deadline-ms": "soon"},
        {"x-pointsman-fallback": "never"},
        {"x-pointsman-allow-repetition": "maybe"},
        {"x-pointsman-purpose": "fun"},
        {"x-pointsman-scene": "a b"},
    ],
)
def test_a_bad_header_is_named(headers: dict[str, str]) -> None:
    with pytest.raises(BadRequest) as caught:
        asked(headers)
    assert caught.value.param == next(iter(headers))


def test_headers_say_scene_deadline_fallback_repetition_and_purpose() -> None:
    request = asked(
        {
            "x-pointsman-scene": "cockpit",
            "x-pointsman-deadline-ms": "1500",
            "x-pointsman-fallback": "none",
            "x-pointsman-allow-repetition": "true",
            "x-pointsman-purpose": "auxiliary",
        }
    )
    assert (request.scene, request.deadline_s) == ("cockpit", 1.5)
    assert (request.fallback_allowed, request.repetition_allowed, request.auxiliary) == (False, True, True)


@pytest.mark.parametrize("said", ["true", "TRUE", "True", "yes", "Yes", "1"])
def test_repetition_is_allowed_however_yes_is_spelled(said: str) -> None:
    assert asked({"x-pointsman-allow-repetition": said}).repetition_allowed


@pytest.mark.parametrize("said", ["false", "FALSE", "no", "No", "0"])
def test_repetition_is_not_allowed_however_no_is_spelled(said: str) -> None:
    assert not asked({"x-pointsman-allow-repetition": said}).repetition_allowed


@pytest.mark.parametrize("said", ["", "on", "off", "2", "ja", "true, false"])
def test_a_flag_that_is_neither_is_told_with_all_it_may_be(said: str) -> None:
    with pytest.raises(BadRequest, match="`x-pointsman-allow-repetition` must be true, yes or 1, or false, no or 0"):
        asked({"x-pointsman-allow-repetition": said})


def test_the_session_is_the_header_else_the_user_else_the_first_message() -> None:
    by_header = asked({"x-pointsman-session": "s1"}, user="u1").session
    assert by_header == asked({"x-pointsman-session": "s1"}).session
    assert by_header != asked(user="u1").session != asked().session
    assert asked().session == asked().session


@pytest.mark.parametrize(
    ("text", "language"),
    [("今天天气怎么样", "zh"), ("hello", "en"), ("use 你好 in a sentence", "zh"), ("こんにちは世界", "en"), ("", "en")],
)
def test_the_language_is_guessed_from_the_text(text: str, language: str) -> None:
    assert guess_language(text) == language


def test_the_previous_reply_is_the_last_assistant_message_with_text() -> None:
    messages = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": [{"type": "text", "text": "first"}]},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "user", "content": "b"},
    ]
    assert asked(messages=messages).previous == "first"


@pytest.mark.parametrize("fields", [{"response_format": {"type": "json_object"}}, {"tools": [{"type": "function"}]}])
def test_json_mode_and_tools_make_a_call_structured(fields: dict[str, Any]) -> None:
    assert asked(**fields).structured
    assert not asked().structured
