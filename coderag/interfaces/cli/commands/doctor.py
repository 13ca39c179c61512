"""``coderag doctor``."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coderag.interfaces.cli.options import DebugOption, JsonOption, RepoOption
from coderag.interfaces.cli.output.streams import Output, escape_controls
from coderag.interfaces.error_table import ERROR_TABLE, INTERNAL_ERROR, SUCCESS

if TYPE_CHECKING:
    from coderag.engine.doctor.examination import Examination
    from coderag.engine.doctor.report import Check, DoctorReport

_MARKS = {"ok": "✓", "note": "!", "failed": "✗", "skipped": "-"}
_PLAIN_MARKS = {"ok": "ok", "note": "!", "failed": "x", "skipped": "-"}
_STYLES = {"ok": "green", "note": "yellow", "failed": "bold red", "skipped": "dim"}
_WORDS = {"ok": "ok", "note": "notes", "failed": "failed", "skipped": "skipped"}


def _check_groups(values: list[str] | None) -> list[str]:
    from coderag.engine.doctor.examination import GROUPS

    for value in values or ():
        if value not in GROUPS:
            raise typer.BadParameter(f"{value!r} is not one of {', '.join(GROUPS)}.")
    return values or []


OfflineOption = Annotated[bool, typer.Option("--offline", help="Do not connect to any server.")]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="GROUP",
        help="Only check this group: installation, settings, repository, index, embedding, llm, reranker, chat, telemetry.",
        callback=_check_groups,
        show_default=False,
    ),
]
TimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=0.1,
        help="Time limit of each request to a server. Default: from the settings.",
        show_default=False,
    ),
]


def doctor(
    *,
    only: OnlyOption = None,
    offline: OfflineOption = False,
    timeout: TimeoutOption = None,
    repo: RepoOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Check the installation, the settings, the index and the models.

    Each failure has a hint; the exit code is that of the first. Nothing is downloaded. Configured servers receive a fixed
    sample sentence, never repository text.
    """
    del debug  # read in main, before anything can fail
    from coderag.config.repository_root import find_root
    from coderag.engine.doctor.report import DoctorReport

    output = Output(as_json)
    root = find_root(repo)
    with output.show_status("loading"):
        examination = _make_examination(root, only, offline, timeout)
    checks: list[Check] = []
    printer = _CheckPrinter(output, examination.names)
    running = examination.run_checks()
    for name in examination.names:
        with output.show_status(name):
            check = next(running)
        checks.append(check)
        if not as_json:
            printer.print(check)
    report = DoctorReport(checks)
    code = find_exit_code(report)
    if as_json:
        output.write_json({"root": root, "exit_code": code, "checks": [asdict(check) for check in checks]})
    else:
        printer.print_totals(checks)
    if code != SUCCESS:
        raise typer.Exit(code)


def find_exit_code(report: "DoctorReport") -> int:
    """Return the exit code of the first failure, or of success."""
    failure = report.first_failure
    if failure is None:
        return SUCCESS
    codes = {kind.__name__: row.exit_code for kind, row in ERROR_TABLE.items()}
    return codes.get(failure.error, INTERNAL_ERROR)


def _make_examination(root: Path, only: list[str] | None, offline: bool, timeout: float | None) -> "Examination":
    from coderag.config.trust import is_trusted
    from coderag.engine.doctor.examination import Examination

    trusted = is_trusted(root)
    return Examination(root, offline=offline, only=only or (), timeout_s=timeout, trusted=trusted)


def _can_encode(text: str) -> bool:
    """Return whether standard output can encode a text."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


class _CheckPrinter:
    """Printer of check results, one or two lines each, wrapped in a terminal."""

    def __init__(self, output: Output, names: Sequence[str]) -> None:
        self._output = output
        self._width = max(map(len, names), default=0)
        self._marks = _MARKS if _can_encode("".join(_MARKS.values())) else _PLAIN_MARKS

    def print(self, check: "Check") -> None:
        mark = self._marks[check.status]
        message = escape_controls(" ".join(check.message.split()))
        hint = escape_controls(" ".join(check.hint.split()))
        if not self._output.is_terminal:
            mark_width = max(map(len, self._marks.values()))
            self._output.write(f"{mark:<{mark_width}} {check.name:<{self._width}}  {message}")
            if hint:
                self._output.write(f"{'':<{mark_width}} {'':<{self._width}}  hint: {hint}")
            return
        from rich.table import Table
        from rich.text import Text

        style = _STYLES[check.status]
        table = Table.grid(padding=(0, 1))
        table.add_column(no_wrap=True, width=max(map(len, self._marks.values())))
        table.add_column(no_wrap=True, width=self._width)
        table.add_column(overflow="fold")
        table.add_row(Text(mark, style), Text(check.name), Text(message, style if check.status == "skipped" else ""))
        if hint:
            table.add_row("", "", Text(f"hint: {hint}", "yellow"))
        self._output.make_console().print(table)

    def print_totals(self, checks: "Sequence[Check]") -> None:
        numbers = {status: sum(check.status == status for check in checks) for status in _MARKS}
        totals = ", ".join(f"{number} {_WORDS[status]}" for status, number in numbers.items() if number)
        self._output.write(f"\n{totals}")
