"""Mistakes in the words of whoever has to mend them: nothing of the library's own comes through."""

from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import AnyHttpUrl, BaseModel, Field, ValidationError, model_validator

from base.wrong import wrong


class Inner(BaseModel):
    low: int = 1
    high: int = 2

    @model_validator(mode="after")
    def _rise(self) -> "Inner":
        if self.low > self.high:
            raise ValueError("inner: low must be below high")
        return self


class Every(BaseModel):
    text: Annotated[str, Field(min_length=2, max_length=3)] = "ab"
    whole: Annotated[int, Field(ge=1, le=9)] = 1
    number: Annotated[float, Field(gt=0, lt=1)] = 0.5
    yes: bool = True
    path: Path = Path()
    url: AnyHttpUrl | None = None
    word: Literal["a", "b"] = "a"
    many: Annotated[list[int], Field(min_length=1, max_length=2)] = [1]
    parts: dict[str, int] = {}
    inner: Inner = Inner()


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("text", 7, "must be text"),
        ("text", "a", "needs 2 characters"),
        ("text", "abcd", "may have 3 characters at most"),
        ("whole", "x", "must be a whole number"),
        ("whole", 1.5, "must be a whole number"),
        ("whole", 0, "must be 1 or more"),
        ("whole", 10, "must be 9 or less"),
        ("number", "x", "must be a number"),
        ("number", 0, "must be above 0"),
        ("number", 1, "must be below 1"),
        ("yes", "perhaps", "must be true or false"),
        ("path", [1], "must be the path of a file or folder"),
        ("url", "nonsense", "must be a URL such as https://host/v1"),
        ("url", "ftp://x", "must be a URL that begins with 'http' or 'https'"),
        ("word", "c", "must be 'a' or 'b'"),
        ("many", [], "needs 1 entry or more"),
        ("many", [1, 2, 3], "may have 2 entries at most"),
        ("many", 3, "must be a list"),
        ("parts", [], "must be a mapping"),
        ("inner", 3, "must be a mapping"),
        ("inner", {"low": 3}, "low must be below high"),
    ],
)
def test_a_mistake_says_what_must_be(field: str, value: Any, told: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Every.model_validate({field: value})
    assert wrong(dict(caught.value.errors()[0])) == told


def test_a_kind_without_words_of_ours_keeps_its_own() -> None:
    assert wrong({"type": "brand_new", "msg": "Something new", "loc": ("x",)}) == "Something new"
