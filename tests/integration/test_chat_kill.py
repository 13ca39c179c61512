"""A process that is killed in the middle of an answer loses nothing but that answer; conversations stay apart."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.chats import make_shop

CHECKOUT = Path(__file__).parents[2]

# Answers each line that it is sent, in the thread that it was given; at "hang" the language model never ends its reply.
TALKING = """
import asyncio, sys
from coderag.app import CodeRAG
from coderag.models.llms.scripted import ScriptedModel

class Hanging(ScriptedModel):
    async def stream(self, prompt):
        async for piece in super().stream(prompt):
            yield piece
            if "freeze" in prompt.user:
                print("hanging", flush=True)
                await asyncio.sleep(600)

root, thread = sys.argv[1:]
model = Hanging(lambda prompt: "`round_up` rounds a value up [1].")
chat = CodeRAG(root, language_model=model).chat(thread)
print("ready", flush=True)
for line in sys.stdin:
    print(len(chat.ask(line).citations), flush=True)
"""


class Talking:
    """A process that holds a conversation."""

    def __init__(self, root, thread):
        command = [sys.executable, "-c", TALKING, str(root), thread]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=CHECKOUT, encoding="utf-8"
        )

    def send(self, line):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def hear(self):
        return self.process.stdout.readline().strip()

    def end(self):
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def talk(tmp_path):
    shop = make_shop(tmp_path / "shop")
    started = []

    def start(thread):
        started.append(Talking(shop.root, thread))
        return started[-1]

    yield shop, start
    for one in started:
        one.end()


def texts(rag, thread):
    return [turn.text for turn in asyncio.run(rag.chat(thread).read_turns()) if turn.role == "user"]


def test_a_killed_conversation_has_all_its_finished_turns_and_the_question_can_be_asked_again(talk):
    shop, start = talk
    first = start("work")
    assert first.hear() == "ready"
    for question in ("what does round_up do", "where is the checkout"):
        first.send(question)
        assert int(first.hear()) > 0
    first.send("where does it freeze")
    assert first.hear() == "hanging"
    first.end()
    assert texts(shop, "work") == ["what does round_up do", "where is the checkout"]
    assert asyncio.run(shop.chat("work").find_unanswered()) == "where does it freeze"
    assert [info.turns for info in shop.open_chat_threads().list()] == [2]
    again = shop.chat("work")
    assert again.ask(asyncio.run(again.find_unanswered())).query
    assert texts(shop, "work") == ["what does round_up do", "where is the checkout", "where does it freeze"]
    assert asyncio.run(again.find_unanswered()) == ""


def test_two_processes_talk_at_once_and_their_conversations_stay_apart(talk):
    shop, start = talk
    processes = {thread: start(thread) for thread in ("left", "right")}
    for process in processes.values():
        assert process.hear() == "ready"
    for turn in range(6):
        for thread, process in processes.items():
            process.send(f"what does round_up do in the {thread} round {turn}")
        for process in processes.values():
            assert int(process.hear()) > 0
    for thread in processes:
        assert texts(shop, thread) == [f"what does round_up do in the {thread} round {turn}" for turn in range(6)]
