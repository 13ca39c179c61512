"""Answers of a real index, as they are written."""

import asyncio
import threading
from typing import ClassVar

import pytest

from coderag import CodeRAG
from coderag.errors import IndexNotFoundError, ModelError
from coderag.models.llms.scripted import ScriptedModel
from coderag.schema.search import Filters
from tests.support.corpora import write_files

FILES = {
    "shop/money.py": 'def round_up(value):\n    """Round a value up."""\n    return int(value + 0.5)\n',
    "shop/cart.py": (
        "from shop.money import round_up\n\n\nclass Cart:\n    def total(self):\n        return round_up(self.sum)\n"
    ),
}
REPLY = "Totals are rounded by `round_up` [1][2]. They are stored in a `database` [1].\n\nNOT FOUND: who pays.\n"


@pytest.fixture
def shop(tmp_path):
    def make(*replies):
        root = write_files(tmp_path / "shop", FILES)
        rag = CodeRAG(root, language_model=ScriptedModel(*replies) if replies else None)
        rag.index()
        return rag

    return make


async def events_of(rag, *arguments, **options):
    return [event async for event in rag.astream(*arguments, **options)]


@pytest.mark.parametrize("replies", [(REPLY, REPLY), ()])
async def test_the_last_event_is_the_answer_and_the_text_before_it_is_its_text(shop, replies):
    rag = shop(*replies)
    events = await events_of(rag, "how are totals rounded")
    answer = events[-1].answer
    assert answer == await rag.aask("how are totals rounded")
    assert "".join(event.text for event in events if event.kind == "text") == answer.text
    assert [event.text for event in events if event.kind == "stage"][-2:] == ["budget", "answer"]
    assert any(event.kind == "draft" for event in events) == bool(replies)


async def test_words_come_while_the_model_still_writes(shop):
    rag, goes_on = shop("x"), asyncio.Event()

    class Slow(ScriptedModel):
        async def stream(self, prompt):
            yield "It is `round_up` "
            await asyncio.wait_for(goes_on.wait(), 10)
            yield "[1]."

    rag = CodeRAG(rag.root, language_model=Slow())
    drafts = []
    async for event in rag.astream("how are totals rounded"):
        if event.kind == "draft":
            drafts.append(event.text)
            goes_on.set()
    assert drafts == ["It is `round_up` ", "[1]."]


async def test_a_reader_who_leaves_stops_the_model(shop):
    rag, stopped = shop("x"), asyncio.Event()

    class Endless(ScriptedModel):
        async def stream(self, prompt):
            try:
                while True:
                    yield "word "
                    await asyncio.sleep(0)
            finally:
                stopped.set()

    stream = CodeRAG(rag.root, language_model=Endless()).astream("how are totals rounded")
    async for event in stream:
        if event.kind == "draft":
            break
    await stream.aclose()
    await asyncio.wait_for(stopped.wait(), 10)


async def test_what_was_said_before_reaches_the_model(shop):
    rag = shop(REPLY)
    model = ScriptedModel(REPLY)
    await events_of(CodeRAG(rag.root, language_model=model), "how are totals rounded", history="You: what is a cart?")
    assert "You: what is a cart?" in model.prompts[0].user


async def test_a_model_that_fails_ends_the_stream_with_its_error(shop):
    with pytest.raises(ModelError, match="gone"):
        await events_of(shop(ModelError("gone")), "how are totals rounded")


async def test_without_an_index_the_stream_is_an_error(tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n")
    with pytest.raises(IndexNotFoundError):
        await events_of(CodeRAG(tmp_path), "what is x")


def test_a_project_may_have_its_own_prompt(shop):
    rag = shop(REPLY)
    folder = rag.root / ".coderag/prompts"
    folder.mkdir(exist_ok=True)
    own = "---\nversion: 9\nvariables: [shape, history, question, evidence]\n---\nSpeak like a pirate. {{shape}}\n\n"
    (folder / "answer.md").write_text(own + "<!-- user -->\n{{history}} {{question}} {{evidence}}\n")
    model = ScriptedModel(REPLY)
    CodeRAG(rag.root, language_model=model).ask("how are totals rounded")
    assert model.prompts[0].system.startswith("Speak like a pirate.")


class Watched(Filters):
    """Filters that note in which thread they are read: what they mean may take git a while."""

    threads: ClassVar[list[int]] = []

    def __getattribute__(self, name):
        Watched.threads.append(threading.get_ident())
        return super().__getattribute__(name)


@pytest.mark.parametrize("verb", ["aask", "astream"])
async def test_filters_are_not_looked_up_on_the_event_loop(shop, verb):
    rag, filters = shop(), Watched(paths=("shop",))
    Watched.threads.clear()
    if verb == "aask":
        await rag.aask("round_up", filters=filters)
    else:
        await events_of(rag, "round_up", filters=filters)
    assert Watched.threads
    assert threading.get_ident() not in Watched.threads
