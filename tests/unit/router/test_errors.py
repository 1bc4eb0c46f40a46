"""Every code that a client may be told stands in docs/api.md."""

from pathlib import Path

import pytest

from base.faults import Fault
from router import errors
from router.errors import RouterError

PAGE = (Path(__file__).parents[3] / "docs" / "api.md").read_text(encoding="utf-8")
CLASSES = [v for v in vars(errors).values() if isinstance(v, type) and issubclass(v, RouterError)]


@pytest.mark.parametrize("kind", CLASSES)
def test_every_error_is_on_the_page_with_its_status(kind: type[RouterError]) -> None:
    row = next(line for line in PAGE.splitlines() if f"`{kind.code}`" in line and line.startswith("| "))
    assert f"| {kind.status} |" in row


@pytest.mark.parametrize("fault", [Fault.REPETITION, Fault.EMPTY, Fault.INVALID_FORMAT, Fault.GARBLE])
def test_every_soft_fault_is_on_the_page(fault: Fault) -> None:
    assert f"`{fault.value}`" in PAGE


def test_the_shape_is_openais_and_lists_the_attempts_where_models_were_tried() -> None:
    plain = RouterError("wrong", param="n").shape()
    assert plain == {
        "error": {"message": "wrong", "type": "invalid_request_error", "param": "n", "code": "invalid_request"}
    }
    assert RouterError("wrong", attempts=[{"model": "a"}]).shape()["error"]["attempts"] == [{"model": "a"}]
