"""How long an attempt may take, and what of that could never come to pass."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

Seconds = Annotated[float, Field(gt=0, le=3_600)]


class TimeoutSettings(BaseModel):
    """Of a route's attempts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    connect_s: Seconds = 5.0
    first_text_s: Seconds = 30.0
    idle_s: Seconds = 20.0
    total_s: Seconds = 120.0

    @model_validator(mode="after")
    def _come_to_pass(self) -> Self:
        """A limit that somebody wrote and that the whole always ends first; a default above a short whole is nobody's word."""
        never = [
            name
            for name in ("connect_s", "first_text_s", "idle_s")
            if name in self.model_fields_set and getattr(self, name) > self.total_s
        ]
        if never:
            by = f"total_s is {self.total_s:g}{'' if 'total_s' in self.model_fields_set else ' by default'}"
            rule = "must not exceed total_s, which ends the attempt before"
            parts = [((name,), f"{rule}; {name} is {getattr(self, name):g}, {by}") for name in never]
            told = "; ".join(f"{fields[0]}: {words}" for fields, words in parts)
            raise PydanticCustomError("contradictions", "{told}", {"told": told, "found": parts})
        return self
