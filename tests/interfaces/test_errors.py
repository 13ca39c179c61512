"""The table of errors, and how a failed command ends."""

import json
import shlex

import pytest

from coderag.errors import (
    CodeRAGError,
    ConfigurationError,
    IndexLockedError,
    IndexNotFoundError,
    IngestionError,
    InvalidQueryError,
    ModelAuthenticationError,
    ModelUnavailableError,
    RetrievalError,
    ServiceBusyError,
    StorageFullError,
    UnknownNameError,
)
from coderag.interfaces.cli.output.error_report import describe_error
from coderag.interfaces.error_table import ERROR_TABLE, OTHER_CODES, find_error_row, list_exit_codes


def all_errors(base: type[CodeRAGError] = CodeRAGError) -> set[type[CodeRAGError]]:
    return {base}.union(*(all_errors(child) for child in base.__subclasses__() if child.__module__ == "coderag.errors"))


def test_every_error_has_a_row() -> None:
    assert all_errors() == set(ERROR_TABLE)


def test_no_exit_code_has_two_meanings() -> None:
    meanings = {(row.exit_code, row.meaning) for row in ERROR_TABLE.values()} | set(OTHER_CODES.items())
    assert len(meanings) == len({code for code, _ in meanings})
    assert all(0 <= code <= 130 for code in list_exit_codes())


def test_an_unknown_class_takes_the_row_of_its_base() -> None:
    class OddAuthenticationError(ModelAuthenticationError):
        pass

    assert find_error_row(OddAuthenticationError("x")).exit_code == 31


@pytest.mark.parametrize(
    "kind",
    [InvalidQueryError, ConfigurationError, IngestionError, IndexNotFoundError, RetrievalError, ServiceBusyError],
)
def test_what_a_caller_can_cause_is_no_fault_of_the_server(kind) -> None:
    below = [error for error in ERROR_TABLE if issubclass(error, kind)]
    assert all(400 <= ERROR_TABLE[error].status < 500 for error in below)


@pytest.mark.parametrize("kind", [ModelUnavailableError, StorageFullError, CodeRAGError])
def test_what_no_caller_can_cause_is_a_fault_of_the_server(kind) -> None:
    assert ERROR_TABLE[kind].status >= 500


def test_the_help_lists_every_exit_code(coderag) -> None:
    text = coderag("--help").stdout
    assert all(f"  {code} " in text and meaning in text for code, meaning in list_exit_codes().items())


@pytest.mark.parametrize("error_class", sorted(all_errors(), key=lambda error: error.__name__))
@pytest.mark.parametrize(
    "arguments", [("search", "x", "--no-index"), ("index",), ("status",), ("ask", "x", "--no-index")]
)
def test_an_error_is_one_line_a_hint_and_its_exit_code(coderag, error_class, arguments) -> None:
    result = coderag(*arguments, behaviour=error_class("the disk\nis \x1b[31mgone", hint="Mount it."))
    assert result.exit_code == ERROR_TABLE[error_class].exit_code
    assert result.stdout == ""
    assert result.stderr == "error: the disk is \\x1b[31mgone\nhint: Mount it.\n"


def test_an_error_without_a_hint_has_no_hint_line(coderag) -> None:
    assert coderag("status", behaviour=IndexNotFoundError("no index")).stderr == "error: no index\n"


def test_with_json_an_error_is_one_object_on_stderr(coderag) -> None:
    result = coderag("status", "--json", behaviour=IndexLockedError("busy", hint="Wait."))
    assert result.stdout == ""
    assert json.loads(result.stderr) == {
        "error": {
            "type": "IndexLockedError", "message": "busy", "hint": "Wait.", "exit_code": 14, "retryable": True,
        }
    }  # fmt: skip


def test_an_unexpected_exception_is_one_line(coderag) -> None:
    result = coderag("status", behaviour=ZeroDivisionError("division by zero"))
    assert result.exit_code == 70
    assert result.stdout == ""
    assert result.stderr == (
        "internal error: ZeroDivisionError: division by zero\nhint: Run it with --debug for the traceback.\n"
    )


@pytest.mark.parametrize("arguments", [("status", "--debug"), ("--debug", "status")])
def test_debug_shows_the_traceback(coderag, arguments) -> None:
    result = coderag(*arguments, behaviour=ZeroDivisionError("division by zero"))
    assert result.exit_code == 70
    assert "Traceback" in result.stderr
    assert result.stdout == ""


def test_a_broken_pipe_inside_the_engine_is_a_fault_not_a_quiet_end(coderag) -> None:
    assert coderag("status", behaviour=BrokenPipeError("a worker died")).exit_code == 70


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (OSError("External error: KeyboardInterrupt: "), 130),
        (UnknownNameError("no declaration, file or package in the index is called 'KeyboardInterrupt'"), 2),
    ],
)
def test_ctrl_c_is_told_as_such_also_where_a_library_made_another_error_of_it(coderag, error, code) -> None:
    assert coderag("index", behaviour=error).exit_code == code


def test_ctrl_c_says_that_the_index_is_intact(coderag) -> None:
    result = coderag("index", behaviour=KeyboardInterrupt())
    assert result.exit_code == 130
    assert result.stderr == "interrupted; an existing index is intact\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("search",), "Missing argument 'QUERY'."),
        (("nonsense",), "No such command 'nonsense'."),
        (("search", "x", "--nonsense"), "No such option"),
        (("search", "x", "--kind", "klass"), "Invalid value for '--kind' / '-k': 'klass' is not one of"),
        (("search", "x", "--role", "tester"), "Invalid value for '--role' / '-r': 'tester' is not one of"),
        (("search", "x", "-n", "0"), "Invalid value for '--top-k' / '-n'"),
        (("--nonsense",), "No such option"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(coderag, arguments, message) -> None:
    result = coderag(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    first, second = result.stderr.splitlines()
    assert first.startswith(f"error: {message}")
    assert second.startswith("hint: See 'coderag")
    assert "--help'." in second


@pytest.mark.parametrize("command", ["search", "ask", "context"])
@pytest.mark.parametrize("typed", ["->", "--fabric.rejoin-limit", "--dry-mode"])
def test_a_query_that_looks_like_an_option_is_told_how_to_be_typed(coderag, command, typed) -> None:
    result = coderag(command, typed)
    assert result.exit_code == 2
    assert f"coderag {command} -- {shlex.quote(typed)}" in result.stderr


def test_with_json_wrong_usage_is_json_too(coderag) -> None:
    assert json.loads(coderag("search", "--json").stderr)["error"]["type"] == "UsageError"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError("no array"), "not enough memory: no array"),
        (OSError(24, "Too many open files", "a.scm"), "too many open files: [Errno 24] Too many open files: 'a.scm'"),
        (RuntimeError("can't start new thread"), "not enough memory: can't start new thread"),
        (ImportError("lance.so: failed to map segment from shared object"), "not enough memory: lance.so"),
    ],
)
def test_a_limit_of_the_process_is_no_internal_error(error, message) -> None:
    report = describe_error(error)
    assert report is not None
    assert report.message.startswith(message)
    assert report.exit_code == 1
    assert "ulimit" in report.hint
