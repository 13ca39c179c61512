"""``coderag chat`` as a process: lines from a pipe, and a person at a terminal."""

import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from coderag.app import CodeRAG
from coderag.interfaces.cli.main import app
from tests.loopback import Stream
from tests.loopback.ollama_server import OllamaServer
from tests.support.chats import make_shop

posix = pytest.mark.skipif(os.name == "nt", reason="a pseudo-terminal")
ANSWER = "`round_up` rounds a value up [1].\n"
_ESCAPES = re.compile(r"\x1b\]8;[^\x1b]*\x1b\\|\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]")

# The child takes the pseudo-terminal as its own, so that Ctrl-C reaches it.
AT_TERMINAL = """
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
sys.argv = ["coderag", *sys.argv[1:]]
from coderag.interfaces.cli.main import run
run()
"""


@pytest.fixture(scope="module")
def indexed(tmp_path_factory) -> Path:
    return make_shop(tmp_path_factory.mktemp("indexed") / "shop").root


@pytest.fixture
def shop(indexed, tmp_path) -> CodeRAG:
    return CodeRAG(shutil.copytree(indexed, tmp_path / "shop"))


@pytest.fixture
def piped(shop):
    """Run ``coderag chat`` on some input in this process; return the exit code and both streams."""

    def run(stdin: str | bytes, *arguments: str) -> tuple[int, str, str]:
        done = CliRunner().invoke(app, ["chat", "-C", str(shop.root), *arguments], input=stdin, catch_exceptions=False)
        return done.exit_code, done.stdout, done.stderr

    return run


@pytest.fixture
def at_terminal(shop, environment):
    """Start ``coderag chat`` in a pseudo-terminal."""
    started = []

    def start(*arguments: str, **variables: str) -> "Terminal":
        started.append(Terminal(shop.root, {**environment, **variables}, arguments))
        return started[-1]

    yield start
    for one in started:
        one.close()


class Terminal:
    """A person at a terminal of 100 columns."""

    def __init__(self, root: Path, environment: dict[str, str], arguments: tuple[str, ...]) -> None:
        import fcntl
        import pty
        import struct
        import termios

        self.leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        variables = {**environment, "NO_COLOR": "1"}
        self.child = subprocess.Popen(
            [sys.executable, "-c", AT_TERMINAL, "chat", "-C", str(root), *arguments],
            stdin=follower, stdout=follower, stderr=follower, env=variables, start_new_session=True,
        )  # fmt: skip
        os.close(follower)
        self.text = ""

    def see(self, text: str, timeout_s: float = 30) -> str:
        """Wait until `text` was written since the last call, and return what was, up to it, without escape sequences."""
        deadline = time.monotonic() + timeout_s
        while text not in self.text:
            left = deadline - time.monotonic()
            assert left > 0, f"{text!r} is not in {self.text!r}"
            if select.select([self.leader], [], [], left)[0] and not self._read():
                assert text in self.text, f"{text!r} is not in {self.text!r}, and that is all"
        before, _, self.text = self.text.partition(text)
        return before + text

    def ready(self, turns: int) -> None:
        """Wait for the prompt of a conversation of so many turns."""
        self.see(f"{turns} turn")

    def type(self, keys: str) -> None:
        os.write(self.leader, keys.encode())

    def ended(self) -> int:
        """Return the exit code."""
        while select.select([self.leader], [], [], 60)[0] and self._read():
            pass
        return self.child.wait(timeout=60)

    def close(self) -> None:
        self.child.kill()
        self.child.wait()
        os.close(self.leader)

    def _read(self) -> bool:
        try:
            read = os.read(self.leader, 65_536)
        except OSError:  # Linux says so that the other end is closed
            return False
        for _ in range(read.count(b"\x1b[6n")):  # where the cursor is
            os.write(self.leader, b"\x1b[1;1R")
        self.text += _ESCAPES.sub("", read.decode("utf-8", "replace")).replace("\r\n", "\n")
        return bool(read)


# Lines from a pipe


def test_each_line_is_a_question_and_leans_on_the_one_before(piped) -> None:
    code, stdout, stderr = piped("who calls round_up?\n\nshow me the second one\n")
    assert (code, stderr) == (0, "")
    first, _, second = stdout.partition("> show me the second one\n")
    assert first.startswith("> who calls round_up?\n")
    assert "`Money.__init__`" in first
    assert "the files" in first
    number_2 = re.search(r"^2\. `([^:]+):", first, re.MULTILINE)
    assert number_2
    assert f"`{number_2[1]}:" in second
    assert "claim" not in second
    assert "\x1b" not in stdout


def test_json_is_one_object_a_line(piped) -> None:
    code, stdout, stderr = piped("who calls round_up?\nshow 1\n", "--json", "--thread", "mine")
    assert (code, stderr) == (0, "")
    answers = [json.loads(line) for line in stdout.splitlines()]
    assert [(answer["thread"], answer["asked"]) for answer in answers] == [
        ("mine", "who calls round_up?"),
        ("mine", "show 1"),
    ]
    assert answers[0]["citations"]


def test_a_question_that_fails_does_not_keep_the_next_from_its_answer(piped) -> None:
    long = "x" * 70_000
    code, stdout, stderr = piped(f"{long}\nwho calls round_up?\n")
    assert code == 2
    assert stderr.startswith("error: the question has 70,000 bytes")
    assert "`Money.__init__`" in stdout
    code, stdout, stderr = piped(f"{long}\nwho calls round_up?\n", "--json")
    assert (code, stderr) == (2, "")
    failed, answered = (json.loads(line) for line in stdout.splitlines())
    assert failed["error"]["type"] == "InvalidQueryError"
    assert failed["error"]["exit_code"] == 2
    assert answered["verified"]


def test_input_in_no_encoding_is_read(piped) -> None:
    code, stdout, _ = piped(b"\xef\xbb\xbfwhere is round_up \xff defined?\r\n")
    assert code == 0
    assert "> where is round_up \ufffd defined?\n" in stdout


def test_a_slash_in_a_pipe_is_no_command(piped) -> None:
    _, stdout, _ = piped("/quit\nwho calls round_up?\n")
    assert "`Money.__init__`" in stdout


def test_conversations_are_listed_exported_and_deleted(piped, tmp_path) -> None:
    assert piped("", "--resume")[0] == 2
    assert piped("", "--list") == (0, "", "no conversations yet: start one with `coderag chat`\n")
    piped("who calls round_up?\n", "--thread", "mine")
    piped("who calls it?\n", "--resume")
    _, listed, _ = piped("", "--list")
    assert re.fullmatch(r"mine\t\d{4}-\d\d-\d\d \d\d:\d\d\t2 turns\twho calls round_up\?\n", listed)
    assert json.loads(piped("", "--list", "--json")[1])["threads"][0]["turns"] == 2
    assert piped("", "--export", "mine")[1].startswith("# Conversation mine\n")
    exported = json.loads(piped("", "--export", "mine", "--json")[1])
    assert exported["exchanges"][1]["question"] == "who calls `round_up`?"
    file = tmp_path / "mine.md"
    assert piped("", "--export", "mine", "-o", str(file))[1] == ""
    assert file.read_text().startswith("# Conversation mine\n")
    code, _, stderr = piped("y\n", "--delete", "mine")
    assert code == 2
    assert "Confirm with --yes" in stderr
    assert piped("", "--delete", "mine", "--yes", "--json")[1] == '{\n  "thread": "mine",\n  "deleted": true\n}\n'
    assert piped("", "--delete", "mine", "--yes")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--resume", "--list"], "--list: it cannot be combined with --resume"),
        (["--thread", "a", "--new"], "--new: it cannot be combined with --thread"),
        (["-o", "x.md"], "--output: it requires --export"),
        (["--thread", "a/b"], "'a/b' is not a valid conversation name"),
        (["--export", "gone"], "no conversation 'gone'"),
    ],
)
def test_wrong_options_are_told(piped, arguments, told) -> None:
    code, stdout, stderr = piped("who calls round_up?\n", *arguments)
    assert (code, stdout) == (2, "")
    assert told in stderr


def test_without_an_index_it_is_made_unless_forbidden(environment, tmp_path) -> None:
    (tmp_path / "a.py").write_text("def login():\n    pass\n")
    command = [sys.executable, "-m", "coderag", "chat", "-C", str(tmp_path)]
    given = {"input": "where is login defined?\n", "env": environment, "capture_output": True, "text": True}
    assert subprocess.run([*command, "--no-index"], **given, check=False).returncode == 11
    done = subprocess.run(command, **given, check=False)
    assert done.returncode == 0
    assert "a.py:1" in done.stdout
    assert "indexed 1 file\n" in done.stderr


def test_a_long_prompt_is_sent_only_if_it_was_agreed_to(shop, piped) -> None:
    with OllamaServer(answer=ANSWER) as server:
        configure(shop, server, "chat: {confirm_tokens: 100}")
        code, stdout, stderr = piped("how does round_up work?\n")
        assert code == 30
        assert stdout == "> how does round_up work?\n\n"
        assert "tokens is to be sent to ollama/qwen2.5-coder" in stderr
        assert "Confirm with --yes" in stderr
        assert not [request for request in server.requests if request.path == "/api/chat"]
        code, stdout, stderr = piped("how does round_up work?\n", "--yes")
    assert code == 0
    assert "confirmed by --yes" in stderr
    assert "rounds a value up" in stdout


def test_a_model_that_is_down_is_an_error_of_each_question(shop, piped) -> None:
    with OllamaServer() as server:
        configure(shop, server)
    code, stdout, stderr = piped("how does round_up work?\nshow 1\n")
    assert code == 32
    assert stderr.count("error: ") == 1
    assert "> show 1\nNothing is cited" in stdout


def test_the_help_imports_nothing_heavy(environment) -> None:
    script = """
import atexit, sys
heavy = ("langgraph", "llama_index", "prompt_toolkit", "rich", "pydantic", "numpy", "coderag.engine.chat")
atexit.register(lambda: print("HEAVY", [name for name in heavy if name in sys.modules], file=sys.stderr))
sys.argv = ["coderag", "chat", "--help"]
from coderag.interfaces.cli.main import run
run()
"""
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == "HEAVY []\n"
    assert "--resume" in done.stdout


# At a terminal


@posix
def test_a_conversation_at_a_terminal(at_terminal) -> None:
    person = at_terminal("--thread", "mine")
    person.see("/help lists the commands")
    person.ready(0)
    person.type("who calls round_up?\r")
    assert "Money.__init__" in person.see("the files")
    person.ready(1)
    person.type("/show 2\r")
    person.see("def ")
    person.type("/nonsense\r")
    person.see("error: unknown command /nonsense")
    person.see("mine · 1 turn")
    person.type("\x04")
    person.see("continue this conversation with `coderag chat --thread mine`")
    assert person.ended() == 0


@posix
def test_several_lines_are_one_question(at_terminal, shop) -> None:
    person = at_terminal("--thread", "mine")
    person.ready(0)
    person.type("who calls\\\rround_up\x1b\rin\x1b[200~ this\nshop\x1b[201~?\r")
    person.ready(1)
    person.type("\x04")
    assert person.ended() == 0
    assert '"who calls\\nround_up\\nin this\\nshop?"' in shop.open_chat_threads().export("mine", "json")


@posix
def test_ctrl_c_empties_the_line_and_ends_at_an_empty_prompt_when_pressed_twice(at_terminal, shop) -> None:
    person = at_terminal("--thread", "mine")
    person.ready(0)
    person.type("nothing of this\x03")
    person.type("\x03")
    person.see("press Ctrl-C again to exit")
    person.ready(0)
    person.type("\x03")
    assert person.ended() == 0
    assert shop.open_chat_threads().list() == []


@posix
def test_ctrl_c_ends_the_answer_and_retry_asks_again(at_terminal, shop) -> None:
    with OllamaServer(answer=ANSWER) as server:
        configure(shop, server)
        person = at_terminal("--thread", "mine")
        person.see("answers by ollama/qwen2.5-coder")
        person.ready(0)
        server.next(hanging(server))
        person.type("how does round_up work?\r")
        person.see("The first words")
        person.type("typed too early\r\x03")
        person.see("interrupted; /retry asks again")
        person.ready(0)
        person.type("/retry\r")
        person.see("rounds a value up")
        person.ready(1)
        person.type("/quit\r")
        assert person.ended() == 0
    assert [turn["text"] for turn in exchanges(shop)] == ["how does round_up work?"]


@posix
def test_a_long_prompt_is_asked_about(at_terminal, shop) -> None:
    with OllamaServer(answer=ANSWER) as server:
        price = {"price_per_million_input_tokens": 1000}
        configure(shop, server, "chat: {confirm_tokens: 100}", **price)
        person = at_terminal("--thread", "mine")
        person.ready(0)
        person.type("how does round_up work?\r")
        assert "It costs about" in person.see("[y/N]: ")
        person.type("n\r")
        person.see("without the language model, as you chose")
        person.ready(1)
        person.type("/retry\r")
        person.see("[y/N]: ")
        person.type("y\r")
        person.see("rounds a value up")
        person.ready(2)
        person.type("\x04")
        assert person.ended() == 0


@posix
def test_an_error_ends_the_turn_not_the_conversation(at_terminal, shop) -> None:
    with OllamaServer() as server:
        configure(shop, server)
    person = at_terminal("--thread", "mine")
    person.ready(0)
    person.type("how does round_up work?\r")
    person.see("error: ollama at ")
    person.ready(0)
    person.type("\x04")
    assert person.ended() == 0


@posix
def test_a_killed_conversation_is_picked_up(at_terminal, shop) -> None:
    with OllamaServer(answer=ANSWER) as server:
        configure(shop, server)
        person = at_terminal("--thread", "mine")
        person.ready(0)
        person.type("what does Cart do?\r")
        person.ready(1)
        server.next(hanging(server))
        person.type("how does round_up work?\r")
        person.see("The first words")
        person.child.send_signal(signal.SIGKILL)
        person.child.wait()
        person = at_terminal("--resume")
        person.see("> what does Cart do?")
        person.see("the last question has no answer: how does round_up work?")
        person.see("[Y/n]: ")
        person.type("\r")
        person.see("rounds a value up")
        person.ready(2)
        person.type("\x04")
        assert person.ended() == 0
    assert [turn["text"] for turn in exchanges(shop)] == ["what does Cart do?", "how does round_up work?"]


@posix
def test_two_terminals_in_one_conversation(at_terminal, shop) -> None:
    with OllamaServer(answer=ANSWER) as server:
        configure(shop, server)
        first, second = at_terminal("--thread", "mine"), at_terminal("--thread", "mine")
        first.ready(0)
        second.ready(0)
        server.next(hanging(server))
        first.type("how does round_up work?\r")
        first.see("The first words")
        second.type("what does Cart do?\r")
        second.see("error: the conversation mine is in use elsewhere")
        first.type("\x03")
        first.see("interrupted; /retry asks again")
        second.type("/retry\r")
        second.see("rounds a value up")
        second.ready(1)
        first.type("/show\r")
        first.see("[1] shop/money.py")


def configure(shop: CodeRAG, server: OllamaServer, more: str = "", **settings: object) -> None:
    """Have the repository's answers written by a model of the server."""
    lines = {"provider": "ollama", "base_url": server.url, **settings}
    section = "".join(f"  {name}: {value}\n" for name, value in lines.items())
    (shop.root / ".coderag.yaml").write_text(f"llm:\n{section}{more}\n")


def hanging(server: OllamaServer) -> Stream:
    """Return an answer that begins and does not go on."""
    pieces = server.frames(["The first words"], finish="")
    return Stream(headers={"Content-Type": server.stream_type}, pieces=[*pieces, 300.0])


def exchanges(shop: CodeRAG) -> list[dict[str, str]]:
    """Return what was said in the conversation ``mine``."""
    kept: list[dict[str, str]] = json.loads(shop.open_chat_threads().export("mine", "json"))["exchanges"]
    return kept
