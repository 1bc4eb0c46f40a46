"""Limits of apps: buckets that all workers share without waiting for each other."""

import pytest

from router.auth import Caller
from router.errors import TooMany
from router.limits import STALE_S, Admission, Limits
from router.ports import Spent

CAR = Caller(app="car", per_minute=10)


def let_in(limits: Limits, caller: Caller = CAR, *, most: int = 100, bytes: int = 0, now_s: float = 0.0) -> int:
    """How many requests in a row are let in."""
    for number in range(most):
        try:
            limits.admit(caller, bytes, now_s)
        except TooMany:
            return number
    return most


def tell(*workers: Limits, now_s: float) -> None:
    """Everybody hears of everybody."""
    told = {str(at): worker.spent(now_s) for at, worker in enumerate(workers)}
    for at, worker in enumerate(workers):
        worker.heard({boot: spent for boot, spent in told.items() if boot != str(at)}, now_s)


def taken(admission: Admission | None) -> Admission:
    assert admission is not None
    return admission


def headers(admission: Admission | None) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in taken(admission).headers()}


def test_an_app_without_limits_costs_nothing() -> None:
    limits = Limits()
    assert limits.admit(Caller(app="free"), 1_000, 0.0) is None
    assert limits.spent(0.0) == {}


def test_a_minutes_worth_passes_at_once_and_then_one_every_sixth_second() -> None:
    limits = Limits()
    assert let_in(limits) == 10
    with pytest.raises(TooMany) as caught:
        limits.admit(CAR, 0, 3.0)
    assert caught.value.retry_after_s == pytest.approx(3.0)
    assert let_in(limits, now_s=6.0) == 1
    assert let_in(limits, now_s=66.0) == 10


def test_tokens_are_guessed_when_the_request_comes_and_put_right_when_it_ends() -> None:
    caller = Caller(app="car", tokens_per_minute=1_000)
    limits = Limits()
    admission = taken(limits.admit(caller, 400, 0.0))
    assert headers(admission)["x-ratelimit-remaining-tokens"] == "900"
    admission.settle(600)
    admission.settle(600)  # only once
    assert headers(admission)["x-ratelimit-remaining-tokens"] == "400"
    assert limits.spent(0.0)["car"].tokens == 600
    with pytest.raises(TooMany, match="tokens") as caught:
        limits.admit(caller, 4 * 700, 0.0)
    assert caught.value.retry_after_s == pytest.approx(18.0)


def test_a_bill_that_nobody_knows_leaves_the_guess() -> None:
    limits = Limits()
    taken(limits.admit(Caller(app="car", tokens_per_minute=1_000), 400, 0.0)).settle(0)
    assert limits.spent(0.0)["car"].tokens == 100


def test_a_request_larger_than_the_whole_bucket_passes_when_it_is_full() -> None:
    caller = Caller(app="car", tokens_per_minute=10)
    limits = Limits()
    assert let_in(limits, caller, bytes=4_000) == 1
    with pytest.raises(TooMany):
        limits.admit(caller, 4_000, 60.0)
    limits.admit(caller, 4_000, 60.0 * 100)  # its debt is waited for


def test_only_so_many_at_once() -> None:
    caller = Caller(app="car", max_concurrent=2)
    limits = Limits()
    first = taken(limits.admit(caller, 0, 0.0))
    limits.admit(caller, 0, 0.0)
    with pytest.raises(TooMany) as caught:
        limits.admit(caller, 0, 0.0)
    assert caught.value.code == "too_many_requests"
    first.settle(0)
    limits.admit(caller, 0, 0.0)


def test_what_one_worker_lets_in_the_other_does_not() -> None:
    one, other = Limits(), Limits()
    assert let_in(one, most=6) == 6
    let_in(other, most=1)
    tell(one, other, now_s=0.5)
    assert let_in(other, now_s=0.5) == 3
    tell(one, other, now_s=1.0)
    assert let_in(one, now_s=1.0) == 0


def test_telling_the_same_twice_charges_once() -> None:
    one, other = Limits(), Limits()
    tell(one, other, now_s=0.0)
    let_in(one, most=2)
    let_in(other, most=1)
    for _ in range(5):
        tell(one, other, now_s=0.5)
    assert let_in(other, now_s=0.5) == 7


def test_between_two_tellings_each_worker_lets_in_at_most_a_bucket_and_the_debt_is_waited_for() -> None:
    workers = [Limits() for _ in range(3)]
    tell(*workers, now_s=0.0)
    assert sum(let_in(worker) for worker in workers) == 30
    tell(*workers, now_s=0.5)
    # 20 too many at 10 a minute: two minutes of waiting, then the rate is exact again.
    for now_s in range(1, 120):
        tell(*workers, now_s=float(now_s))
        assert [let_in(worker, now_s=float(now_s)) for worker in workers] == [0, 0, 0]
    tell(*workers, now_s=126.0)
    assert let_in(workers[0], now_s=127.0) == 1
    tell(*workers, now_s=127.0)
    assert [let_in(worker, now_s=127.0) for worker in workers] == [0, 0, 0]


def test_a_worker_that_was_silent_for_long_is_not_charged_anew() -> None:
    one, other = Limits(), Limits()
    tell(one, other, now_s=0.0)
    for minute in range(5):
        assert let_in(one, now_s=minute * 60.0) == 10
        tell(one, other, now_s=minute * 60.0)
    other.heard({}, 290.0)
    let_in(other, most=1, now_s=300.0)
    tell(one, other, now_s=300.0)
    assert let_in(other, now_s=300.0) >= 9


def test_a_worker_that_just_started_knows_what_the_others_saw() -> None:
    old, new = Limits(), Limits()
    assert let_in(old) == 10
    tell(old, new, now_s=0.5)
    assert let_in(new, now_s=0.5) == 0


def test_a_worker_that_hears_nothing_keeps_to_its_own_part() -> None:
    one, other = Limits(), Limits()
    let_in(one)
    let_in(other, most=1)
    tell(one, other, now_s=0.0)
    gone_s = STALE_S + 1
    before = let_in(one, now_s=gone_s)
    # Half of 10 a minute: one more every 12 s instead of every 6.
    assert before + let_in(one, now_s=gone_s + 54.0) <= 6


def test_a_worker_alone_keeps_the_whole_limit_though_it_hears_nobody() -> None:
    limits = Limits()
    limits.heard({}, 0.0)
    let_in(limits)
    assert let_in(limits, now_s=STALE_S + 55.0) == 10


def test_a_changed_limit_holds_at_once_and_forgets_nothing() -> None:
    limits = Limits()
    assert let_in(limits, most=8) == 8
    assert let_in(limits, Caller(app="car", per_minute=12)) == 4
    assert let_in(limits, Caller(app="car", per_minute=5)) == 0


def test_an_idle_app_is_forgotten() -> None:
    limits = Limits()
    taken(limits.admit(CAR, 0, 0.0)).settle(0)
    assert list(limits.spent(100.0)) == ["car"]
    assert limits.spent(1_000.0) == {}


def test_a_settlement_lower_than_the_guess_gives_back_in_other_workers_too() -> None:
    caller = Caller(app="car", tokens_per_minute=1_000)
    one, other = Limits(), Limits()
    taken(other.admit(caller, 0, 0.0))
    admission = taken(one.admit(caller, 3_200, 0.0))
    tell(one, other, now_s=0.0)
    admission.settle(100)
    tell(one, other, now_s=0.0)
    assert headers(other.admit(caller, 0, 0.0))["x-ratelimit-remaining-tokens"] == "900"


def test_the_headers_are_written_as_openais() -> None:
    limits = Limits()
    first = limits.admit(Caller(app="car", per_minute=10, tokens_per_minute=600), 40, 0.0)
    assert headers(first) == {
        "x-ratelimit-limit-requests": "10",
        "x-ratelimit-remaining-requests": "9",
        "x-ratelimit-reset-requests": "6s",
        "x-ratelimit-limit-tokens": "600",
        "x-ratelimit-remaining-tokens": "590",
        "x-ratelimit-reset-tokens": "1s",
    }


def test_spent_is_what_others_are_told() -> None:
    limits = Limits()
    limits.admit(CAR, 8, 0.0)
    assert limits.spent(0.0) == {"car": Spent(requests=1, tokens=2.0, requests_left=9.0, tokens_left=0.0)}
