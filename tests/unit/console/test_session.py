"""Signed cookies and form tokens: what is taken, and that nothing forged, old or borrowed is."""

import pytest

from console.access import Role
from console.session import LOGIN_FORM_S, SESSION_S, Sealer, Session
from console.throttle import TRIES, TRIES_OF_ALL, WINDOW_S, LoginThrottle

SEALER = Sealer(b"a" * 32)
SESSION = Session(id="s1", actor="敏", role=Role.OPERATOR, mark="abcd", began_at=1_000.0)


def test_a_session_comes_back_as_it_was_sealed() -> None:
    assert SEALER.opened(SEALER.seal(SESSION), 1_001.0) == SESSION


def test_every_changed_character_ends_the_session() -> None:
    cookie = SEALER.seal(SESSION)
    for at in range(len(cookie)):
        other = "A" if cookie[at] != "A" else "B"
        opened = SEALER.opened(cookie[:at] + other + cookie[at + 1 :], 1_001.0)
        # The last base64 digit holds spare bits: only a different signature counts as a change.
        assert opened is None or at == len(cookie) - 1


@pytest.mark.parametrize("cookie", ["", ".", "x.y", "é.é", "a" * 5_000])
def test_what_is_no_cookie_of_ours_is_nobody(cookie: str) -> None:
    assert SEALER.opened(cookie, 1_001.0) is None


def test_a_cookie_under_another_key_is_nobody() -> None:
    assert Sealer(b"b" * 32).opened(SEALER.seal(SESSION), 1_001.0) is None


def test_a_session_ends_by_itself_and_does_not_begin_in_the_future() -> None:
    cookie = SEALER.seal(SESSION)
    assert SEALER.opened(cookie, 1_000.0 + SESSION_S - 1) is not None
    assert SEALER.opened(cookie, 1_000.0 + SESSION_S) is None
    assert SEALER.opened(cookie, 999.0) is None


def test_a_form_token_serves_its_own_session_only_and_differs_on_every_page() -> None:
    one, two = SEALER.form_token("s1", b"1" * 16), SEALER.form_token("s1", b"2" * 16)
    assert one != two
    assert SEALER.is_form_token("s1", one) and SEALER.is_form_token("s1", two)
    assert not SEALER.is_form_token("s2", one)
    assert not SEALER.is_form_token("s1", "")
    assert not SEALER.is_form_token("s1", one + "x")


def test_a_login_form_grows_old_and_is_no_other_token() -> None:
    token = SEALER.login_token(b"n" * 16, 1_000.0)
    assert SEALER.is_login_token(token, 1_000.0)
    assert not SEALER.is_login_token(token, 1_000.0 + LOGIN_FORM_S)
    assert not SEALER.is_form_token("", token)
    assert not SEALER.is_login_token(SEALER.form_token("", b"n" * 16), 1_000.0)


def test_a_short_key_is_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Sealer(b"short")


def test_an_address_waits_after_its_tries_and_others_do_not() -> None:
    throttle = LoginThrottle()
    for _ in range(TRIES):
        assert throttle.wait_s("10.0.0.1", 100.0) == 0.0
        throttle.failed("10.0.0.1", 100.0)
    assert throttle.wait_s("10.0.0.1", 160.0) == pytest.approx(WINDOW_S - 60)
    assert throttle.wait_s("10.0.0.2", 160.0) == 0.0
    assert throttle.wait_s("10.0.0.1", 100.0 + WINDOW_S) == 0.0


def test_many_addresses_together_wait_too() -> None:
    throttle = LoginThrottle()
    for at in range(TRIES_OF_ALL):
        throttle.failed(f"10.0.0.{at}", 100.0)
    assert throttle.wait_s("10.9.9.9", 101.0) > 0


def test_a_success_forgets_the_failures_of_its_address() -> None:
    throttle = LoginThrottle()
    for _ in range(TRIES):
        throttle.failed("10.0.0.1", 100.0)
    throttle.succeeded("10.0.0.1")
    assert throttle.wait_s("10.0.0.1", 100.0) == 0.0
