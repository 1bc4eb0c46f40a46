"""`python -m detector score [FILE|-]`: the verdict on a text, with nothing but this room installed.

Reads the named files or stdin, writes to stdout, notes on stderr. Exit code 0 clean, 1 degenerate, 2 bad input.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter

from detector.batch import excerpt, json_line, judge, record_of, score_lines, summary, text_of


def main(argv: Sequence[str] | None = None) -> int:
    options = _options(argv)
    try:
        if options.jsonl and (options.history or options.profile):
            raise ValueError("with --jsonl, history and profile stand in each line")
        return _jsonl(options) if options.jsonl else _one(options)
    except (OSError, ValueError) as error:
        print(f"detector: {error}", file=sys.stderr)
        return 2


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m detector")
    score = parser.add_subparsers(dest="command", required=True).add_parser("score", help="judge one text or many")
    score.add_argument(
        "file", nargs="?", default="-", help="a text, or with --jsonl one JSON object a line; - is stdin"
    )
    score.add_argument("--history", type=Path, help="file with the conversation's previous reply")
    score.add_argument("--profile", help="prose, chat, structured, code, verse, list")
    score.add_argument("--json", action="store_true", help="print the verdict as JSON")
    score.add_argument("--jsonl", action="store_true", help="read and write one JSON object a line")
    score.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes for --jsonl")
    return parser.parse_args(argv)


def _one(options: argparse.Namespace) -> int:
    raw = sys.stdin.buffer.read() if options.file == "-" else Path(options.file).read_bytes()
    text = text_of(raw, "the input" if options.file == "-" else options.file)
    previous = text_of(options.history.read_bytes(), str(options.history)) if options.history else None
    verdict = judge(text, previous=previous, profile=options.profile, timer=perf_counter)
    if options.json:
        print(json_line(record_of(verdict, compared=bool(previous))))
    else:
        print(*summary(verdict, compared=bool(previous)), sep="\n")
        if verdict.degenerate:
            before, loop, after = excerpt(text, verdict)
            marks = ("\x1b[7m", "\x1b[0m") if sys.stdout.isatty() else (">>>", "<<<")
            print(f"\n{before}{marks[0]}{loop}{marks[1]}{after}")
    return int(verdict.degenerate)


def _jsonl(options: argparse.Namespace) -> int:
    bad = degenerate = seen = False
    with ExitStack() as stack:
        source = sys.stdin.buffer if options.file == "-" else stack.enter_context(Path(options.file).open("rb"))
        for result in score_lines(source, options.jobs):
            seen = True
            if result.error:
                bad = True
                print(f"line {result.number}: {result.error}", file=sys.stderr)
            else:
                degenerate = degenerate or result.degenerate
                print(result.output, flush=True)
    if not seen:
        raise ValueError("there is no line to judge")
    return 2 if bad else int(degenerate)


if __name__ == "__main__":
    sys.exit(main())
