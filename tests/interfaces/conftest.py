"""The command line over a fake repository, in this process and in one of its own."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from coderag.config.trust import trust
from coderag.interfaces.cli import engine_access
from coderag.interfaces.cli.main import app
from tests.interfaces.fake_app import FakeCodeRAG

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def trusted(home: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Have this test's user trust all repositories of the tests, so that their settings hold; `test_cli_trust` does not."""
    trust(tmp_path_factory.getbasetemp())


class CommandLine:
    """Runs command lines against `behaviour`, and keeps the last repository that was opened."""

    def __init__(self) -> None:
        self.behaviour: str | BaseException = "ok"
        self.opened: FakeCodeRAG | None = None

    def open_repository(self, root: Path) -> FakeCodeRAG:
        self.opened = FakeCodeRAG(root, self.behaviour)
        return self.opened

    def __call__(
        self, *arguments: str, behaviour: str | BaseException | None = None, stdin: str | bytes = ""
    ) -> Result:
        self.behaviour = behaviour if behaviour is not None else self.behaviour
        return CliRunner().invoke(app, list(arguments), input=stdin, catch_exceptions=False)

    @property
    def calls(self) -> list[tuple[str, object]]:
        assert self.opened is not None
        return self.opened.calls


@pytest.fixture
def coderag(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> CommandLine:
    """The command line in this process, in an empty current folder."""
    command_line = CommandLine()
    monkeypatch.setattr(engine_access, "open_repository", command_line.open_repository)
    monkeypatch.chdir(tmp_path)
    return command_line


@pytest.fixture
def environment() -> dict[str, str]:
    """A clean environment for a process that finds this checkout."""
    unwanted = ("CODERAG_", "PYTHON", "NO_COLOR", "FORCE_COLOR", "CLICOLOR")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    return {**kept, "PYTHONPATH": str(CHECKOUT), "COLUMNS": "100", "TERM": "xterm-256color"}


@pytest.fixture
def process(environment: dict[str, str], tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Start the command line over a fake repository: ``process(behaviour, argument, ...)``."""

    def start(behaviour: str, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(CHECKOUT / "tests/interfaces/fake_app.py"), behaviour, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**environment, **variables},
            cwd=tmp_path,
            text=True,
            encoding="utf-8",
        )

    return start
