"""An operator's switch: whose holds, and for how long."""

import pytest

from base.switch import FLEET, Switch, SwitchMode, in_force


def switch(route: str, mode: SwitchMode, until: float = 100.0) -> Switch:
    return Switch(route=route, mode=mode, until=until, actor="op", reason="because", set_at=0.0)


@pytest.mark.parametrize(
    ("switches", "mode"),
    [
        pytest.param([], SwitchMode.NORMAL, id="none set"),
        pytest.param([switch("main", SwitchMode.BYPASS)], SwitchMode.BYPASS, id="its own"),
        pytest.param([switch("other", SwitchMode.BYPASS)], SwitchMode.NORMAL, id="another route's"),
        pytest.param([switch(FLEET, SwitchMode.OBSERVE)], SwitchMode.OBSERVE, id="the fleet's"),
        pytest.param(
            [switch(FLEET, SwitchMode.BYPASS), switch("main", SwitchMode.PHRASE_ONLY)],
            SwitchMode.PHRASE_ONLY,
            id="its own before the fleet's",
        ),
        pytest.param([switch("main", SwitchMode.BYPASS, until=50.0)], SwitchMode.NORMAL, id="over"),
        pytest.param(
            [switch("main", SwitchMode.NORMAL), switch(FLEET, SwitchMode.BYPASS)],
            SwitchMode.BYPASS,
            id="one that was ended says nothing",
        ),
    ],
)
def test_what_holds_for_a_route(switches: list[Switch], mode: SwitchMode) -> None:
    assert in_force(switches, "main", 50.0) is mode
