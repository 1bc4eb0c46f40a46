"""JSON lines in order on several processes, bad lines named and left out, the verdict as a record."""

import io
import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detector.__main__ import main
from detector.batch import excerpt, json_line, previous_reply, record_of, score_line, score_lines
from detector.verdict import CLEAN, Health, Verdict

LOOP = "好的，马上 " * 60
FIELDS = {
    "id", "degenerate", "class", "rules", "metrics", "profile", "thresholds", "start", "end", "onset", "repeats", "unit",
    "fingerprint",
}  # fmt: skip


def line(**data: Any) -> bytes:
    return json.dumps(data).encode() + b"\n"


def test_record_has_the_promised_fields() -> None:
    result = score_line(1, line(id="a", text=LOOP))
    record = json.loads(result.output)
    assert record.keys() == FIELDS
    assert record["degenerate"] and result.degenerate
    assert record["id"] == "a"
    assert record["metrics"].keys() == {"trigram_repeat", "char_repeat", "context_sim", "cycle_count"}
    assert len(record["fingerprint"]) == 16


def test_bad_lines_are_named_and_the_rest_goes_on() -> None:
    lines = [
        line(id=1, text="Fine."),
        b"{broken\n",
        b"\n",
        b"[]\n",
        b"\xff\n",
        line(id=2, text=LOOP),
        line(text="x", profile="no"),
    ]
    results = list(score_lines(lines))
    assert [(r.number, bool(r.error), r.degenerate) for r in results] == [
        (1, False, False),
        (2, True, False),
        (4, True, False),
        (5, True, False),
        (6, False, True),
        (7, True, False),
    ]


def test_several_processes_keep_the_order() -> None:
    lines = [line(id=at, text="word " * (at % 40)) for at in range(300)]
    assert list(score_lines(lines, jobs=2)) == list(score_lines(lines, jobs=1))


def test_input_is_read_only_as_far_as_needed() -> None:
    taken: list[int] = []

    def endless() -> Any:
        for at in range(10**9):
            taken.append(at)
            yield line(id=at, text="Fine.")

    assert next(score_lines(endless())).number == 1
    assert len(taken) == 1


def test_history_is_a_string_or_a_chat() -> None:
    chat = [{"role": "assistant", "content": "earlier"}, {"role": "user", "content": "again"}]
    assert previous_reply({"history": "earlier"}) == "earlier"
    assert previous_reply({"messages": chat}) == previous_reply({"history": chat}) == "earlier"
    assert previous_reply({"history": None}) is None


def test_restated_history_is_found() -> None:
    text = " ".join(
        f"The {noun} lies in the north of the old town." for noun in ("harbour", "market", "castle", "museum")
    )
    assert json.loads(score_line(1, line(text=text, history=text)).output)["class"] == "restatement"


def test_logprobs_are_used_when_given() -> None:
    top = [{"token": token, "logprob": -3.0} for token in ("ab", "中", "да", "ไท", "α")]
    content = [{"token": f"w{at}", "logprob": -6.0, "top_logprobs": top} for at in range(130)]
    record = json.loads(score_line(1, line(text="nothing to see here", logprobs={"content": content})).output)
    assert (record["class"], record["rules"]) == ("garble", ["garble"])


def test_lone_surrogates_are_escaped() -> None:
    assert json_line({"unit": "\ud800中"}) == '{"unit": "\\ud800\\u4e2d"}'
    assert json_line({"unit": "中"}) == '{"unit": "中"}'


def test_excerpt_shows_the_loop_between_its_surroundings() -> None:
    verdict = Verdict(health=Health.DEGENERATE, start=300, end=1300)
    before, loop, after = excerpt("a" * 300 + "b" * 1000 + "c" * 300, verdict)
    assert (before[-3:], len(loop), after[:3]) == ("aaa", 403, "ccc")
    assert excerpt("abc", CLEAN) == ("", "", "abc")
    assert record_of(CLEAN)["fingerprint"] is None


def test_command_tells_by_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    loop, fine, many = tmp_path / "loop", tmp_path / "fine", tmp_path / "many"
    loop.write_text("Sure. " + LOOP)
    fine.write_text("A short and healthy reply.")
    many.write_bytes(line(id=1, text=LOOP) + b"broken\n")
    assert main(["score", str(fine)]) == 0
    assert main(["score", str(loop)]) == 1
    assert ">>>" in capsys.readouterr().out
    assert main(["score", "--json", str(loop)]) == 1
    assert json.loads(capsys.readouterr().out).keys() == FIELDS | {"cost_us"}
    assert main(["score", "--jsonl", str(many)]) == 2
    captured = capsys.readouterr()
    assert json.loads(captured.out)["id"] == 1
    assert captured.err.startswith("line 2:")
    assert main(["score", str(tmp_path / "missing")]) == 2
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Fine.")))
    assert main(["score", "-"]) == 0


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=80) | st.text(max_size=30).map(lambda text: json.dumps({"text": text}).encode()))
def test_no_line_raises(raw: bytes) -> None:
    result = score_line(1, raw)
    assert bool(result.error) != bool(result.output)


def test_random_unicode_with_surrogates_never_raises() -> None:
    rng = random.Random(8)
    for _ in range(150):
        alphabet = [chr(rng.randrange(0x110000)) for _ in range(rng.randint(1, 9))]
        text = "".join(rng.choice(alphabet) for _ in range(rng.randint(0, 900)))
        result = score_line(1, json.dumps({"text": text, "history": text[::-1]}).encode())
        assert result.error == ""
        result.output.encode()
