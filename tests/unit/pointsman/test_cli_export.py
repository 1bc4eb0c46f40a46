"""`pointsman export`: spans as people write them, two formats, and a file that is whole or not there."""

import asyncio
import csv
import json
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from typer.testing import CliRunner

from breaker.window import Counts
from monitor.rollup import Rollup
from pointsman.cli.main import app
from pointsman.cli.moments import moment
from store.migrate import upgrade
from store.sql_link import open_engine
from store.sql_rollups import SqlRollups

SHANGHAI = ZoneInfo("Asia/Shanghai")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A database with three hours, and the file that names it."""
    url = f"sqlite:///{tmp_path / 'x.db'}"

    async def fill() -> None:
        await upgrade(url)
        engine = open_engine(url)
        rows = [
            Rollup(model="a", scope="", starts_at=1_700_000_000.0 + 3_600 * hour, counts=Counts(judged=hour, stuck=1))
            for hour in range(3)
        ]
        await SqlRollups(engine).put_hours(rows)
        await engine.dispose()

    asyncio.run(fill())
    model = {"endpoints": [{"base_url": "http://127.0.0.1:1", "model": "m"}]}
    whole = {"sql_url": url, "models": {"a": model}, "routes": {"r": {"candidates": [{"model": "a"}]}}}
    file = tmp_path / "pointsman.yaml"
    file.write_text(json.dumps(whole), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("90m", 1_699_994_600.0),
        ("24h", 1_699_913_600.0),
        ("7d", 1_699_395_200.0),
        ("1699999999.5", 1_699_999_999.5),
        ("2023-11-15", 1_699_977_600.0),
        ("2023-11-15T06:00", 1_699_999_200.0),
        ("2023-11-15T06:00+00:00", 1_700_028_000.0),
    ],
)
def test_a_moment_may_be_an_age_a_date_or_seconds(text: str, at: float) -> None:
    assert moment(text, 1_700_000_000.0, SHANGHAI) == at


@pytest.mark.parametrize("text", ["", "yesterday", "2023-13-01", "5w", "-3h"])
def test_what_is_no_moment_is_refused_with_the_forms_that_are(text: str) -> None:
    with pytest.raises(ValueError, match="write a date"):
        moment(text, 1_700_000_000.0, SHANGHAI)


def test_json_lines_to_standard_output(config: Path) -> None:
    args = ["export", "hours", "--since", "1700000000", "--until", "1700007200", "-c", str(config)]
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 0
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(row["starts_at"], row["counts"]["stuck"]) for row in rows] == [(1_700_000_000.0, 1), (1_700_003_600.0, 1)]
    assert result.stderr == "2 rows\n"


def test_csv_to_a_file_with_a_heading_also_when_no_row_follows(config: Path, tmp_path: Path) -> None:
    file = tmp_path / "out.csv"
    for span, count in ((["--since", "1700000000"], 3), (["--since", "1m"], 0)):
        result = CliRunner().invoke(app, ["export", "hours", *span, "-f", "csv", "-o", str(file), "-c", str(config)])
        assert result.exit_code == 0, result.output
        rows = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
        assert len(rows) == count
    assert file.read_text(encoding="utf-8").startswith("id,model,scope,")
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize(
    "args", [["--since", "soon"], ["--since", "1h", "--until", "2h"], ["-o", "no/such/folder/x.csv"]]
)
def test_bad_input_is_told_in_one_line_and_exits_with_two(config: Path, args: list[str]) -> None:
    result = CliRunner().invoke(app, ["export", "hours", *args, "-c", str(config)])
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
