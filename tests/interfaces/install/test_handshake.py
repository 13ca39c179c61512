"""The handshake with a configured command, which may be anything by now."""

import json
import sys

import pytest

from coderag.config.trust import revoke_trust
from coderag.errors import ServiceError
from coderag.interfaces.install.handshake import probe_server

SERVER = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {}}))
        result = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "x", "version": "1"}, "capabilities": {}}
    elif message.get("method") == "tools/list":
        result = {"tools": [{"name": "a"}, {"name": "b"}]}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def python(text: str) -> list[str]:
    return [sys.executable, "-c", text]


def test_a_server_says_what_it_is(tmp_path) -> None:
    found = probe_server(python(SERVER), tmp_path)
    assert (found.server, found.protocol, list(found.tools)) == ("x 1", "2025-06-18", ["a", "b"])


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["/nowhere/coderag", "mcp"], "cannot be started"),
        (python("raise SystemExit(3)"), "exited without an answer"),
        (python("print('hello', flush=True); input()"), "invalid message: 'hello'"),
        (
            python('input(); print(\'{"id": 1, "error": {"message": "no"}}\', flush=True); input()'),
            "rejects initialize",
        ),
    ],
)
def test_what_is_no_server_is_told(tmp_path, command, told) -> None:
    with pytest.raises(ServiceError, match=told):
        probe_server(command, tmp_path)


def test_a_server_that_is_silent_is_given_up(tmp_path) -> None:
    with pytest.raises(ServiceError, match="does not answer initialize in time"):
        probe_server(python("import sys; sys.stdin.read()"), tmp_path, timeout_s=0.5)


@pytest.mark.slow
def test_the_command_that_is_written_answers(coderag, tmp_path) -> None:
    (tmp_path / "a.py").write_text("def a():\n    return 1\n")
    assert coderag("install", "cursor", "--yes").exit_code == 0
    result = coderag("install", "cursor", "--check", "--repo", str(tmp_path), "--json")
    (found,) = json.loads(result.stdout)["results"]
    assert (found["outcome"], result.exit_code) == ("answers", 0), found


def test_what_is_not_installed_cannot_be_checked(coderag) -> None:
    result = coderag("install", "cursor", "--check")
    assert result.exit_code == 3
    assert "Run `coderag install cursor`" in result.stdout


def test_a_command_that_a_strangers_project_names_is_not_started(coderag, tmp_path, tmp_path_factory) -> None:
    revoke_trust(tmp_path_factory.getbasetemp())
    started = tmp_path / "started"
    entry = {"command": sys.executable, "args": ["-c", f"open({str(started)!r}, 'w')"]}
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor/mcp.json").write_text(json.dumps({"mcpServers": {"coderag": entry}}), encoding="utf-8")
    result = coderag("install", "cursor", "--check", "--scope", "project", "--repo", str(tmp_path))
    assert (result.exit_code, started.exists(), "Nothing was started" in result.stdout) == (3, False, True)
