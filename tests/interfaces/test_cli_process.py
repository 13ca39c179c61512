"""What only a process of its own can show: imports, signals, pipes, encodings and terminals."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = (
    "langgraph",
    "llama_index",
    "lancedb",
    "numpy",
    "scipy",
    "pandas",
    "pyarrow",
    "pydantic",
    "rich",
    "tree_sitter",
)
posix = pytest.mark.skipif(os.name == "nt", reason="POSIX signals, pipes or terminals")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["search", "--help"],
        ["init", "--help"],
        ["doctor", "--help"],
        ["prompts", "copy", "--help"],
        ["graph", "--help"],
        ["graph", "impact", "--help"],
        ["nonsense"],
    ],
)
def test_help_and_version_import_nothing_heavy(environment, arguments) -> None:
    script = f"""
import atexit, sys
atexit.register(lambda: print("HEAVY", [name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr))
sys.argv = ["coderag", *{arguments!r}]
from coderag.interfaces.cli.main import run
run()
"""
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.stderr.endswith("HEAVY []\n"), done.stderr


@posix
def test_ctrl_c_ends_with_130(process) -> None:
    child = process("waiting", "index")
    assert child.stderr.readline() == "WAITING\n"
    child.send_signal(signal.SIGINT)
    stdout, stderr = child.communicate(timeout=30)
    assert (child.returncode, stdout, stderr) == (130, "", "interrupted; an existing index is intact\n")


@posix
def test_ctrl_c_before_anything_is_loaded_says_nothing(environment) -> None:
    """The first tenth of a second goes into imports: a traceback of one of them would tell nobody anything."""
    script = """
import os, signal, sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
sys.argv = ["coderag", "status"]
from coderag.interfaces.cli.entry import run
run()
"""
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


@posix
def test_ctrl_c_is_not_heard_by_a_command_that_was_told_so(environment) -> None:
    script = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
sys.argv = ["coderag", "--version"]
from coderag.interfaces.cli.entry import run
os.kill(os.getpid(), signal.SIGINT)
try:
    run()
finally:
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
"""
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@posix
def test_a_reader_that_has_seen_enough_is_no_error(process) -> None:
    child = process("huge", "context", "x")
    assert child.stdout.readline() == "0123456789\n"
    child.stdout.close()
    child.stdout = None
    _, stderr = child.communicate(timeout=30)
    assert (child.returncode, stderr) == (0, "")


@posix
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("arguments", [["context", "x"], ["status", "--json"], ["--help"]])
def test_a_full_disk_is_one_line(environment, arguments) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        script = [sys.executable, str(Path(__file__).with_name("fake_app.py")), "ok", *arguments]
        done = subprocess.run(script, env=environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 74
    assert done.stderr.count("\n") == 1
    assert "No space left on device" in done.stderr


@posix
@pytest.mark.parametrize("redirection", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_do_no_harm(environment, redirection) -> None:
    script = f'"{sys.executable}" "{Path(__file__).with_name("fake_app.py")}" ok status {redirection}'
    done = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_characters_that_the_encoding_lacks_do_not_fail(process) -> None:
    child = process("ok", "search", "größe", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    stdout, stderr = child.communicate(timeout=30)
    assert (child.returncode, stderr) == (0, "")
    child = process("hostile", "search", "größe", "--json", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    stdout, stderr = child.communicate(timeout=30)
    assert (child.returncode, stderr) == (0, "")
    assert stdout.isascii()
    assert json.loads(stdout)["hits"][0]["summary"].endswith("\u202e")


@pytest.mark.parametrize(
    "arguments", [["search", "x"], ["ask", "x"], ["context", "x"], ["graph", "callers", "x"], ["index"], ["status"]]
)
def test_a_pipe_has_neither_colours_nor_progress(process, arguments) -> None:
    child = process("unindexed" if arguments[0] != "status" else "ok", *arguments, FORCE_COLOR="1")
    stdout, stderr = child.communicate(timeout=30)
    assert child.returncode == 0
    assert "\x1b" not in stdout + stderr


# --- in a terminal


def in_terminal(environment, folder: Path, behaviour: str, *arguments: str, **variables: str) -> tuple[int, str]:
    """Run the command line in a pseudo-terminal; return exit code and what was written to it."""
    import pty

    leader, follower = pty.openpty()
    script = [sys.executable, str(Path(__file__).with_name("fake_app.py")), behaviour, *arguments]
    child = subprocess.Popen(script, env={**environment, **variables}, cwd=folder, stdout=follower, stderr=follower)
    os.close(follower)
    written = b""
    try:
        while part := os.read(leader, 65_536):
            written += part
    except OSError:  # Linux says so that the other end is closed
        pass
    os.close(leader)
    return child.wait(timeout=30), written.decode("utf-8")


def without_escapes(text: str) -> str:
    return re.sub(r"\x1b\]8;[^\x1b]*\x1b\\|\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r\n", "\n")


@posix
def test_a_terminal_gets_links_and_colours(environment, tmp_path) -> None:
    code, text = in_terminal(environment, tmp_path, "ok", "search", "login")
    assert code == 0
    assert f";{(tmp_path / 'src/auth/session.py').as_uri()}\x1b\\" in text
    assert "\x1b[1;36m" in text
    assert "src/auth/session.py:10-14  0.912\n" in without_escapes(text)
    assert "  function auth.session.login  Open a session" in without_escapes(text)


@posix
def test_no_color_is_respected(environment, tmp_path) -> None:
    _, text = in_terminal(environment, tmp_path, "ok", "search", "login", NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", text)


@posix
@pytest.mark.parametrize("command", ["search", "context", "ask"])
def test_hostile_text_is_shown_not_obeyed_in_a_terminal(environment, tmp_path, command) -> None:
    code, text = in_terminal(environment, tmp_path, "hostile", command, "login")
    assert code == 0
    assert "\x1b[2Jb" not in text
    assert "\x1b]0;" not in text


@posix
def test_a_terminal_shows_progress_and_the_answer_rendered(environment, tmp_path) -> None:
    code, text = in_terminal(environment, tmp_path, "unindexed", "ask", "login")
    assert code == 0
    shown = without_escapes(text)
    assert "writing" in shown
    assert "no index yet: indexing" in shown
    assert "```" not in shown
    assert "1 of 1 quotation matches the files" in shown


@posix
@pytest.mark.parametrize("command", ["index", "status"])
def test_a_terminal_shows_reports_as_tables(environment, tmp_path, command) -> None:
    code, text = in_terminal(environment, tmp_path, "stale", command)
    assert code == 0
    assert re.search(r"  files +1,204 indexed", without_escapes(text))
