"""One phrase over and over in one line under a number that counts is a loop; values in a line are not."""

import pytest

from detector import GateState, StreamGate, score
from detector.counting import counted, may_count
from detector.verdict import Rule

_LOOPS = {
    "a number before": lambda at: f"{at}. the same thing again, ",
    "a number in brackets": lambda at: f"({at}) and so on and so on; ",
    "two numbers": lambda at: f"after item {at} there comes item {at + 1}, ",
    "Chinese": lambda at: f"第{at}个苹果很大很甜，",
    "short, but many": lambda at: f"{at}. What's. ",
}


@pytest.mark.parametrize("say", _LOOPS.values(), ids=_LOOPS)
@pytest.mark.parametrize("head", ["", "The shop opens at nine.\n"])
def test_a_phrase_under_a_number_that_counts_is_found_where_it_begins(say, head) -> None:  # type: ignore[no-untyped-def]
    text = head + "".join(map(say, range(1, 60)))
    verdict = score(text)
    assert verdict.rules in ((Rule.ENUMERATION,), (Rule.TRIGRAM,))
    assert abs(verdict.start - len(head)) <= len(say(1))


def test_a_stream_of_it_is_held_and_stopped_early() -> None:
    text, gate, sent = "".join(f"{at}. the same thing again, " for at in range(1, 99)), StreamGate(), 0
    for at in range(0, len(text), 5):
        release = gate.feed(text[at : at + 5], 0.0)
        sent += len(release.text)
        if release.state is GateState.STOPPED:
            break
    assert sent <= 200
    assert gate.verdict.degenerate


@pytest.mark.parametrize(
    "text",
    [
        "; ".join(f"{f} degrees Fahrenheit are {(f - 32) / 1.8:.0f} degrees Celsius" for f in range(50, 200, 10)),
        ", ".join(f"f({n}) = {2 * n}" for n in range(1, 60)),
        " ".join(f"{n} times 7 is {7 * n}." for n in range(1, 30)),
        ", ".join(map(str, range(1, 200))),
        "".join(f'"key{n}": "the same value", ' for n in range(1, 20)),
        "The relevant ones are " + ", ".join(f"Figure {n}" for n in range(1, 30)) + ".",
        "Download " + ", ".join(f"chapter-{n:02d}.pdf" for n in range(1, 30)) + ".",
        ", ".join(f"{n} sheep" for n in range(1, 31)) + ".",
    ],
)
def test_values_in_a_line_are_healthy(text: str) -> None:
    assert not score(text).degenerate


def test_what_may_count_is_never_denied_where_it_does() -> None:
    line = "".join(f"{at}. the same thing again, " for at in range(1, 12))
    assert may_count([line], 8)
    assert counted(line, len(line), 8) is not None
    assert not may_count(["1, 2, 3, " * 60, "short 1"], 8)
    assert counted("no number at all", 16, 8) is None
