"""Roles: each may do what the ones before it may."""

import pytest

from console.access import Identity, Role
from console.gatekeeper import actor_of


@pytest.mark.parametrize(
    ("role", "needed", "may"),
    [
        (Role.VIEWER, Role.VIEWER, True),
        (Role.VIEWER, Role.OPERATOR, False),
        (Role.OPERATOR, Role.VIEWER, True),
        (Role.OPERATOR, Role.ADMIN, False),
        (Role.ADMIN, Role.ADMIN, True),
    ],
)
def test_a_role_may_do_what_the_lower_ones_may(role: Role, needed: Role, may: bool) -> None:
    assert role.may(needed) is may


@pytest.mark.parametrize(
    ("name", "given", "actor"),
    [
        ("", "", "admin"),
        ("", "olga", "olga"),
        ("olga", "", "olga"),
        ("olga", "olga", "olga"),
        ("olga", "x", "x via olga"),
    ],
)
def test_the_audit_log_names_the_token_behind_an_act(name: str, given: str, actor: str) -> None:
    assert actor_of(Identity(digest="", role=Role.ADMIN, name=name), given) == actor
