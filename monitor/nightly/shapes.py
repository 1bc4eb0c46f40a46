"""What a suite file may say, and the prompt that comes of it.

In:  the decoded YAML of one file.  Out: SuiteFile, checked field by field; `item_mistakes` finds what only shows within
an item: a slot without a value, an answer that breaks the item's own schema.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from detector.profile import PROFILES
from detector.schema import schema_errors, schema_problem

SLOT = re.compile(r"\{([a-z_]+)\}")
"""A place to fill: `{city}`. A brace of JSON is followed by a quote or a blank and is none."""


class Lure(StrEnum):
    """How a prompt tempts a model to repeat itself (SPEC §5.2)."""

    OPEN_QUESTION = "open_question"
    LONG_TEXT = "long_text"
    LIST_COUNTING = "list_counting"
    RESTATEMENT = "restatement"
    JSON = "json"
    TRANSLATION = "translation"
    ROLE_PLAY = "role_play"
    CODE = "code"


PROFILE_OF = {Lure.JSON: "structured", Lure.CODE: "code"}
"""The detector's profile by lure where the item names none; else it is found from the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One question to a model. `messages` in OpenAI's shape; `schema` and `expect` only where JSON is asked for."""

    id: str
    lure: Lure
    language: str
    messages: tuple[Mapping[str, str], ...]
    max_tokens: int
    profile: str | None = None
    schema: Mapping[str, Any] | None = None
    expect: Any = None
    meta: Mapping[str, str] = field(default_factory=dict)
    """The words that were put into the item's slots."""

    @property
    def previous(self) -> str | None:
        """The reply before this one, which a restatement would say again."""
        replies = [m["content"] for m in self.messages if m["role"] == "assistant"]
        return replies[-1] if replies else None

    @property
    def asked(self) -> str:
        """The last thing the user says."""
        return self.messages[-1]["content"]


class Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Turn(Part):
    """One line of a conversation: exactly one of the two."""

    user: str | None = None
    assistant: str | None = None

    @model_validator(mode="after")
    def _one(self) -> "Turn":
        if (self.user is None) == (self.assistant is None):
            raise ValueError("a turn is either user: TEXT or assistant: TEXT")
        return self

    @property
    def role(self) -> str:
        return "user" if self.user is not None else "assistant"

    @property
    def text(self) -> str:
        return self.user or self.assistant or ""


class Item(Part):
    """A base prompt. `vary` fills its slots in every combination; `cases` row by row, each with the answer expected."""

    id: Annotated[str, Field(min_length=1, max_length=48, pattern=r"^[a-z0-9-]+$")]
    lure: Lure
    prompt: Annotated[str, Field(min_length=1, max_length=20_000)] | None = None
    turns: Annotated[list[Turn], Field(min_length=1, max_length=40)] | None = None
    system: str | None = None
    max_tokens: Annotated[int, Field(ge=16, le=32_000)] | None = None
    profile: str | None = None
    vary: dict[str, Annotated[list[str], Field(min_length=1)]] = Field(default_factory=dict)
    cases: list[dict[str, Any]] = Field(default_factory=list)
    schema_: Annotated[dict[str, Any] | None, Field(alias="schema")] = None

    @property
    def conversation(self) -> Sequence[Turn]:
        return self.turns if self.turns is not None else [Turn(user=self.prompt)]


class SuiteFile(Part):
    """One file. `size` is how many prompts it is expanded to, `seed` which of the combinations are taken."""

    suite: Annotated[str, Field(min_length=1, max_length=48)]
    language: Literal["zh", "en"]
    size: Annotated[int, Field(ge=1, le=20_000)]
    seed: int = 0
    max_tokens: Annotated[int, Field(ge=16, le=32_000)] = 400
    items: Annotated[list[Item], Field(min_length=1)]


def item_mistakes(part: SuiteFile) -> Iterator[tuple[str, str, str]]:
    """(item, field, what) for all that is wrong within the items of one file."""
    for item in part.items:
        for where, what in _mistakes(item):
            yield item.id, where, what


def _mistakes(item: Item) -> Iterator[tuple[str, str]]:
    if (item.prompt is None) == (item.turns is None):
        yield "prompt", "say either prompt or turns"
        return
    if item.turns is not None and item.turns[-1].user is None:
        yield "turns", "the last turn must be the user's: the model is asked to answer it"
    if item.lure is Lure.RESTATEMENT and not any(turn.assistant for turn in item.conversation):
        yield "turns", "a restatement needs an earlier assistant turn to fall back into"
    if item.profile is not None and item.profile not in PROFILES:
        yield "profile", f"unknown profile {item.profile!r}; known: {', '.join(PROFILES)}"
    if item.vary and item.cases:
        yield "cases", "say either vary or cases"
    yield from _slot_mistakes(item)
    if item.lure is Lure.JSON:
        yield from _answer_mistakes(item)
    elif item.schema_ is not None:
        yield "schema", "only items with lure json have one"


def _slot_mistakes(item: Item) -> Iterator[tuple[str, str]]:
    used = {name for turn in item.conversation for name in SLOT.findall(turn.text)}
    rows: list[tuple[str, set[str]]] = [("vary", set(item.vary))] if not item.cases else []
    rows += [(f"cases.{n}", set(case) - {"expect"}) for n, case in enumerate(item.cases, 1)]
    for where, filled in rows:
        for name in sorted(used - filled):
            yield where, f"nothing fills {{{name}}}"
        for name in sorted(filled - used):
            yield where, f"{name!r} fills no slot: write {{{name}}} in the text"
    for n, case in enumerate(item.cases, 1):
        for name, value in case.items():
            if name != "expect" and not isinstance(value, str):
                yield f"cases.{n}.{name}", "must be text"


def _answer_mistakes(item: Item) -> Iterator[tuple[str, str]]:
    if item.schema_ is None:
        yield "schema", "is missing: lure json tells parse, schema and content apart"
        return
    if problem := schema_problem(item.schema_):
        yield "schema", problem
        return
    if not item.cases:
        yield "cases", "is missing: lure json needs the answer that is expected, case by case"
    for n, case in enumerate(item.cases, 1):
        if "expect" not in case:
            yield f"cases.{n}.expect", "is missing"
            continue
        for error in schema_errors(case["expect"], item.schema_):
            yield f"cases.{n}.expect", f"breaks the item's own schema: {error}"
