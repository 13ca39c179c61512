"""Conversations from end to end: on disk, with and without a language model, over many turns."""

import asyncio
import json
import os
import re
import sqlite3
import sys
from contextlib import aclosing

import pytest

from coderag.app import CodeRAG
from coderag.engine.chat import Approval
from coderag.errors import InvalidQueryError, ModelError, StoreError
from coderag.models.llms.scripted import ScriptedModel
from coderag.text.token_counts import count_tokens
from tests.support.chats import answer_in, events_of, make_shop

REWRITING = "The question that stands alone:"


def answering(*questions):
    """Return a model that rewrites follow-ups as given, in turn, and answers every question from its first evidence."""
    rewritten = iter(questions)

    def reply(prompt):
        if REWRITING in prompt.user:
            return next(rewritten)
        name = re.search(r"\[1\][^\n]*?`?(round_up|Money|Cart|checkout|total|test_rounding)", prompt.user)
        return f"`{name[1] if name else 'round_up'}` is where it is done [1]."

    return ScriptedModel(reply)


@pytest.fixture
def shop(tmp_path):
    return make_shop(tmp_path / "shop")


@pytest.fixture
def with_model(tmp_path):
    def make(model, **settings):
        return make_shop(tmp_path / "modelled", language_model=model, **settings)

    return make


# What is said


def test_a_conversation_goes_on_in_another_process(shop):
    chat = shop.chat()
    chat.ask("who calls round_up")
    again = CodeRAG(shop.root).chat(chat.thread)
    assert "def round_up" in again.ask("where is it defined?").text
    assert [turn.role for turn in asyncio.run(again.read_turns())] == ["user", "assistant"] * 2
    assert asyncio.run(again.read_turns())[2].question == "where is `round_up` defined?"


def test_what_was_cited_can_be_opened_by_its_number(shop):
    chat = shop.chat()
    cited = chat.ask("who calls round_up").citations
    number = next(at for at, citation in enumerate(cited, 1) if citation.path == "shop/cart.py")
    shown = chat.ask(f"show me number {number}")
    assert "return round_up(sum(self.items))" in shown.text
    assert shown.verified == shown.total == 1
    assert "checkout" in chat.ask("who calls that?").text
    assert asyncio.run(chat.read_turns())[-2].question == "who calls `Cart.total`?"


def test_numbers_stay_those_of_the_last_answer_while_its_places_are_opened(shop):
    chat = shop.chat()
    cited = [citation.location for citation in chat.ask("who calls round_up").citations]
    chat.ask("open 1")
    chat.ask("open 2")
    assert list(asyncio.run(chat.read_turns())[-1].cited) == cited


def test_a_number_that_there_is_not_gets_a_kind_answer_and_the_conversation_goes_on(shop):
    chat = shop.chat()
    assert "no place has a number" in chat.ask("open 3").text
    chat.ask("who calls round_up")
    assert "so there is no number 40" in chat.ask("show me number 40").text
    assert "def round_up" in chat.ask("show me its code").text


def test_lines_that_were_edited_since_are_shown_as_they_are_now(shop):
    chat = shop.chat()
    chat.ask("where is round_up defined")
    path = shop.root / "shop/money.py"
    path.write_text(path.read_text(encoding="utf-8").replace("value + 0.5", "value + 1"), encoding="utf-8")
    shown = chat.ask("open 1")
    assert shown.verified == shown.total > 0
    assert "value + 1" in shown.text


@pytest.mark.parametrize("text", ["who calls round_up", "open 1", "open 99"])
async def test_the_text_events_joined_are_the_answer(shop, text):
    chat = shop.chat()
    await events_of(chat, "where is round_up defined")
    events = await events_of(chat, text)
    assert "".join(event.text for event in events if event.kind == "text") == answer_in(events).text


async def test_it_can_be_asked_where_an_event_loop_is_running(shop):
    assert shop.chat().ask("who calls round_up").citations


@pytest.mark.parametrize("text", ["", "  \n", "x" * 65_000])
def test_a_text_that_is_no_question_changes_nothing(shop, text):
    chat = shop.chat()
    with pytest.raises(InvalidQueryError):
        chat.ask(text)
    assert asyncio.run(chat.read_turns()) == []
    assert asyncio.run(chat.find_unanswered()) == ""


async def test_an_answer_that_nobody_waits_for_is_ended(shop):
    chat = shop.chat()
    async with aclosing(chat.astream("who calls round_up")) as events:
        await anext(events)
    await chat.aclose()
    assert await chat.read_turns() == []
    assert answer_in(await events_of(chat, "who calls round_up")).citations


async def test_a_stream_that_is_left_without_closing_it_is_ended_without_an_error(shop):
    errors = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
    chat = shop.chat()
    for _ in range(3):
        async for _ in chat.astream("who calls round_up"):
            break
        await chat.aclose()
    assert answer_in(await events_of(chat, "who calls round_up")).citations
    assert not errors


# With a language model


def test_a_model_rewrites_follow_ups_and_sees_what_was_said(with_model):
    model = answering("where is `round_up` tested?")
    chat = with_model(model).chat()
    chat.ask("what does round_up do")
    chat.ask("and its tests?")
    assert asyncio.run(chat.read_turns())[2].question == "where is `round_up` tested?"
    first, rewriting, last = model.prompts
    assert "what does round_up do" in rewriting.user
    assert "What was said before" not in first.user
    assert "Question: what does round_up do" in last.user


def test_a_question_that_stands_alone_costs_no_rewriting(with_model):
    model = answering()
    chat = with_model(model).chat()
    chat.ask("what does round_up do")
    chat.ask("where is the checkout")
    assert len(model.prompts) == 2


@pytest.mark.parametrize("reply", ["It is called by `Cart.total` [1].", "who calls `nobody_said_this`?", "a\nb"])
def test_where_the_model_writes_no_question_the_rules_decide(with_model, reply):
    chat = with_model(answering(reply)).chat()
    chat.ask("what does round_up do")
    chat.ask("who calls it?")
    assert asyncio.run(chat.read_turns())[2].question == "who calls `round_up`?"


def test_a_model_that_fails_is_an_error_and_the_question_can_be_asked_again(with_model):
    replies = iter(["`round_up` rounds [1].", ModelError("down"), ModelError("down"), "`round_up` rounds [1]."])
    rag = with_model(ScriptedModel(*replies, lambda _: "`round_up` rounds [1]."))
    chat = rag.chat()
    chat.ask("what does round_up do")
    for question in ("who calls it?", "where is the checkout"):  # rewriting fails, then answering
        with pytest.raises(ModelError, match="down"):
            chat.ask(question)
        assert asyncio.run(chat.find_unanswered()) == question
    assert len(asyncio.run(chat.read_turns())) == 2
    assert chat.ask("where is the checkout").citations
    assert asyncio.run(chat.find_unanswered()) == ""


# Approvals


@pytest.fixture
def costly(with_model):
    model = ScriptedModel(lambda _: "`round_up` rounds a value up [1].")
    llm = {"price_per_million_input_tokens": 2.0}
    return model, with_model(model, chat={"confirm_tokens": 10}, llm=llm)


async def test_a_long_prompt_is_sent_only_after_it_was_approved(costly):
    model, rag = costly
    chat = rag.chat()
    *_, approval = await events_of(chat, "what does round_up do")
    assert isinstance(approval, Approval)
    assert model.prompts == []
    answer = answer_in(await events_of(rag.chat(chat.thread), "", approve=True))
    assert answer.generator == "scripted/1"
    assert approval.prompt_tokens == count_tokens(model.prompts[0].text)
    assert approval.limit == 10
    assert approval.cost == pytest.approx(approval.prompt_tokens * 2.0 / 1e6)
    assert f"{approval.prompt_tokens:,} tokens" in approval.reason


async def test_a_declined_prompt_gives_the_answer_of_the_evidence_and_says_so(costly):
    model, rag = costly
    chat = rag.chat()
    await events_of(chat, "what does round_up do")
    events = await events_of(chat, "", approve=False)
    answer = answer_in(events)
    assert model.prompts == []
    assert answer.generator == "extractive"
    assert answer.text.startswith("*Made from the evidence without the language model")
    assert "".join(event.text for event in events if event.kind == "text") == answer.text


async def test_an_approval_is_for_one_prompt(costly):
    _, rag = costly
    chat = rag.chat()
    await events_of(chat, "what does round_up do")
    await events_of(chat, "", approve=True)
    assert isinstance((await events_of(chat, "where is the checkout"))[-1], Approval)


async def test_another_question_drops_the_one_that_waits(costly):
    _, rag = costly
    chat = rag.chat()
    await events_of(chat, "what does round_up do")
    await events_of(chat, "where is the checkout")
    await events_of(chat, "", approve=False)
    assert [turn.text for turn in await chat.read_turns() if turn.role == "user"] == ["where is the checkout"]


async def test_nothing_that_waits_cannot_be_approved(costly, shop):
    for chat in (costly[1].chat(), shop.chat()):
        with pytest.raises(InvalidQueryError, match="no prompt waits"):
            await events_of(chat, "", approve=True)


def test_without_anybody_to_ask_an_approval_is_an_error_that_says_how(costly):
    with pytest.raises(ModelError, match="not asked") as caught:
        costly[1].chat().ask("what does round_up do")
    assert "chat.confirm_tokens" in caught.value.hint


# Threads


def test_threads_are_listed_exported_and_deleted(shop):
    first, second = shop.chat("money"), shop.chat()
    first.ask("who calls round_up")
    first.ask("where is it defined?")
    second.ask("where is the checkout, and what does it call?")
    threads = shop.open_chat_threads()
    assert [(info.id, info.title, info.turns) for info in threads.list()] == [
        (second.thread, "where is the checkout, and what does it call?", 1),
        ("money", "who calls round_up", 2),
    ]
    exported = threads.export("money")
    assert "> where is it defined?\n\n*Understood as: where is `round_up` defined?*" in exported
    assert "def round_up" in exported
    assert [one["text"] for one in json.loads(threads.export("money", "json"))["exchanges"]] == [
        "who calls round_up",
        "where is it defined?",
    ]
    assert threads.delete("money")
    assert not threads.delete("money")
    assert [info.id for info in threads.list()] == [second.thread]
    assert asyncio.run(shop.chat("money").read_turns()) == []


def test_what_was_deleted_is_gone_from_the_file(shop):
    shop.chat("secret").ask("where is zanzibarquux rounded")
    shop.open_chat_threads().delete("secret")
    assert list((shop.root / ".coderag/chat-locks").iterdir()) == []
    files = [path.read_bytes() for path in (shop.root / ".coderag").glob("chat.sqlite*")]
    assert not any(b"zanzibarquux" in content for content in files)


def test_a_conversation_that_there_is_not_cannot_be_exported(shop):
    with pytest.raises(InvalidQueryError, match="no conversation 'other'"):
        shop.open_chat_threads().export("other")


@pytest.mark.parametrize("thread", ["", "../up", "a b", "x" * 70, ".hidden"])
def test_a_thread_has_a_name_that_a_file_could_have(shop, thread):
    with pytest.raises(InvalidQueryError):
        shop.chat(thread)


def test_without_conversations_nothing_is_made_on_disk(shop):
    assert shop.open_chat_threads().list() == []
    assert not (shop.root / ".coderag/chat.sqlite").exists()


async def test_a_conversation_that_goes_on_elsewhere_is_not_disturbed(shop):
    chat = shop.chat("shared")
    async for _ in chat.astream("who calls round_up"):
        with pytest.raises(StoreError, match="shared is in use elsewhere"):
            await events_of(CodeRAG(shop.root).chat("shared"), "where is the checkout")
        assert answer_in(await events_of(CodeRAG(shop.root).chat("other"), "where is the checkout"))
        break
    await chat.aclose()


def test_kept_in_memory_a_conversation_leaves_nothing_on_disk(tmp_path):
    rag = make_shop(tmp_path / "shop", chat={"memory": "none"})
    chat = rag.chat()
    chat.ask("who calls round_up")
    chat.ask("where is it defined?")
    assert rag.open_chat_threads().list()[0].turns == 2
    assert not (rag.root / ".coderag/chat.sqlite").exists()
    assert CodeRAG(rag.root, chat={"memory": "none"}).open_chat_threads().list() == []


# The database


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_only_the_owner_may_read_the_database(shop):
    old = os.umask(0)
    try:
        shop.chat().ask("who calls round_up")
    finally:
        os.umask(old)
    path = shop.root / ".coderag/chat.sqlite"
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    shop.chat().ask("who calls round_up")
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_damaged_database_is_named_and_left_as_it_is(shop):
    path = shop.root / ".coderag/chat.sqlite"
    path.write_bytes(b"this is no database, but it may be precious" * 100)
    for attempt in (lambda: shop.chat().ask("who calls round_up"), shop.open_chat_threads().list):
        with pytest.raises(StoreError, match=re.escape(str(path))) as caught:
            attempt()
        assert "damaged" in caught.value.hint
    assert path.read_bytes().startswith(b"this is no database")


def test_a_database_that_somebody_else_made_runs_nothing(shop, tmp_path):
    chat = shop.chat("planted")
    chat.ask("who calls round_up")
    import ormsgpack

    ran = tmp_path / "ran"
    call = ormsgpack.packb(("os", "system", f"touch {ran}"))
    planted = ormsgpack.packb({"channel_values": {"text": ormsgpack.Ext(0, call)}}, option=ormsgpack.OPT_NON_STR_KEYS)
    with sqlite3.connect(shop.root / ".coderag/chat.sqlite") as database:
        database.execute("UPDATE checkpoints SET type = 'msgpack', checkpoint = ?", (planted,))
    database.close()
    with pytest.raises(Exception):  # noqa: B017  # whatever: it is no conversation
        chat.ask("where is it defined?")
    assert not ran.exists()


# Many turns


def test_forty_turns_stay_within_their_tokens_and_in_a_small_file(with_model):
    history, budget, rules = 600, 1_000, 500
    model = ScriptedModel(lambda prompt: "who calls `round_up`?" if REWRITING in prompt.user else LONG)
    rag = with_model(model, chat={"history_tokens": history}, search={"token_budget": budget})
    more = "".join(
        f'def round_up_case_{number}(value):\n    """Round up a value of case {number} to whole units before it is shown."""\n'
        f"    return round_up(value * {number}) + round_up(value - {number})\n\n\n"
        for number in range(60)
    )
    (rag.root / "shop/cases.py").write_text(f"from shop.money import round_up\n\n\n{more}", encoding="utf-8")
    rag.index()
    chat = rag.chat()
    path = rag.root / ".coderag/chat.sqlite"
    questions = [
        "what does round_up do",
        "who calls it?",
        "where is the checkout",
        "show me number 1",
        "and its tests?",
    ]
    sizes = []
    for turn in range(40):
        chat.ask(questions[turn % len(questions)])
        sizes.append(path.stat().st_size)
    assert len(asyncio.run(chat.read_turns())) == 80
    assert len(model.prompts) > 40
    lengths = [count_tokens(prompt.text) for prompt in model.prompts]
    assert max(lengths) > 0.9 * (budget + history), "neither evidence nor history comes near its limit"
    assert all(length <= budget + history + rules for length in lengths)
    assert any("Cited earlier:" in prompt.user for prompt in model.prompts[-10:])
    with sqlite3.connect(path) as database:
        assert database.execute("SELECT count(*) FROM checkpoints").fetchone() == (1,)
    database.close()
    assert sizes[-1] < 800_000


LONG = "`round_up` rounds a value up to whole units before it is shown to anybody [1]. " * 12
