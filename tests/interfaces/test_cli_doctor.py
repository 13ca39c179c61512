"""``coderag doctor``: what is printed, and with which code it ends."""

import json
import socket

import pytest

from coderag.engine.doctor.report import Check, DoctorReport
from coderag.interfaces.cli.commands.doctor import find_exit_code
from tests.loopback.ollama_server import OllamaServer


def closed_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"


def test_each_check_is_a_line_with_its_mark(coderag) -> None:
    result = coderag("doctor", "--only", "settings")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "✓ settings.files    no settings file: defaults apply",
        "✓ settings.trust    the repository is trusted",
        "✓ settings.keys     no exposed keys or passwords",
        "✓ settings.extras   none needed",
        "✓ settings.prompts  packaged prompts",
        "",
        "5 ok",
    ]


def test_a_failure_has_advice_and_decides_the_exit_code(coderag, tmp_path) -> None:
    address = closed_port()
    (tmp_path / ".coderag.yaml").write_text(f"llm: {{provider: ollama, base_url: '{address}'}}", encoding="utf-8")
    result = coderag("doctor", "--only", "llm")
    assert result.exit_code == 32
    assert result.stdout.startswith(f"✗ llm.server   ollama at {address} cannot be reached")
    assert "\n               hint: Start it with `ollama serve`" in result.stdout
    assert result.stdout.endswith("\n1 failed, 3 skipped\n")


def test_offline_is_no_failure(coderag, tmp_path) -> None:
    (tmp_path / ".coderag.yaml").write_text(f"llm: {{provider: ollama, base_url: '{closed_port()}'}}", encoding="utf-8")
    result = coderag("doctor", "--only", "llm", "--offline")
    assert result.exit_code == 0
    assert "- llm.server   skipped: it connects to a server\n" in result.stdout


def test_json_has_all_that_was_found(coderag, tmp_path) -> None:
    with OllamaServer(("llama3.2",)) as server:
        settings = f"llm: {{provider: ollama, base_url: '{server.url}'}}"
        (tmp_path / ".coderag.yaml").write_text(settings, encoding="utf-8")
        result = coderag("doctor", "--only", "llm", "--json")
    told = json.loads(result.stdout)
    assert (told["root"], told["exit_code"], result.exit_code) == (tmp_path.as_posix(), 32, 32)
    assert [(check["name"], check["status"]) for check in told["checks"]] == [
        ("llm.server", "ok"),
        ("llm.model", "failed"),
        ("llm.window", "skipped"),
        ("llm.request", "skipped"),
    ]
    assert told["checks"][1].keys() == {"name", "status", "message", "hint", "ms", "error"}


def test_settings_that_cannot_be_used_end_with_their_code(coderag, tmp_path) -> None:
    (tmp_path / ".coderag.yaml").write_text("llm: [", encoding="utf-8")
    assert coderag("doctor", "--only", "settings").exit_code == 3


def test_the_first_failure_decides() -> None:
    def ended(*errors: str) -> int:
        return find_exit_code(
            DoctorReport([Check("a.x", "failed" if error else "note", "", error=error) for error in errors])
        )

    assert ended() == ended("") == 0
    assert ended("", "ModelAuthenticationError", "ConfigurationError") == 31
    assert ended("InternalError") == 70


def test_an_unknown_group_is_wrong_usage(coderag) -> None:
    result = coderag("doctor", "--only", "lmm")
    assert result.exit_code == 2
    assert "'lmm' is not one of installation, settings" in result.stderr


def test_where_stdout_lacks_the_marks_they_are_letters(coderag, monkeypatch) -> None:
    import tests.interfaces.conftest as command_line

    runner = command_line.CliRunner(charset="ascii")
    monkeypatch.setattr(command_line, "CliRunner", lambda: runner)
    assert coderag("doctor", "--only", "settings").stdout.startswith("ok settings.files    no settings file")


@pytest.mark.parametrize("text", ["\x1b[2Jgone", "left\u202eright"])
def test_what_servers_say_does_not_command_the_terminal(coderag, tmp_path, text) -> None:
    with OllamaServer(answer=text) as server:
        settings = f"llm: {{provider: ollama, base_url: '{server.url}'}}"
        (tmp_path / ".coderag.yaml").write_text(settings, encoding="utf-8")
        stdout = coderag("doctor", "--only", "llm").stdout
    assert text not in stdout
    assert "llm.request" in stdout
