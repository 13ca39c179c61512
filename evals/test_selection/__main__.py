"""`python -m evals.test_selection`: record past commits with failing tests, and measure the selection of tests on them."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from .cases import format_case, record_cases
from .pytest_runs import PytestSetup


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    options = _build_parser().parse_args(arguments)
    return int(options.run(options))


def _record(options: argparse.Namespace) -> int:
    setup = PytestSetup(options.python, options.import_path, tuple(shlex.split(options.pytest)), options.timeout)
    with options.cases.open("a", encoding="utf-8") as file:
        for case in record_cases(options.repository, options.checkout, setup, options.limit, _note):
            file.write(format_case(case) + "\n")
            file.flush()
    return 0


def _note(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals.test_selection", description=__doc__)
    commands = parser.add_subparsers(required=True)
    record = commands.add_parser("record", help="run the tests of past commits, and keep those with failing tests")
    add = record.add_argument
    add("repository", type=Path, help="a clone with its history; only read")
    add("cases", type=Path, help="file to which the cases are written, one JSON object a line")
    add("--checkout", type=Path, required=True, help="folder of a clone in which the tests run")
    add("--python", type=Path, required=True, help="interpreter with the test dependencies, without the repository")
    add("--import-path", default=".", help="folder of the packages in the repository (%(default)s)")
    add("--pytest", default="", help="arguments of pytest, such as the folder of the tests")
    add("--limit", type=int, default=20, help="maximum number of cases (%(default)s)")
    add("--timeout", type=float, default=300, help="time limit of a run in seconds (%(default)s)")
    record.set_defaults(run=_record)
    return parser


if __name__ == "__main__":
    sys.exit(main())
