"""The decorator tries max_retries + 1 times and then says all it saw."""

import math
from random import Random

import pytest

from router.retry import BadReturn, MaxRetriesReachedError, Retry


def test_it_tries_once_more_than_the_retries_and_carries_the_causes() -> None:
    slept: list[float] = []
    calls: list[int] = []

    @Retry(2, sleep=slept.append, rng=Random(1)).on_exceptions(ConnectionError)
    def ask() -> None:
        calls.append(1)
        raise ConnectionError(str(len(calls)))

    with pytest.raises(MaxRetriesReachedError) as caught:
        ask()
    assert [str(c) for c in caught.value.causes] == ["1", "2", "3"]
    assert len(calls) == 3
    assert 1.1 <= slept[0] <= 2.0
    assert 2.1 <= slept[1] <= 3.0


def test_a_value_that_the_validator_refuses_is_tried_again() -> None:
    values = iter(["", "", "good"])
    ask = Retry(2, sleep=lambda _: None).on_return(bool)(lambda: next(values))
    assert ask() == "good"


def test_other_exceptions_pass_at_once() -> None:
    @Retry(5, sleep=lambda _: pytest.fail("slept")).on_exceptions(ConnectionError)
    def ask() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        ask()


async def test_async_functions_are_awaited_and_slept_for_without_blocking() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    values = iter([None, "good"])

    @Retry(1, async_sleep=sleep).on_return(lambda v: v is not None)
    async def ask() -> str | None:
        return next(values)

    assert await ask() == "good"
    assert len(slept) == 1


def test_without_retries_there_is_one_try_and_no_sleep() -> None:
    ask = Retry(0, sleep=lambda _: pytest.fail("slept")).on_return(bool)(lambda: "")
    with pytest.raises(MaxRetriesReachedError) as caught:
        ask()
    assert isinstance(caught.value.causes[0], BadReturn)


@pytest.mark.parametrize("wrong", [{"max_retries": -1}, {"max_retries": 1, "jitter_s": 0.0}])
def test_senseless_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Retry(**wrong)  # type: ignore[arg-type]


def test_without_a_cap_waits_grow_and_never_overflow() -> None:
    retry = Retry(1, cap_s=math.inf, jitter_s=0.1)
    waits = [retry.delay_s(k) for k in range(20)]
    assert waits == sorted(waits) and waits[19] == pytest.approx(2**19 + 0.1)
    assert math.isfinite(retry.delay_s(5_000))


def test_the_decorated_function_keeps_its_name_and_words() -> None:
    def ask() -> str:
        """Ask somebody."""
        return "yes"

    async def ask_later() -> str:
        """Ask somebody later."""
        return "yes"

    assert (Retry(1)(ask).__name__, Retry(1)(ask).__doc__) == ("ask", "Ask somebody.")
    assert (Retry(1)(ask_later).__name__, Retry(1)(ask_later).__doc__) == ("ask_later", "Ask somebody later.")
