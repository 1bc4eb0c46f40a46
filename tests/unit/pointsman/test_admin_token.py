"""The first admin token: shown once, kept as a hash."""

import stat
from pathlib import Path

import pytest

from pointsman.admin_token import FILE, WeakToken, admin_hashes
from router.auth import digest


def test_the_first_start_makes_a_token_and_the_second_does_not_show_it(tmp_path: Path) -> None:
    hashes, token = admin_hashes(tmp_path / "var", {})
    assert token is not None
    assert hashes == {digest(token)}
    assert admin_hashes(tmp_path / "var", {}) == (hashes, None)


def test_the_token_itself_is_nowhere_on_disk(tmp_path: Path) -> None:
    _, token = admin_hashes(tmp_path, {})
    kept = (tmp_path / FILE).read_text(encoding="ascii")
    assert token is not None
    assert token not in kept
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600


def test_a_token_in_the_environment_makes_no_file(tmp_path: Path) -> None:
    assert admin_hashes(tmp_path, {"POINTSMAN_ADMIN_TOKEN": "pma-from-outside"}) == (
        frozenset({digest("pma-from-outside")}),
        None,
    )
    assert not (tmp_path / FILE).exists()


def test_a_token_in_the_environment_does_not_lock_out_who_holds_the_first_one(tmp_path: Path) -> None:
    first, _ = admin_hashes(tmp_path, {})
    hashes, shown = admin_hashes(tmp_path, {"POINTSMAN_ADMIN_TOKEN": "pma-from-outside"})
    assert (hashes, shown) == (first | {digest("pma-from-outside")}, None)


def test_three_characters_are_no_admin_token(tmp_path: Path) -> None:
    with pytest.raises(WeakToken, match="POINTSMAN_ADMIN_TOKEN has 3 characters: give it 8 or more"):
        admin_hashes(tmp_path, {"POINTSMAN_ADMIN_TOKEN": "abc"})
