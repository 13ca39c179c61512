"""`coderag mcp` as a process: what it writes where, and how it ends."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.interfaces.mcp.stdio_client import DRIVER, INITIALIZE, StdioClient

OPENING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}).encode() + b"\n"

posix = pytest.mark.skipif(os.name == "nt", reason="POSIX signals and parents")


@pytest.fixture
def start(environment, tmp_path) -> Iterator[Callable[..., StdioClient]]:
    clients = []

    def start(fault: str, *arguments: str, **variables: str) -> StdioClient:
        client = StdioClient(fault, arguments, environment={**environment, **variables}, here=tmp_path)
        clients.append(client)
        return client

    yield start
    for client in clients:
        client.abandon()


def assert_pure(client: StdioClient) -> None:
    assert all(json.loads(line)["jsonrpc"] == "2.0" and line.endswith(b"\n") for line in client.lines)


def test_every_line_of_standard_output_is_a_message_whatever_is_printed(start) -> None:
    client = start("noisy")
    client.open()
    assert client.call("noise", text="hello")["result"]["content"][0]["text"] == "hello"
    client.close_input()
    assert client.end() == 0
    assert_pure(client)
    noise = b"".join(client.errors)
    assert all(noise.count(b"noise of " + kind) >= 2 for kind in (b"print", b"a descriptor", b"a child"))


def test_the_handshake_needs_nothing_that_is_slow_to_import(start) -> None:
    client = start("broken")
    client.open()


def test_an_installation_with_parts_missing_fails_requests_and_says_why(start) -> None:
    client = start("broken")
    client.open()
    for _ in range(2):
        assert "is missing" in client.ask("tools/list")["error"]["message"]
    client.close_input()
    assert client.end() == 0
    assert_pure(client)


def test_a_session_that_crashes_fails_what_is_under_way_and_the_next_request_works(start) -> None:
    client = start("crashing")
    client.open()
    assert "again" in client.call("crash")["error"]["message"]
    assert client.call("slow", seconds=0)["result"]["content"][0]["text"] == "slept"
    assert_pure(client)


def test_a_process_that_dies_leaves_only_whole_messages(start) -> None:
    client = start("crashing")
    client.open()
    client.begin("tools/call", {"name": "die", "arguments": {}})
    assert client.end() == 70
    assert_pure(client)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["--tools", "most"], 2), (["surplus"], 2), (["-C", "nowhere"], 4), (["--allow-root", "nowhere"], 4)],
)
def test_wrong_arguments_are_told_on_standard_error_alone(start, arguments, code) -> None:
    client = start("none", *arguments)
    assert (client.end(), client.lines, b"error: " in client.errors[0]) == (code, [], True)


def test_a_wrong_project_folder_of_the_environment_is_told(start) -> None:
    client = start("none", CLAUDE_PROJECT_DIR="nowhere")
    assert (client.end(), client.lines, b"nowhere" in client.errors[0]) == (4, [], True)


def test_the_end_of_the_input_ends_it(start) -> None:
    client = start("none")
    client.close_input()
    assert (client.end(), client.lines, client.errors) == (0, [], [])


def test_a_request_that_is_under_way_when_the_input_ends_is_answered(start) -> None:
    client = start("crashing")
    client.open()
    client.call("slow", seconds=0)
    request = client.begin("tools/call", {"name": "slow", "arguments": {"seconds": 0.2}})
    client.close_input()
    assert client.reply(request)["result"]["content"][0]["text"] == "slept"
    assert client.end() == 0


def test_a_request_that_takes_long_does_not_keep_it_when_the_input_ends(start) -> None:
    client = start("crashing")
    client.open()
    client.call("slow", seconds=0)
    client.begin("tools/call", {"name": "slow", "arguments": {"seconds": 1000}})
    client.close_input()
    assert client.end() == 0


@posix
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_it_without_a_word(start, number, code) -> None:
    client = start("none")
    client.open()
    client.process.send_signal(number)
    assert (client.end(), client.errors) == (code, [])


@posix
def test_a_client_that_reads_no_more_ends_it(environment, tmp_path) -> None:
    process = subprocess.Popen(
        [sys.executable, str(DRIVER), "none", "mcp"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=tmp_path,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.close()
    with process:
        process.stdin.write(OPENING)
        process.stdin.flush()
        assert process.wait(60) == 0


@posix
def test_it_ends_when_the_process_that_started_it_is_killed(environment, tmp_path) -> None:
    parent = f"""
import subprocess, sys, time
child = subprocess.Popen([sys.executable, {str(DRIVER)!r}, "none", "mcp"])
print(child.pid, flush=True)
child.wait()
"""
    read_end, write_end = os.pipe()  # keeps the input open when the parent is gone
    with (
        os.fdopen(write_end, "wb") as client,
        subprocess.Popen(
            [sys.executable, "-c", parent], stdin=read_end, stdout=subprocess.PIPE, env=environment, cwd=tmp_path
        ) as process,
    ):
        os.close(read_end)
        assert process.stdout is not None
        assert int(process.stdout.readline()) > 0
        client.write(OPENING)
        client.flush()
        assert b"protocolVersion" in process.stdout.readline()
        process.kill()
        assert process.stdout.read() == b""  # its end: nobody holds the other side any more


def test_help_tells_of_the_service_for_http(environment) -> None:
    done = subprocess.run(
        [sys.executable, str(DRIVER), "none", "mcp", "--help"],
        env=environment,
        capture_output=True,
        check=True,
        text=True,
    )
    assert "coderag serve" in " ".join(done.stdout.split())


def test_a_person_who_starts_it_by_hand_sees_what_it_is_for(environment, tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    main_end, terminal = pty.openpty()
    with os.fdopen(main_end, "wb", buffering=0) as keyboard:
        process = subprocess.Popen(
            [sys.executable, str(DRIVER), "none", "mcp"],
            stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=tmp_path,
        )  # fmt: skip
        os.close(terminal)
        assert process.stderr is not None
        with process:
            assert b"coderag install" in process.stderr.readline()
            keyboard.write(b"\x04")
            assert process.wait(60) == 0
