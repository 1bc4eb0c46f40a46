"""The same tool call over and over, told by its lines: only the id moves on.

In:  the lines of a text, in order.
Out: how many calls in a row ask the same tool for the same thing. Agents that stop a model for this do so at the third
(opencode) to the fifth call (gemini-cli).
"""

import re

_ARGUMENTS = ('"arguments"', '"parameters"', '"input"')
_TOOL = ('"name"', '"function"', '"tool"')
_ID = re.compile(r'"(?:id|call_id|tool_call_id|index)"\s*:\s*(?:"[^"]*"|\d+)')


def holds_calls(text: str) -> bool:
    """Whether a text may hold tool calls at all."""
    return any(mark in text for mark in _ARGUMENTS)


def without_id(line: str) -> str:
    """A call's line as it is said again under another id."""
    return _ID.sub("#", line.rstrip(","))


class Calls:
    """Follows the calls among the lines of one text."""

    def __init__(self) -> None:
        self.same = 0  # calls in a row that are equal but for their ids
        self.last = ""

    def take(self, line: str) -> None:
        """Read one line without the blanks around it."""
        if not (holds_calls(line) and any(mark in line for mark in _TOOL)):
            if line[:1].isalpha():  # words between calls; brackets and tags only frame them
                self.same, self.last = 0, ""
            return
        call = without_id(line)
        self.same = self.same + 1 if call == self.last else 1
        self.last = call
