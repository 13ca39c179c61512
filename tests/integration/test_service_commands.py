"""Commands say the same with and without the service."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from coderag.app import CodeRAG
from coderag.config.trust import trust
from coderag.interfaces.cli.main import app
from tests.integration.service_machine import Machine, write_repository


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """Return a machine whose service has the repository indexed and open."""
    folder = tmp_path_factory.mktemp("machine")
    machine = Machine(folder / "home", write_repository(folder / "repo"))
    assert machine.run("index").returncode == 0
    machine.start()
    yield machine
    machine.stop()


@pytest.fixture
def as_user(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Make this process one of the machine's user."""
    for name, value in machine.variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(machine.root)
    return monkeypatch


def told(*arguments: str) -> tuple[int, bytes, bytes]:
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.stdout_bytes, result.stderr_bytes


COMMANDS = [
    "search login",
    "search login --json",
    "search login --top-k 1 --lines 0 --kind function",
    "search password --path shop --json",
    "search quantum chromodynamics",
    "search --exact verify",
    "search --regex ver.fy --json --context-lines 1",
    "search --regex [",
    "search --exact nothing-has-this",
    "search x --changed-since nonsense",
    "search x --top-k 100000",
    "context login",
    "context login --json --budget 500",
    "context login --format xml",
    "context --file shop/auth.py:4-6",
    "context --file shop/none.py",
    "context login --budget 1",
    "ask how does login work",
    "ask how does login work --json",
    "graph callers login",
    "graph callers login --json",
    "graph callers nothing_of_that_name",
    "graph callers verify",
    "graph callers verify --json",
    "graph impact shop/auth.py::verify --depth 2",
    "graph path main login",
    "graph cycles",
    "graph hotspots --json",
    "graph hotspots --kind nonsense",
    "graph outline shop/auth.py",
    "graph callees main --mermaid",
    "status",
    "status --json",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_says_the_same_through_the_service(
    machine: Machine, as_user: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    before = machine.requests
    through = told(*command.split())
    assert machine.requests > before + 1
    as_user.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert through == told(*command.split())


@pytest.mark.parametrize("command", ["search login", "context login", "graph callers login", "status"])
def test_a_command_through_the_service_imports_nothing_slow(machine: Machine, command: str) -> None:
    script = (
        "import sys\n"
        "from coderag.interfaces.cli.main import app\n"
        "try:\n"
        f"    app({command.split()!r})\n"
        "finally:\n"
        "    slow = {'pydantic', 'numpy', 'httpx', 'rich', 'yaml', 'llama_index', 'lancedb', 'coderag.app', 'email'}\n"
        "    sys.stderr.write(f'SLOW {sorted(slow & set(sys.modules))}')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=machine.environment(),
        cwd=machine.root,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.endswith("SLOW []")


def test_a_repository_that_is_not_there_is_told_as_without_the_service(
    as_user: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    through = told("search", "x", "-C", "no/such/folder")
    as_user.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert through == told("search", "x", "-C", "no/such/folder")
    assert through[0] == 4


def test_an_index_is_made_through_the_service_where_none_is(as_user: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = write_repository(tmp_path / "fresh")
    code, out, err = told("search", "login", "-C", str(root))
    assert (code, b"def login" in out, b"indexed 4 files" in err) == (0, True, True)


def test_a_repository_without_an_index_is_an_error_if_none_may_be_made(
    as_user: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    root = write_repository(tmp_path / "fresh")
    assert told("search", "login", "--no-index", "-C", str(root))[0] == 11


def test_settings_that_cannot_be_used_are_told_as_without_the_service(
    as_user: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    root = write_repository(tmp_path / "broken")
    (root / ".coderag.yaml").write_text("search:\n  top_k: many\n", encoding="utf-8")
    through = told("search", "login", "-C", str(root))
    as_user.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert through == told("search", "login", "-C", str(root))
    assert through[0] == 3


def test_settings_that_changed_are_those_of_the_next_command(as_user: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = write_repository(tmp_path / "changing")
    trust(root)
    assert told("search", "login", "-C", str(root))[1].count(b"score") == 0
    (root / ".coderag.yaml").write_text("search:\n  top_k: 1\n", encoding="utf-8")
    assert len(places(told("search", "login", "-C", str(root)))) == 1


def places(result: tuple[int, bytes, bytes]) -> list[bytes]:
    return [line for line in result[1].splitlines() if line and not line.startswith(b" ")]


def test_what_a_stranger_may_not_set_is_warned_of_once(
    as_user: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = write_repository(tmp_path / "foreign")
    CodeRAG(root).index()
    (root / ".coderag.yaml").write_text("service:\n  autostart: true\n", encoding="utf-8")
    told("search", "login", "-C", str(root))
    through = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
    caplog.clear()
    as_user.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    as_user.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # where it is noted that it was said within the hour
    told("search", "login", "-C", str(root))
    assert through == [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
    assert len(through) == 1


def test_other_values_of_variables_that_settings_name_are_minded(
    machine: Machine, as_user: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = write_repository(tmp_path / "placeholders")
    CodeRAG(root).index()
    (root / ".coderag.yaml").write_text("project: ${NAME_OF_PROJECT}\n", encoding="utf-8")
    trust(root)
    as_user.setenv("NAME_OF_PROJECT", "mine")
    with caplog.at_level("INFO", "coderag.service"):
        assert told("search", "login", "-C", str(root))[0] == 0
    assert "not using the service" in caplog.text


def test_other_settings_in_the_environment_are_minded(machine: Machine) -> None:
    one = machine.run("search", "login", CODERAG_SEARCH__TOP_K="1")
    assert len(places((0, one.stdout.encode(), b""))) == 1
