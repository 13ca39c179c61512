"""Conversations on a PostgreSQL server: a real one, where its programs are installed."""

import asyncio

import pytest

from coderag.app import CodeRAG
from coderag.errors import ConfigurationError, StoreError
from tests.support.chats import answer_in, events_of, make_shop
from tests.support.postgres_server import find_free_port


@pytest.fixture(scope="module")
def server(postgres_server):
    url = postgres_server.create_database()
    yield url
    postgres_server.drop_database(url)


@pytest.fixture
def shop(server, tmp_path):
    rag = make_shop(tmp_path / tmp_path.name.replace("_", "-"), chat={"memory": "postgres", "url": server})
    yield rag
    for info in rag.open_chat_threads().list():
        rag.open_chat_threads().delete(info.id)


def again(rag):
    return CodeRAG(rag.root, settings=rag.settings)


def test_a_conversation_goes_on_in_another_process_and_leaves_nothing_beside_the_index(shop):
    chat = shop.chat()
    chat.ask("who calls round_up")
    assert "def round_up" in again(shop).chat(chat.thread).ask("where is it defined?").text
    assert [(info.id, info.turns) for info in shop.open_chat_threads().list()] == [(chat.thread, 2)]
    assert not (shop.root / ".coderag/chat.sqlite").exists()


def test_threads_are_exported_and_deleted(shop):
    shop.chat("one").ask("who calls round_up")
    shop.chat("two").ask("where is the checkout")
    assert "> who calls round_up" in shop.open_chat_threads().export("one")
    assert shop.open_chat_threads().delete("one")
    assert [info.id for info in shop.open_chat_threads().list()] == ["two"]


def test_another_repository_on_the_same_server_has_its_own_conversations(shop, server, tmp_path):
    shop.chat("same").ask("who calls round_up")
    other = make_shop(tmp_path / "other", chat={"memory": "postgres", "url": server})
    assert other.open_chat_threads().list() == []
    assert asyncio.run(other.chat("same").read_turns()) == []


def test_only_the_newest_checkpoint_is_kept(shop, server):
    import psycopg

    chat = shop.chat("long")
    for _ in range(5):
        chat.ask("who calls round_up")
    with psycopg.connect(server) as connection:
        rows = connection.execute("SELECT count(*) FROM checkpoints WHERE thread_id LIKE '%%/long'").fetchone()
    assert rows == (1,)
    assert len(asyncio.run(chat.read_turns())) == 10


async def test_a_conversation_that_goes_on_elsewhere_is_not_disturbed(shop):
    chat = shop.chat("shared")
    async for _ in chat.astream("who calls round_up"):
        with pytest.raises(StoreError, match="shared is in use elsewhere"):
            await events_of(again(shop).chat("shared"), "where is the checkout")
        assert answer_in(await events_of(again(shop).chat("other"), "where is the checkout"))
        break
    await chat.aclose()


def test_a_server_that_is_not_there_is_an_error_without_the_password(tmp_path):
    pytest.importorskip("psycopg", reason="the extra 'postgres' is not installed")
    url = f"postgresql://chat:hunter2@127.0.0.1:{find_free_port()}/chats"
    chat = make_shop(tmp_path / "shop", chat={"memory": "postgres", "url": url}).chat()
    with pytest.raises(StoreError, match=r"PostgreSQL server 127\.0\.0\.1") as caught:
        chat.ask("who calls round_up")
    assert "hunter2" not in str(caught.value)


def test_an_address_that_is_none_is_a_configuration_error(tmp_path):
    rag = make_shop(tmp_path / "shop", chat={"memory": "postgres", "url": "localhost/chats"})
    with pytest.raises(ConfigurationError, match=r"chat\.url"):
        rag.open_chat_threads().list()
