"""What a person sees: the streams say that they are terminals, in this process."""

import io
import sys

import pytest

from coderag.interfaces.cli.main import app
from coderag.interfaces.cli.output.progress import show_index_progress
from coderag.schema.indexing import IndexProgress


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class Screen:
    """Runs command lines with both streams being terminals."""

    def __init__(self, command_line, monkeypatch: pytest.MonkeyPatch) -> None:
        self.command_line = command_line
        self.monkeypatch = monkeypatch
        for name, value in {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "40"}.items():
            monkeypatch.setenv(name, value)
        for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
            monkeypatch.delenv(name, raising=False)

    def __call__(self, *arguments: str, behaviour: str | BaseException = "ok") -> tuple[int, str, str]:
        """Return the exit code, and what was written to standard output and standard error."""
        self.command_line.behaviour = behaviour
        stdout, stderr = Terminal(), Terminal()
        self.monkeypatch.setattr(sys, "stdout", stdout)
        self.monkeypatch.setattr(sys, "stderr", stderr)
        with pytest.raises(SystemExit) as ended:
            app(list(arguments))
        return ended.value.code, stdout.getvalue(), stderr.getvalue()


@pytest.fixture
def screen(coderag, monkeypatch: pytest.MonkeyPatch) -> Screen:
    return Screen(coderag, monkeypatch)


def test_search_links_to_the_file(screen, tmp_path) -> None:
    code, stdout, _ = screen("search", "login")
    assert code == 0
    assert f";{(tmp_path / 'src/auth/session.py').as_uri()}\x1b\\" in stdout
    assert "\x1b[1;36msrc/auth/session.py:10-14" in stdout


def test_search_without_colours(screen, monkeypatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    _, stdout, _ = screen("search", "login", "--lines", "0")
    assert "src/auth/session.py:10-14" in stdout
    assert "\x1b[1;36m" not in stdout


def test_a_result_keeps_to_its_lines(screen, monkeypatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    _, stdout, _ = screen("search", "login", "--lines", "1")
    assert [line.rstrip() for line in stdout.splitlines()] == [
        "src/auth/session.py:10-14  0.912",
        "  function auth.session.login  Open a session for a user whose password is righ…",
        "   10 def login(user: str, password: str) -> Session:",
        "",
        "src/auth/session.py:98-101  0.912",
        "  block",
        "   98 def login(user: str, password: str) -> Session:",
    ]


@pytest.mark.parametrize("depth", ["1", "2"])
def test_hostile_names_are_shown_not_obeyed(screen, monkeypatch, depth) -> None:
    monkeypatch.setenv("TERM", "dumb")
    _, stdout, _ = screen("graph", "callers", "hostile", "--depth", depth)
    assert "\x1b[2J" not in stdout
    assert "f\\x1b[2J" in stdout


@pytest.mark.parametrize("command", ["search", "context"])
def test_hostile_text_is_shown_not_obeyed(screen, command, monkeypatch) -> None:
    monkeypatch.setenv("TERM", "dumb")  # colours would stand between
    _, stdout, _ = screen(command, "login", behaviour="hostile")
    assert "\x1b[2Jb" not in stdout
    assert "a\\x1b[2Jb" in stdout


def test_an_answer_is_rendered(screen) -> None:
    _, stdout, stderr = screen("ask", "login")
    assert "```" not in stdout
    assert "1 of 1 quotation matches the files" in stdout
    assert "verified" not in stderr


def test_the_first_question_shows_progress_apart_from_the_answer(screen) -> None:
    _, stdout, stderr = screen("context", "login", behaviour="unindexed")
    assert stdout.startswith("# Code\n")
    assert "writing" in stderr
    assert "no index yet" in stderr


def test_json_for_a_terminal_is_json(screen) -> None:
    _, stdout, stderr = screen("search", "login", "--json", behaviour="unindexed")
    assert stdout.startswith('{\n  "query": "login"')
    assert "indexed 1,204 files" in stderr  # a terminal cannot mistake it for the result


def test_an_explanation_is_a_table_where_there_is_room(screen, monkeypatch) -> None:
    _, narrow, _ = screen("search", "--explain", "login")
    assert "src/auth/session.py:10-14  function auth.session.login" in narrow  # no place is broken
    monkeypatch.setenv("COLUMNS", "120")
    assert "in the context" in screen("search", "--explain", "login")[1]


@pytest.mark.parametrize(("command", "behaviour"), [("index", "partial"), ("status", "stale")])
def test_reports_are_tables(screen, command, behaviour) -> None:
    code, stdout, _ = screen(command, behaviour=behaviour)
    assert code == (5 if command == "index" else 0)
    assert "1,204 indexed" in stdout
    assert "src/broken.py" in stdout


def test_neighbours_are_columns_below_their_title(screen, monkeypatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    _, stdout, _ = screen("graph", "callees", "login")
    assert [line.rstrip() for line in stdout.splitlines()] == [
        "callees of login (2)",
        "  src/auth/session.py:12  function verify   callee, import 0.90, at src/auth/passwords.py:40",  # whole, not cut
        "  src/auth/session.py:14  external hashlib  callee, import 0.90",
    ]


def test_neighbours_of_several_steps_are_a_tree(screen, monkeypatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    _, stdout, _ = screen("graph", "callers", "login", "--depth", "2", "--limit", "4")
    assert [line.rstrip() for line in stdout.splitlines()] == [
        "callers of login (5)",
        "├── method LoginView.post  src/auth/views.py:31  caller, import 0.90",
        "│   └── function dispatch  src/routes.py:12  caller, receiver 0.80",
        "└── function main  src/cli.py:7  caller, import 0.90",
        "    └── file src/start.py  src/start.py:2  caller, import 0.90",
    ]


@pytest.mark.parametrize("depth", ["1", "2"])
def test_evidence_links_to_its_file(screen, tmp_path, depth) -> None:
    _, stdout, _ = screen("graph", "callers", "login", "--depth", depth)
    assert f";{(tmp_path / 'src/cli.py').as_uri()}\x1b\\" in stdout


def test_an_answer_without_results_has_no_title(screen) -> None:
    assert screen("graph", "callers", "nobody")[1] == ""


def test_an_export_cannot_command_the_terminal(screen) -> None:
    assert "a\\u007f" in screen("graph", "export", "--to", "json")[1]


def test_a_broken_pipe_of_the_screen_is_quiet(screen, monkeypatch) -> None:
    def broken(self: Terminal, text: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(Terminal, "write", broken)
    assert screen("search", "login")[0] == 0
    assert screen("context", "login")[0] == 0


@pytest.mark.parametrize(
    ("step", "shown"),
    [
        (IndexProgress("embed", 1_234, 0), "1,234 texts"),
        (IndexProgress("embed", 1_300, 2_600), "1,300/2,600"),
        (IndexProgress("chunk", 2, 40), "2/40"),
    ],
)
def test_progress_counts_files_and_texts(monkeypatch, step, shown) -> None:
    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setenv("TERM", "xterm-256color")
    with show_index_progress() as show:
        assert show is not None
        show(step)
    assert shown in stderr.getvalue()
    assert ("embedding" in stderr.getvalue()) == (step.stage == "embed")
