"""`python -m evals.test_selection`: record past commits with failing tests, and measure the selection of tests on them."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from .cases import format_case, read_cases, record_cases
from .measurement import read_selections, select_tests, write_selections
from .pytest_runs import PytestSetup
from .report import format_report


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


def _measure(options: argparse.Namespace) -> int:
    cases = read_cases(options.cases)
    selections = select_tests(options.cases.stem, options.checkout, cases, _note)
    print(format_report(write_selections(options.selections, selections)))
    return 0


def _report(options: argparse.Namespace) -> int:
    print(format_report([selection for path in options.selections for selection in read_selections(path)]))
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
    measure = commands.add_parser("measure", help="select tests for recorded cases")
    add = measure.add_argument
    add("cases", type=Path, help="recorded cases; the name of the file is that of the repository")
    add("selections", type=Path, help="file to which the selections are written")
    add("--checkout", type=Path, required=True, help="the clone in which the cases were recorded")
    measure.set_defaults(run=_measure)
    report = commands.add_parser("report", help="print the figures of several repositories together")
    report.add_argument("selections", type=Path, nargs="+", help="written selections")
    report.set_defaults(run=_report)
    return parser


if __name__ == "__main__":
    sys.exit(main())
