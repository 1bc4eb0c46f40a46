"""Keys are known by their digest, bound to routes and rates."""

import pytest

from router.auth import ANYONE, Caller, Keys, digest
from router.errors import RouteForbidden, Unauthorized

CAR = Caller(app="car", routes=frozenset({"main"}), per_minute=2)


def keys() -> Keys:
    return Keys({digest("secret"): CAR})


def test_without_keys_the_door_is_open_unless_keys_are_required() -> None:
    assert Keys().caller(None) is ANYONE
    with pytest.raises(Unauthorized):
        Keys(required=True).caller("Bearer x")


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer wrong", "Basic secret", "secret", "Bearer \ud800"])
def test_a_wrong_key_is_refused(header: str | None) -> None:
    with pytest.raises(Unauthorized):
        keys().caller(header)


def test_a_good_key_names_its_app() -> None:
    assert keys().caller("Bearer secret").app == "car"
    assert keys().caller("bearer secret").app == "car"


def test_a_revoked_key_is_refused_from_the_next_request_on() -> None:
    held = keys()
    held.replace({}, required=True)
    with pytest.raises(Unauthorized):
        held.caller("Bearer secret")


def test_a_key_is_bound_to_its_routes() -> None:
    keys().allow(CAR, "main")
    with pytest.raises(RouteForbidden):
        keys().allow(CAR, "other")


def test_revoking_the_last_key_does_not_open_the_door() -> None:
    door = keys()
    door.replace({})
    with pytest.raises(Unauthorized):
        door.caller(None)
    later = Keys()
    later.replace({digest("secret"): CAR})
    later.replace({}, required=False)
    with pytest.raises(Unauthorized):
        later.caller("Bearer secret")
