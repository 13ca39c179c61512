"""How a command that failed ends: one line on standard error, and an exit code."""

import json
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from coderag.errors import AmbiguousNameError, CodeRAGError
from coderag.interfaces._errors import INTERNAL_ERROR, INTERRUPTED, OUTPUT_ERROR, SUCCESS, USAGE_ERROR, row_for
from coderag.interfaces._plain import as_mapping
from coderag.interfaces.cli._streams import (
    OutputError,
    ReaderGoneError,
    discard_stdout,
    flush_stdout,
    visible,
)


class InterruptedByUserError(Exception):
    """Ctrl-C."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is told of an error.

    Attributes:
        type: Name of its class, for programs.
        candidates: What an ambiguous name may mean, for programs; people are told before.
    """

    type: str
    message: str
    hint: str
    exit_code: int
    retryable: bool = False
    candidates: Sequence[Mapping[str, object]] = ()


def fault_of(error: Exception) -> Fault | None:
    """Return what to tell of an error that ended a command; None if nothing."""
    name = type(error).__name__
    if isinstance(error, ReaderGoneError):
        return None
    if isinstance(error, InterruptedByUserError):
        return Fault("Interrupted", "interrupted; an index that was there is intact", "", INTERRUPTED, retryable=True)
    if isinstance(error, CodeRAGError):
        candidates = [as_mapping(one) for one in error.candidates] if isinstance(error, AmbiguousNameError) else []
        return Fault(name, str(error), error.hint, row_for(error).exit_code, error.retryable, candidates)
    if isinstance(error, OutputError):
        return Fault(name, str(error), "", OUTPUT_ERROR)
    # Typer has its own copy of Click since 0.25, so that the class of its errors cannot be named for all versions.
    if (format_message := getattr(error, "format_message", None)) is not None:
        context = getattr(error, "ctx", None)
        hint = f"See '{context.command_path} --help'." if context is not None else ""
        return Fault("UsageError", str(format_message()), hint, USAGE_ERROR)
    return Fault(name, f"internal error: {name}: {error}", "Run it with --debug for the traceback.", INTERNAL_ERROR)


def is_of_interrupt(error: BaseException | None) -> bool:
    """Whether an error comes of Ctrl-C, which libraries turn into errors of their own when it meets them."""
    while error is not None:
        is_theirs = not isinstance(error, CodeRAGError) and not hasattr(
            error, "format_message"
        )  # Click's, of wrong usage
        if isinstance(error, KeyboardInterrupt) or (is_theirs and "KeyboardInterrupt" in str(error)):
            return True
        error = error.__cause__ or error.__context__
    return False


def report(error: Exception, *, as_json: bool, debug: bool) -> int:
    """Tell the error on standard error, and return the exit code."""
    if isinstance(error, OSError):  # help and version are written by Typer
        try:
            flush_stdout()
        except (OutputError, ReaderGoneError) as output_error:
            error = output_error
    fault = fault_of(error)
    discard = isinstance(error, (ReaderGoneError, OutputError))
    if discard:
        discard_stdout()
    if fault is None:
        return SUCCESS
    with suppress(OSError):
        if debug:
            traceback.print_exception(error)
        sys.stderr.write(_as_json(fault) if as_json else _as_text(fault))
        sys.stderr.flush()
    return fault.exit_code


def _as_json(fault: Fault) -> str:
    told = {
        "type": fault.type,
        "message": fault.message,
        "hint": fault.hint,
        "exit_code": fault.exit_code,
        "retryable": fault.retryable,
        **({"candidates": fault.candidates} if fault.candidates else {}),
    }
    return json.dumps({"error": told}) + "\n"


def _as_text(fault: Fault) -> str:
    message = " ".join(visible(fault.message).split())
    lead = "" if fault.exit_code in (INTERRUPTED, INTERNAL_ERROR) else "error: "
    hint = f"hint: {' '.join(visible(fault.hint).split())}\n" if fault.hint else ""
    return f"{lead}{message}\n{hint}"
