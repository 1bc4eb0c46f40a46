"""Who may operate, from memory."""

import pytest

from console.access import Identity, Role
from pointsman.doorkeeper import HeldTokens
from router.auth import digest

OLGA = Identity(digest=digest("op"), role=Role.OPERATOR, name="olga")


def test_the_first_token_is_an_admins_without_a_name() -> None:
    held = HeldTokens({digest("first")})
    assert held.identify("first") == Identity(digest=digest("first"), role=Role.ADMIN)
    assert held.identify("other") is None
    assert held.identify("") is None


def test_a_withdrawn_token_is_refused_and_the_first_one_stays() -> None:
    held = HeldTokens({digest("first")}, [OLGA])
    assert held.identify("op") == OLGA
    held.replace([])
    assert held.identify("op") is None
    assert held.identify("first") is not None


def test_a_session_ends_with_its_token() -> None:
    held = HeldTokens(set(), [OLGA])
    assert held.still_valid(OLGA.digest[:16]) is Role.OPERATOR
    assert held.still_valid("") is None
    held.replace([])
    assert held.still_valid(OLGA.digest[:16]) is None


def test_an_operators_token_in_the_servers_environment_makes_no_admin(caplog: pytest.LogCaptureFixture) -> None:
    held = HeldTokens({digest("op"), digest("first")})
    for _ in range(3):
        held.replace([OLGA])
    assert held.identify("op") == OLGA
    assert held.identify("first") == Identity(digest=digest("first"), role=Role.ADMIN)
    assert [record.getMessage() for record in caplog.records] == [
        "POINTSMAN_ADMIN_TOKEN holds the token of olga, who stays operator"
    ]
