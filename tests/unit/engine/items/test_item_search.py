"""Search in mirrored items: by question, filters and id."""

import shutil
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coderag import CodeRAG
from coderag.config.source_sections import is_source_name
from coderag.engine.items.item_pages import split_pages
from coderag.errors import InvalidQueryError, StoreError, UnknownNameError
from coderag.ingestion.files.scanner import is_never_scanned
from coderag.schema.item_search import ItemFilters
from coderag.schema.items import Item, ItemFailure
from tests.support.mirrors import CODE, PAGES, SOURCES, TICKETS, build_shop, mirror_items, open_mirror


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    with build_shop(tmp_path_factory.mktemp("items") / "shop") as rag:
        yield rag


@pytest.fixture
def changing(tmp_path):
    with build_shop(tmp_path / "shop") as rag:
        yield rag


def list_ids(results):
    return [hit.item.id for hit in results.hits]


# By question


def test_question_in_other_words_finds_the_page_once_with_its_section(shop):
    results = shop.items.search("how do I undo a broken deployment?")
    best = results.hits[0]
    assert (best.item.id, best.heading) == ("101", "Rolling back a release")
    assert list_ids(results).count("101") == 1
    assert (best.item.url, best.item.revision) == ("https://wiki.example/101", "7")
    assert results.notes == []


def test_lines_of_a_hit_are_those_of_its_file(shop):
    best = shop.items.search("who renews the certificates of the gateway").hits[0]
    lines = (shop.root / best.item.path).read_text(encoding="utf-8").split("\n")
    assert "\n".join(lines[best.start_line - 1 : best.end_line]).rstrip() == best.text.rstrip()
    assert best.snippet.split("\n")[0] == lines[best.snippet_line - 1]


@pytest.mark.parametrize("query", ["SHOP-46", "what became of shop-46?", "is SHOP-46, the invoice, done"])
def test_ticket_whose_key_is_named_comes_first(shop, query):
    results = shop.items.search(query)
    assert list_ids(results)[0] == "SHOP-46"
    assert results.evidence == "found"


def test_bare_number_names_no_item_but_one_with_a_sign_does(shop):
    assert list_ids(shop.items.search("#102"))[0] == "102"
    assert shop.items.search("certificates of 102 gateways").hits[0].item.id == "101"


def test_question_about_nothing_mirrored_is_not_found(shop):
    assert shop.items.search("quaternion spline interpolation kernel").evidence in ("not_found", "weak")


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (ItemFilters(scope="backlog"), {"SHOP-45", "SHOP-46"}),
        (ItemFilters(scope="documentation"), {"101", "102"}),
        (ItemFilters(sources=("WIKI",)), {"101", "102"}),
        (ItemFilters(types=("bug",)), {"SHOP-45"}),
        (ItemFilters(states=("done", "open")), {"SHOP-45", "SHOP-46"}),
        (ItemFilters(tags=("Urgent",)), {"SHOP-45"}),
        (ItemFilters(people=("ada lovelace",)), {"SHOP-45"}),
        (ItemFilters(ids=("102",), kinds=("page",)), {"102"}),
        (ItemFilters(since=datetime(2026, 3, 1, tzinfo=UTC)), {"101", "SHOP-46"}),
        (ItemFilters(until=datetime(2026, 2, 1, tzinfo=UTC)), {"102"}),
        (ItemFilters(people=("nobody",)), set()),
    ],
)
def test_filters_select_items_in_any_case(shop, filters, expected):
    assert {item.id for item in shop.items.list_items(filters=filters).items} == expected
    found = shop.items.search("customers, holidays, certificates and totals", filters=filters)
    assert set(list_ids(found)) <= expected


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        (ItemFilters(sources=("wikki",)), "There are: tracker, wiki"),
        (ItemFilters(types=("Epic",)), "There are: Bug, Story"),
        (ItemFilters(states=("Closed",)), "There are: Done, Open"),
        (ItemFilters(tags=("legal",)), "There are: billing, people, urgent"),
    ],
)
def test_filter_value_that_no_item_has_is_an_error_with_those_that_there_are(shop, filters, message):
    with pytest.raises(InvalidQueryError, match="no item has the") as raised:
        shop.items.search("anything", filters=filters)
    assert message in raised.value.hint


def test_reader_sees_only_items_that_they_may_read(shop):
    def can_read(item):
        return item.access.is_public

    assert list_ids(shop.items.search("holidays and customers", can_read=can_read)) in ([], ["101"])
    assert shop.items.list_items(can_read=can_read).total == 1
    with pytest.raises(UnknownNameError, match="there is no item '102'"):
        shop.items.get("102", can_read=can_read)


def test_list_has_pages_with_the_last_modified_first(shop):
    first = shop.items.list_items(limit=3)
    assert [item.id for item in first.items] == ["SHOP-46", "101", "SHOP-45"]
    assert (first.total, first.next_offset) == (4, 3)
    assert [item.id for item in shop.items.list_items(limit=3, offset=3).items] == ["102"]


@pytest.mark.parametrize("arguments", [{"limit": 0}, {"limit": 1_000}, {"limit": "5"}])
def test_limit_out_of_range_is_refused(shop, arguments):
    with pytest.raises(InvalidQueryError, match="limit is"):
        shop.items.search("x1", **arguments)


# By id


def test_text_of_a_ticket_has_its_links_and_names_in_the_code(shop):
    text = shop.items.get("shop-45")
    assert text.text.startswith("# Totals are a cent too low")
    assert [(link.relation, link.target) for link in text.links] == [("blocks", "SHOP-46")]
    places = {(entry.path, entry.name) for entry in text.references}
    assert {("shop/cart.py", "Cart.total"), ("shop/money.py", "round_up"), ("shop/money.py", "")} <= places
    assert all(entry.text in text.text.split("\n")[entry.item_line - 1] for entry in text.references)


def test_plain_words_and_unknown_names_are_no_references(shop):
    assert shop.items.get("102").references == []


@pytest.mark.parametrize(("item_id", "hint"), [("SHOP-47", "SHOP-46"), ("zzz", "List the items")])
def test_unknown_id_is_an_error_with_the_nearest(shop, item_id, hint):
    with pytest.raises(UnknownNameError, match=f"no item '{item_id}'") as raised:
        shop.items.get(item_id)
    assert hint in raised.value.hint


def test_id_of_two_sources_needs_the_source(changing):
    mirror_items(changing.root, "tracker", [replace(PAGES[0], kind="ticket", title="Other")])
    with pytest.raises(InvalidQueryError, match="several items have the id") as raised:
        changing.items.get("101")
    assert "tracker, wiki" in raised.value.hint
    assert changing.items.get("101", source="tracker").item.title == "Other"


def test_page_beyond_the_last_is_an_error_with_their_number(shop):
    with pytest.raises(UnknownNameError, match="has no page 2") as raised:
        shop.items.get("101", page=2)
    assert "1 page" in raised.value.hint


@settings(max_examples=30)
@given(st.text("ab \n`é", max_size=300), st.integers(1, 40))
def test_pages_joined_are_the_text_and_begin_at_their_lines(text, max_tokens):
    pages = split_pages(text, max_tokens)
    assert "\n".join(page.text for page in pages) == text
    lines = text.split("\n")
    assert all(page.text.split("\n")[0] == lines[page.start_line - 1] for page in pages)


def test_items_that_have_a_name_of_the_code_are_found_with_their_line(shop):
    mentions = shop.items.find_mentions(["Cart.total", "round_up", "Cart"])
    assert {(entry.item.id, entry.name) for entry in mentions} == {
        ("SHOP-45", "Cart.total"),
        ("SHOP-45", "round_up"),
        ("SHOP-45", "Cart"),
    }
    lines = (shop.root / mentions[0].item.path).read_text(encoding="utf-8").split("\n")
    assert lines[mentions[0].line - 1] == mentions[0].text


@pytest.mark.parametrize("name", ["customers", "Customers", "by", "complain", "Cart.tot"])
def test_word_of_the_prose_is_no_name_of_the_code(shop, name):
    assert shop.items.find_mentions([name]) == []


# Freshness and damage


def test_changed_new_and_deleted_items_are_seen_by_the_next_search(changing):
    changing.items.search("warm up")
    changed = replace(PAGES[1], text="Ferrets may sleep in the office.\n", revision="3")
    new = Item(id="103", kind="page", title="Kettle", text="Descale the kettle with vinegar.\n")
    mirror_items(changing.root, "wiki", [changed, new], deleted=["101"])
    assert changing.items.search("may ferrets sleep here").hits[0].item.revision == "3"
    assert list_ids(changing.items.search("descale with vinegar"))[0] == "103"
    assert "101" not in list_ids(changing.items.search("undo a broken deployment"))


def test_update_indexes_once_and_later_searches_index_nothing(changing):
    report = changing.items.update()
    assert report is not None
    assert report.files["indexed"] == 4
    generation = (changing.root / ".coderag/sources/index/v1/CURRENT").read_bytes()
    assert list_ids(changing.items.search("pay by invoice"))[0] == "SHOP-46"
    assert (changing.root / ".coderag/sources/index/v1/CURRENT").read_bytes() == generation


def test_lost_index_of_items_is_built_again(changing):
    changing.items.search("warm up")
    shutil.rmtree(changing.root / ".coderag/sources/index")
    assert list_ids(changing.items.search("pay by invoice"))[0] == "SHOP-46"


def test_mirror_that_is_deleted_while_open_has_no_items_and_no_sync(changing):
    changing.items.search("warm up")
    shutil.rmtree(changing.root / ".coderag/sources")
    results = changing.items.search("pay by invoice")
    assert not results.hits
    assert results.notes == ["wiki was never synchronised.", "tracker was never synchronised."]
    assert changing.items.update() is None


def test_damaged_database_is_a_clear_error_and_code_search_goes_on(changing):
    changing.items.close()
    (changing.root / ".coderag/sources/items.sqlite").write_bytes(b"no database" * 1_000)
    with pytest.raises(StoreError, match=r"items\.sqlite"):
        changing.items.search("pay by invoice")
    assert changing.search("round a value up")


def test_damaged_pointer_of_the_index_is_repaired(changing):
    changing.items.search("warm up")
    changing.items.close()
    (changing.root / ".coderag/sources/index/v1/CURRENT").write_bytes(b"{")
    with CodeRAG(changing.root, sources=SOURCES) as again:
        assert list_ids(again.items.search("pay by invoice"))[0] == "SHOP-46"


# Nothing in an item, or around the mirror, is configuration


def test_neighbouring_configuration_and_hostile_items_change_nothing(tmp_path):
    root = tmp_path / "shop"
    root.mkdir()
    (root / ".git").mkdir()
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (root / ".git" / "objects").mkdir()
    (root / ".git" / "refs").mkdir()
    (root / ".gitignore").write_text("*.md\npage/\n")
    (root / ".coderagignore").write_text("*.md\n")
    (root / ".gitattributes").write_text("*.md working-tree-encoding=UTF-16 linguist-vendored\n")
    with build_shop(root) as rag:
        names = [".gitignore", ".coderagignore", ".coderag.yaml", ".gitattributes", ".git", "../../escape", "CON"]
        text = "*\n\nsearch:\n  top_k: 0\n\nembedding:\n  provider: nowhere\n"
        hostile = [Item(id=name, kind="page", title=name, text=text) for name in names]
        mirror_items(rag.root, "wiki", hostile)
        report = rag.items.update()
        assert report is not None
        assert report.files == {"indexed": 4 + len(names)}
        assert list_ids(rag.items.search("undo a broken deployment"))[0] == "101"


def test_folders_that_no_scan_enters_are_no_names_of_sources():
    names = (
        "node_modules",
        "__pycache__",
        ".venv",
        "venv",
        ".tox",
        ".eggs",
        ".next",
        ".cache",
        ".git",
        ".hg",
        ".coderag",
    )
    assert all(is_never_scanned(name) for name in names)
    assert not any(is_source_name(name) for name in names)


# What was not synchronised


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (
            {"outcome": "failed", "message": "HTTP 503"},
            "The last synchronisation of tracker failed on 2026-05-01 at 09:00 UTC",
        ),
        ({"outcome": "incomplete", "message": "3 comments"}, "with gaps: 3 comments"),
        ({"failures": [ItemFailure("SHOP-9", "HTTP 500")]}, "1 item of tracker could not be read."),
    ],
)
def test_notes_say_what_was_not_synchronised(changing, record, expected):
    mirror_items(changing.root, "tracker", **record)
    notes = changing.items.search("pay by invoice", filters=ItemFilters(scope="backlog")).notes
    assert expected in " ".join(notes)
    assert changing.items.search("x undo", filters=ItemFilters(scope="documentation")).notes == []


def test_killed_synchronisation_is_noted_with_the_age_of_the_items(changing):
    mirror = open_mirror(changing.root)
    with mirror._database.write() as connection:
        connection.execute("UPDATE runs SET ended = NULL WHERE source = 'tracker'")
    mirror.close()
    notes = changing.items.search("pay by invoice").notes
    assert notes == [
        "The synchronisation of tracker that began on 2026-05-01 at 08:00 UTC has not ended.",
        "tracker was never synchronised completely.",
    ]


def test_without_sources_the_note_says_so(tmp_path):
    (tmp_path / "a.py").write_text(CODE["shop/money.py"])
    with CodeRAG(tmp_path) as rag:
        assert rag.items.search("pay by invoice", filters=ItemFilters(scope="backlog")).notes == [
            "No backlog source is configured, so no items of one are searched."
        ]
        assert not (tmp_path / ".coderag/sources").exists()
    assert len(TICKETS) == 2
