"""Error reports of failed commands: one line on standard error, and an exit code."""

import errno
import json
import shlex
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from coderag.errors import AmbiguousNameError, CodeRAGError
from coderag.interfaces.cli.output.output_errors import OutputError, ReaderGoneError
from coderag.interfaces.cli.output.streams import discard_stdout, escape_controls, flush_stdout
from coderag.interfaces.error_table import (
    INTERNAL_ERROR,
    INTERRUPTED,
    OUTPUT_ERROR,
    SUCCESS,
    USAGE_ERROR,
    find_error_row,
)
from coderag.interfaces.json_values import to_mapping


class InterruptedByUserError(Exception):
    """Interruption by Ctrl-C."""


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """The reported attributes of an error.

    Attributes:
        type: Class name, for programs.
        candidates: Meanings of an ambiguous name, for programs.
    """

    type: str
    message: str
    hint: str
    exit_code: int
    retryable: bool = False
    candidates: Sequence[Mapping[str, object]] = ()


def _find_reached_limit(error: Exception) -> str:
    """Return the limit of the process that an error is about; empty if it is about none."""
    if (
        isinstance(error, MemoryError)
        or "can't start new thread" in str(error)
        or "failed to map segment" in str(error)
    ):
        return "not enough memory"
    number = getattr(error, "errno", None)
    if number in (errno.EMFILE, errno.ENFILE):
        return "too many open files"
    return "not enough memory" if number in (errno.ENOMEM, errno.EAGAIN) else ""


def _describe_unexpected(error: Exception) -> ErrorReport:
    name = type(error).__name__
    if limit := _find_reached_limit(error):
        hint = "Raise the limits of this shell (ulimit -a), or set `ingestion.workers` to 0."
        return ErrorReport(name, f"{limit}: {error}", hint, find_error_row(CodeRAGError("")).exit_code, retryable=True)
    return ErrorReport(
        name, f"internal error: {name}: {error}", "Run it with --debug for the traceback.", INTERNAL_ERROR
    )


def describe_error(error: Exception) -> ErrorReport | None:
    """Return the report of an error that ended a command; None if there is nothing to report."""
    name = type(error).__name__
    if isinstance(error, ReaderGoneError):
        return None
    if isinstance(error, InterruptedByUserError):
        return ErrorReport("Interrupted", "interrupted; an existing index is intact", "", INTERRUPTED, retryable=True)
    if isinstance(error, CodeRAGError):
        candidates = (
            [to_mapping(candidate) for candidate in error.candidates] if isinstance(error, AmbiguousNameError) else []
        )
        return ErrorReport(name, str(error), error.hint, find_error_row(error).exit_code, error.retryable, candidates)
    if isinstance(error, OutputError):
        return ErrorReport(name, str(error), "", OUTPUT_ERROR)
    # Typer vendors Click since 0.25, so its error class cannot be named for all versions.
    if (format_message := getattr(error, "format_message", None)) is not None:
        context = getattr(error, "ctx", None)
        hint = f"See '{context.command_path} --help'." if context is not None else ""
        typed = getattr(error, "option_name", "")
        if (
            typed
            and context is not None
            and any(parameter.name == "query" for parameter in getattr(context.command, "params", ()))
        ):
            hint += f" To search for it as text: {context.command_path} -- {shlex.quote(typed)}"
        return ErrorReport("UsageError", str(format_message()), hint, USAGE_ERROR)
    return _describe_unexpected(error)


def is_interrupt(error: BaseException | None) -> bool:
    """Return whether an error stems from Ctrl-C, which libraries may wrap in their own errors."""
    while error is not None:
        is_foreign = not isinstance(error, CodeRAGError) and not hasattr(
            error, "format_message"
        )  # usage errors of Click
        if isinstance(error, KeyboardInterrupt) or (is_foreign and "KeyboardInterrupt" in str(error)):
            return True
        error = error.__cause__ or error.__context__
    return False


def report_error(error: Exception, *, as_json: bool, debug: bool) -> int:
    """Print an error on standard error and return its exit code."""
    if isinstance(error, OSError):  # Typer writes help and version
        try:
            flush_stdout()
        except (OutputError, ReaderGoneError) as output_error:
            error = output_error
    error_report = describe_error(error)
    is_output_error = isinstance(error, (ReaderGoneError, OutputError))
    if is_output_error:
        discard_stdout()
    if error_report is None:
        return SUCCESS
    with suppress(OSError):
        if debug:
            traceback.print_exception(error)
        sys.stderr.write(_format_json(error_report) if as_json else _format_text(error_report))
        sys.stderr.flush()
    return error_report.exit_code


def _format_json(error_report: ErrorReport) -> str:
    fields = {
        "type": error_report.type,
        "message": error_report.message,
        "hint": error_report.hint,
        "exit_code": error_report.exit_code,
        "retryable": error_report.retryable,
        **({"candidates": error_report.candidates} if error_report.candidates else {}),
    }
    return json.dumps({"error": fields}) + "\n"


def _format_text(error_report: ErrorReport) -> str:
    message = " ".join(escape_controls(error_report.message).split())
    lead = "" if error_report.exit_code in (INTERRUPTED, INTERNAL_ERROR) else "error: "
    hint = f"hint: {' '.join(escape_controls(error_report.hint).split())}\n" if error_report.hint else ""
    return f"{lead}{message}\n{hint}"
