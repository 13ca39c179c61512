"""``coderag serve`` without a service: what it refuses, and what it says."""

import json
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from coderag.interfaces.cli import engine_access
from coderag.interfaces.cli.commands.service_control import _build_arguments
from coderag.interfaces.cli.main import app
from coderag.interfaces.serve.log_file import trim_log
from coderag.interfaces.serve.options import read_token
from tests.interfaces.fake_app import FakeCodeRAG

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def test_without_a_service_the_status_says_so_and_fails(run: Run) -> None:
    result = run("serve", "--status")
    assert (result.exit_code, result.stdout) == (40, "no service is running\n")


def test_without_a_service_the_status_is_json_too(run: Run) -> None:
    assert json.loads(run("serve", "--status", "--json").stdout) == {"running": False}


def test_ending_what_does_not_run_is_no_error(run: Run) -> None:
    result = run("serve", "--stop", "--json")
    assert (result.exit_code, json.loads(result.stdout)) == (0, {"stopped": False, "pid": None})


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--background", "--stop"], 2, "cannot be combined"),
        (["--host", "127.0.0.1"], 2, "requires --port"),
        (["--host", "0.0.0.0", "--port", "0"], 3, "reachable from the network"),  # it is refused
        (["--port", "0", "--tls-cert", "none.pem"], 3, "needs a certificate and its key"),
        (["--port", "0", "--tls-cert", "none.pem", "--tls-key", "none.pem"], 3, "cannot be read"),
        (["--allow-root", "no/such/folder"], 3, "no such directory"),
        (["--port", "70000"], 2, "65535"),
        (["--idle-minutes", "-1"], 2, "idle-minutes"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(run: Run, options: list[str], code: int, message: str) -> None:
    result = run("serve", *options)
    assert (result.exit_code, message in result.stderr) == (code, True)


def test_the_process_in_the_background_gets_all_options() -> None:
    given = {
        "host": "127.0.0.1", "port": 8000, "allowed_roots": (Path("/a"),), "idle_minutes": 5.0, "max_repositories": 2,
        "watch": False, "tls_cert": Path("/c"), "tls_key": Path("/k"), "insecure": True, "unix_sockets": False,
    }  # fmt: skip
    told = " ".join(_build_arguments(given, Path("/t")))
    assert (
        told
        == (
            "--host 127.0.0.1 --port 8000 --idle-minutes 5.0 --max-repositories 2 --tls-cert /c --tls-key /k --allow-root /a"
            " --token-file /t --no-watch --insecure --no-unix-socket"
        ).replace("/", str(Path("/")))
        or sys.platform == "win32"
    )


def test_a_command_works_in_its_own_process_without_a_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_access, "open_repository", FakeCodeRAG)
    assert isinstance(engine_access.open_warm(tmp_path), FakeCodeRAG)


def test_a_token_is_made_once_and_then_read(tmp_path: Path) -> None:
    file = tmp_path / "token"
    made = read_token(file, "a-token-of-enough-letters")
    assert (made, read_token(file, "another-token-that-is-new")) == ("a-token-of-enough-letters",) * 2


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_a_token_file_is_for_this_user_only(tmp_path: Path) -> None:
    file = tmp_path / "token"
    read_token(file, "a-token-of-enough-letters")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("text", ["", "short", "two words of enough letters", "ünlesbar-und-lang-genug"])
def test_a_file_without_a_good_token_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "token"
    file.touch(mode=0o600)
    file.write_text(text, encoding="utf-8")
    with pytest.raises(Exception, match="token"):
        read_token(file, "unused")


def test_a_log_that_grows_too_large_keeps_its_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "service.log"
    log.write_bytes(b"".join(b"line %d\n" % number for number in range(1_000)))
    with log.open("ab") as writer:
        trim_log(log, max_bytes=5_000, kept_bytes=100)
        writer.write(b"after\n")
    text = log.read_bytes()
    assert (len(text) < 200, text.startswith(b"line "), text.endswith(b"line 999\nafter\n")) == (True, True, True)
