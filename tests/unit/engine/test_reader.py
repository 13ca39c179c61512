"""Readers of a shared engine: what is their own, and what they may see."""

import pytest

from coderag import CodeRAG
from coderag.engine.reader import Reader
from coderag.errors import UnknownNameError
from coderag.interfaces.json_values import encode_json
from coderag.schema.item_search import ItemFilters
from tests.support.corpora import write_files
from tests.support.mirrors import CODE, PAGES, SOURCES, TICKETS, build_shop, mirror_items

QUESTIONS = (
    "how do I undo a broken deployment?",
    "business customers pay by invoice",
    "what does SHOP-45 say about Cart.total?",
    "which ticket asks for invoices?",
)
WIKI_ONLY = Reader("ada", frozenset({"wiki"}))


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    with build_shop(tmp_path_factory.mktemp("shared") / "shop") as rag:
        yield rag


@pytest.fixture(scope="module")
def shop_without_tracker(tmp_path_factory):
    """The same shop, in which the tracker was never mirrored and is not configured."""
    root = tmp_path_factory.mktemp("alone") / "shop"
    write_files(root, CODE)
    with CodeRAG(root, sources={"wiki": SOURCES["wiki"]}) as rag:
        rag.index()
        mirror_items(rag.root, "wiki", PAGES)
        yield rag


def encode_answers(rag: CodeRAG) -> list[bytes]:
    """Encode everything that a reader can get of items, without the place of the repository."""
    replies = [rag.items.search(question) for question in QUESTIONS]
    replies += [rag.ask(question) for question in QUESTIONS]
    replies += [rag.context(question) for question in QUESTIONS]
    replies += [rag.items.list_items(), rag.items.find_mentions(["Cart.total", "round_up"])]
    return [encode_json(reply).replace(str(rag.root).encode(), b"ROOT") for reply in replies]


def test_hidden_source_changes_nothing_of_what_a_reader_gets(shop, shop_without_tracker):
    assert encode_answers(shop.with_reader(WIKI_ONLY)) == encode_answers(shop_without_tracker)
    assert encode_answers(shop.with_reader(WIKI_ONLY)) != encode_answers(shop)


def test_item_of_a_hidden_source_is_unknown_under_every_name(shop):
    items = shop.with_reader(WIKI_ONLY).items
    ticket = shop.items.get("SHOP-45").item
    with pytest.raises(UnknownNameError, match="there is no item 'SHOP-45'"):
        items.get("SHOP-45")
    assert not items.has_item("SHOP-45")
    assert items.read_lines(ticket.path, 1, 2) is None
    assert shop.items.read_lines(ticket.path, 1, 2) is not None
    assert not items.has_sources("backlog")


def test_reader_without_sources_gets_the_replies_of_a_repository_without_any(shop):
    nothing = shop.with_reader(Reader("bob", frozenset()))
    assert nothing.items.search(QUESTIONS[0]).hits == ()
    assert nothing.items.list_items(filters=ItemFilters()).total == 0
    assert "SHOP-45" not in nothing.ask("which ticket is about totals?").text


def test_sessions_of_readers_are_their_own(shop):
    ada, bob = shop.with_reader(Reader("ada")), shop.with_reader(Reader("bob"))
    first = ada.context("round a value up", session="work")
    assert ada.context("round a value up", session="work").text != first.text
    assert bob.context("round a value up", session="work").text == first.text
    assert ada.forget("work")
    assert not shop.forget("work")


@pytest.mark.parametrize("memory", ["sqlite", "none"])
def test_conversations_of_readers_are_their_own(tmp_path, memory):
    with build_shop(tmp_path / "shop", {}, chat={"memory": memory}) as rag:
        ada, bob = rag.with_reader(Reader("ada")), rag.with_reader(Reader("bob"))
        ada.chat("t1").ask("where is round_up defined?")
        assert [info.id for info in ada.open_chat_threads().list()] == ["t1"]
        assert bob.open_chat_threads().list() == rag.open_chat_threads().list() == []
        assert not bob.open_chat_threads().delete("t1")
        assert [info.id for info in rag.with_reader(Reader("ada")).open_chat_threads().list()] == ["t1"]


def test_new_items_reach_a_reader_of_their_source(tmp_path):
    with build_shop(tmp_path / "shop") as rag:
        reader = rag.with_reader(WIKI_ONLY)
        mirror_items(rag.root, "tracker", TICKETS)
        mirror_items(rag.root, "wiki", deleted=["102"])
        assert {item.id for item in reader.items.list_items().items} == {"101"}
