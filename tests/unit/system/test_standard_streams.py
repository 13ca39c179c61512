"""Messages over standard input and output, of a process in which libraries and commands use these, too."""

import os
import subprocess

import pytest

from coderag.system.subprocesses import build_python_command, build_python_environment

CHATTER = """
import os, subprocess, sys
from coderag.system.standard_streams import take_streams
given, replies = take_streams()
print("from Python", flush=True)
os.write(1, b"from below")
subprocess.run([sys.executable, "-c", "import sys; print(sys.stdin.read())"])
os.write(replies, b"reply to " + os.read(given, 5))
"""


def run(redirections: str = "") -> "subprocess.CompletedProcess[bytes]":
    command = build_python_command(CHATTER)
    if redirections:
        command = ["sh", "-c", f'exec "$@" {redirections}', "sh", *command]
    return subprocess.run(
        command, input=b"task\nnext\n", capture_output=True, env=build_python_environment(), check=False
    )


def test_nothing_that_others_print_or_read_gets_between_the_messages():
    done = run()
    assert done.returncode == 0
    assert done.stdout == b"reply to task\n"
    assert b"from Python" in done.stderr
    assert b"from below" in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
@pytest.mark.parametrize(
    ("redirections", "output"),
    [("2>&-", b"reply to task\n"), ("<&-", b"reply to "), ("<&- 2>&-", b"reply to ")],
)
def test_streams_that_are_closed_are_empty_and_nothing_takes_their_place(redirections, output):
    done = run(redirections)
    assert (done.returncode, done.stdout) == (0, output)


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
def test_without_standard_output_there_is_nothing_to_take():
    done = run(">&-")
    assert done.returncode == 1
    assert b"OSError" in done.stderr
