"""What every client is put through, for those written in Python: one line of JSON for each part, then wait to be let go.

`run({"chat": ..., ...}, cancel)`: each part returns what it got, or raises. `cancel` starts a stream that never ends, reads
its first words and leaves it; the test then sees whether the upstream was let go while this process still lives.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

ROUTE = "chat"
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
    "required": ["city", "degrees"],
    "additionalProperties": False,
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "weather", "schema": SCHEMA, "strict": True}}
TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather in a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def ask(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def told(part: str, **what: Any) -> None:
    print(json.dumps({"part": part, **what}), flush=True)


def run(parts: dict[str, Callable[[], Any]], cancel: Callable[[], Any]) -> None:
    for part, story in parts.items():
        try:
            told(part, got=story())
        except Exception as error:
            told(part, error=f"{type(error).__name__}: {error}"[:500])
    left = cancel()
    told("cancel", got=left is not None)
    sys.stdin.read()
