"""Pieces of a file that machines judge apart give what one reading of it gives."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detector.batch import LineResult, score_lines
from pointsman.ray_scoring import pieces, score_piece


def in_pieces(file: Path, size: int) -> list[LineResult]:
    return [LineResult(**result) for piece in pieces(file, size) for result in score_piece(piece)["results"]]


@settings(deadline=None)  # starting up the detector counts for the first example
@given(
    texts=st.lists(st.text(max_size=40), max_size=12),
    size=st.integers(1, 90),
    end=st.sampled_from(["\n", "", "\n\n"]),
)
def test_pieces_cover_every_line_once_and_in_order(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], size: int, end: str
) -> None:
    file = tmp_path_factory.mktemp("lines") / "replies.jsonl"
    lines = [json.dumps({"id": n, "text": text}) for n, text in enumerate(texts)]
    file.write_text("\n".join(lines) + end if lines else "", encoding="utf-8")
    with file.open("rb") as source:
        assert in_pieces(file, size) == list(score_lines(source))


def test_a_bad_line_keeps_its_number_in_whatever_piece_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    file.write_text('{"text": "fine"}\n' * 9 + "{broken\n" + '{"text": "fine"}\n')
    told = [(result.number, bool(result.error)) for result in in_pieces(file, 40)]
    assert told == [(n, n == 10) for n in range(1, 12)]
