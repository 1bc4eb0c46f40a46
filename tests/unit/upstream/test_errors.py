"""Every foreign exception has a name of ours."""

import asyncio
import inspect
from typing import Any

import httpx
import pytest

from base.errors import Next, Whose
from base.faults import Fault
from upstream.errors import FOREIGN, error_codes, mapped, refusal, seconds

FOREIGN_CLASSES = [cls for _, cls in inspect.getmembers(httpx, inspect.isclass) if issubclass(cls, Exception)]


@pytest.mark.parametrize("cls", FOREIGN_CLASSES, ids=lambda cls: cls.__name__)
def test_every_exception_of_httpx_is_listed_by_itself(cls: type[Exception]) -> None:
    assert cls in FOREIGN


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        pytest.param(httpx.ConnectTimeout("x"), Fault.TIMEOUT_CONNECT, id="connect timeout before its parents"),
        pytest.param(httpx.ConnectError("x"), Fault.CONNECT_FAILED, id="connect error"),
        pytest.param(httpx.RemoteProtocolError("x"), Fault.BROKEN_STREAM, id="cut body"),
        pytest.param(httpx.LocalProtocolError("x"), Fault.GARBLED_PROTOCOL, id="ours to say, not sayable"),
        pytest.param(ConnectionResetError(), Fault.BROKEN_STREAM, id="a subclass by its nearest parent"),
        pytest.param(asyncio.IncompleteReadError(b"", 1), Fault.BROKEN_STREAM, id="asyncio's own"),
    ],
)
def test_the_nearest_listed_ancestor_names_the_fault(error: Exception, fault: Fault) -> None:
    ours = mapped(error)
    assert ours.fault is fault
    assert "x" not in ours.detail.split()


def test_an_exception_of_ours_is_never_swallowed() -> None:
    with pytest.raises(TypeError):
        mapped(KeyError("bug"))


@pytest.mark.parametrize(
    ("status", "body", "fault", "whose", "following"),
    [
        (401, None, Fault.FORBIDDEN, Whose.OURS, Next.NEXT_RUNG),
        (402, None, Fault.FORBIDDEN, Whose.OURS, Next.NEXT_RUNG),
        (403, None, Fault.FORBIDDEN, Whose.OURS, Next.NEXT_RUNG),
        (404, None, Fault.FORBIDDEN, Whose.OURS, Next.NEXT_RUNG),
        (429, None, Fault.RATE_LIMITED, Whose.MODEL, Next.NEXT_RUNG),
        (400, {"error": {"code": "bad"}}, Fault.REJECTED, Whose.CALLER, Next.STOP),
        (413, None, Fault.REJECTED, Whose.CALLER, Next.STOP),
        (422, [], Fault.REJECTED, Whose.CALLER, Next.STOP),
        (400, {"error": {"code": "context_length_exceeded"}}, Fault.CONTEXT_TOO_LONG, Whose.CALLER, Next.NEXT_RUNG),
        (
            400,
            {"error": {"type": "exceed_context_size_error", "code": 400}},
            Fault.CONTEXT_TOO_LONG,
            Whose.CALLER,
            Next.NEXT_RUNG,
        ),
        (400, {"error": {"message": "context_length_exceeded"}}, Fault.REJECTED, Whose.CALLER, Next.STOP),
        (500, "text", Fault.SERVER_ERROR, Whose.MODEL, Next.NEXT_RUNG),
        (503, None, Fault.SERVER_ERROR, Whose.MODEL, Next.NEXT_RUNG),
        (302, None, Fault.GARBLED_PROTOCOL, Whose.MODEL, Next.NEXT_RUNG),
    ],
)
def test_a_status_decides_by_itself_and_by_code_never_by_message(
    status: int, body: object, fault: Fault, whose: Whose, following: Next
) -> None:
    error = refusal(status, body, None)
    assert (error.fault, error.whose, error.next) == (fault, whose, following)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [("3", 3.0), ("0.5", 0.5), ("-1", None), ("", None), (None, None), ("Wed", None), ("nan", None), ("inf", None)],
)
def test_retry_after_is_seconds_or_nothing(value: str | None, wanted: float | None) -> None:
    assert seconds(value) == wanted


def test_code_words_are_short_and_sentences_are_left_out() -> None:
    assert error_codes({"error": {"code": "a b" * 40, "type": "rate_limit"}, "code": "x"}) == ("rate_limit", "x")
    assert error_codes(None) == error_codes([]) == error_codes("x") == ()


@pytest.mark.parametrize(
    ("body", "told"),
    [
        pytest.param(
            {"error": {"message": "bad tool", "param": "tools"}}, {"message": "bad tool", "param": "tools"}, id="OpenAI"
        ),
        pytest.param({"error": "bad tool"}, "bad tool", id="a bare sentence"),
        pytest.param({"object": "error", "message": "bad tool", "code": "x"}, "bad tool", id="vLLM"),
        pytest.param({"detail": "bad tool"}, "bad tool", id="FastAPI"),
        pytest.param({"error": {}}, None, id="nothing said"),
        pytest.param([1], None, id="no object"),
        pytest.param(None, None, id="no JSON"),
    ],
)
def test_what_a_model_says_of_the_callers_request_is_kept_in_openais_shape(body: Any, told: Any) -> None:
    for status in (400, 413, 422):
        kept = refusal(status, body, None).told
        if isinstance(told, str):
            assert kept is not None and kept["error"]["message"] == told
        else:
            assert kept == (None if told is None else {"error": told})
    assert refusal(500, body, None).told is None, "what a broken server says is not for the caller"
