"""Review of a change in a small shop."""

import json
import shutil

import pytest

from coderag.app import CodeRAG
from coderag.errors import IndexNotFoundError, InvalidQueryError
from coderag.interfaces.json_values import encode_json
from tests.support.changed_repository import SHOP_FILES, commit_files, make_repository, write_files
from tests.support.hostile_git import run_plainly


@pytest.fixture(scope="module")
def indexed(tmp_path_factory):
    """The shop with an index, and some history; to be copied."""
    root = make_repository(tmp_path_factory.mktemp("indexed") / "shop")
    for number in range(3):
        changed = {
            "shop/cart.py": SHOP_FILES["shop/cart.py"].replace("sum(prices)", f"sum(prices) + {number}"),
            "shop/orders.py": SHOP_FILES["shop/orders.py"] + f"\n\nVERSION = {number}\n",
        }
        commit_files(root, changed, f"Round up the sum, step {number}\n\nFixes SHOP-{number + 1}")
    commit_files(root, {"shop/cart.py": SHOP_FILES["shop/cart.py"]}, "Sum exactly (#12)")
    with CodeRAG(root, ingestion={"workers": 0}) as rag:
        rag.index()
    return root


@pytest.fixture
def rag(indexed, tmp_path):
    shutil.copytree(indexed, tmp_path / "shop", symlinks=True)
    with CodeRAG(tmp_path / "shop", ingestion={"workers": 0}) as rag:
        yield rag


def edit(rag, old, new, path="shop/cart.py"):
    write_files(rag.root, {path: (rag.root / path).read_text().replace(old, new)})
    rag.flag([path])


def find_declaration(review, name):
    return next(entry for entry in review.declarations if entry.change.qualified_name == name)


def test_changed_signature_lists_callers_with_their_confidence(rag):
    edit(rag, "def add_up(prices):", "def add_up(prices, start):")
    declaration = find_declaration(rag.review_change(), "add_up")
    assert (declaration.change.change, declaration.match) == ("signature", "same")
    caller = next(entry for entry in declaration.dependents if entry.neighbour.qualified_name == "Cart.total")
    assert caller.neighbour.relation == "caller"
    assert caller.neighbour.confidence > 0.9
    assert not caller.is_changed


def test_dependent_that_the_change_edits_is_marked(rag):
    edit(rag, "def add_up(prices):", "def add_up(prices, start):")
    edit(rag, "return add_up(self.items)", "return add_up(self.items, 0)")
    declaration = find_declaration(rag.review_change(), "add_up")
    assert [entry.is_changed for entry in declaration.dependents if entry.neighbour.qualified_name == "Cart.total"] == [
        True
    ]


def test_line_without_an_edge_is_listed_as_a_mention(rag):
    edit(rag, "sum(prices)", "sum(prices) + 0")
    declaration = find_declaration(rag.review_change(), "add_up")
    assert [(line.path, line.context) for line in declaration.mentions] == [("shop/orders.py", "string")]
    assert declaration.reason


def test_removed_function_is_still_named_by_its_users(rag):
    edit(rag, "\n\ndef add_up(prices):\n    return sum(prices)\n", "")
    declaration = find_declaration(rag.review_change(), "add_up")
    assert (declaration.change.change, declaration.match) == ("removed", "missing")
    assert {"shop/cart.py", "shop/orders.py"} <= {line.path for line in declaration.mentions}


def test_documents_and_settings_that_name_it_are_listed(rag):
    edit(rag, "sum(prices)", "sum(prices) + 0")
    review = rag.review_change()
    assert [(line.path, line.line) for line in review.documents] == [("docs/guide.md", 3)]
    assert [(line.path, line.line) for line in review.settings] == [("settings.toml", 2)]


def test_tests_that_use_it_come_first_and_unrelated_ones_are_left_out(rag):
    edit(rag, "sum(prices)", "sum(prices) + 0")
    tests = rag.review_change().tests
    assert [test.selector for test in tests.tests] == [
        "tests/test_cart.py::test_add_up",
        "tests/test_cart.py::TestCart::test_total",
    ]
    assert tests.commands == ["pytest tests/test_cart.py::test_add_up tests/test_cart.py::TestCart::test_total"]
    assert (tests.n_selected, tests.n_known) == (2, 3)


def test_limit_keeps_the_likeliest_tests_and_counts_all(rag):
    edit(rag, "sum(prices)", "sum(prices) + 0")
    tests = rag.review_change(max_tests=1).tests
    assert [test.selector for test in tests.tests] == ["tests/test_cart.py::test_add_up"]
    assert tests.n_selected == 2


def test_changed_test_is_selected_first(rag):
    edit(rag, "assert True", "assert 1", "tests/test_unrelated.py")
    first = rag.review_change().tests.tests[0]
    assert (first.selector, first.is_changed) == ("tests/test_unrelated.py::test_nothing", True)


def test_change_of_a_document_selects_no_tests_and_searches_no_headings(rag):
    edit(rag, "# Guide", "# Cart guide to add_up", "docs/guide.md")
    review = rag.review_change()
    assert (review.tests.n_selected, review.documents, review.settings) == (0, [], [])
    assert all(not declaration.mentions for declaration in review.declarations)


def test_commits_tickets_and_authors_of_the_changed_lines_are_listed(rag):
    edit(rag, "sum(prices)", "sum(prices) + 0")
    history = rag.review_change().history
    assert history.commits[0].subject == "Sum exactly (#12)"
    assert {ticket.reference for ticket in history.tickets} >= {"SHOP-1", "SHOP-3", "#12"}
    assert [(person.name, person.lines) for person in history.people] == [("Test", 2)]


def test_file_that_usually_changes_with_it_is_missed(rag):
    edit(rag, "sum(prices)", "sum(prices) + 0")
    missing = rag.review_change().history.missing
    assert [(entry.path, entry.subject, entry.together) for entry in missing] == [("shop/orders.py", "shop/cart.py", 4)]
    edit(rag, "VERSION = 2", "VERSION = 3", "shop/orders.py")
    assert not rag.review_change().history.missing


def test_history_that_is_off_is_a_note_and_the_review_goes_on(indexed):
    with CodeRAG(indexed, ingestion={"workers": 0}, lineage={"enabled": False}) as rag:
        review = rag.review_change("HEAD~1..HEAD")
    assert review.history.notes == ["The history is unknown: the history is off."]
    assert review.declarations


def test_older_revisions_say_what_the_index_no_longer_has(rag):
    commit_files(rag.root, {"shop/old.py": "def discount(price):\n    return price / 2\n"}, "Add a discount")
    commit_files(rag.root, {"shop/old.py": None}, "Drop the discount")
    rag.index()
    review = rag.review_change("HEAD~2..HEAD~1")
    assert find_declaration(review, "discount").match == "missing"
    assert "1 of" in review.notes[0]
    assert "not in it" in review.notes[0]


def test_moved_function_is_found_at_its_new_place(rag):
    commit_files(rag.root, {"shop/cart.py": SHOP_FILES["shop/cart.py"].replace("sum(prices)", "sum(prices, 0)")}, "Sum")
    moved = SHOP_FILES["shop/cart.py"].partition("\n\ndef add_up")
    commit_files(
        rag.root,
        {"shop/cart.py": f"from shop.sums import add_up\n{moved[0]}", "shop/sums.py": f"def add_up{moved[2]}"},
        "Move it",
    )
    rag.index()
    declaration = find_declaration(rag.review_change("HEAD~2..HEAD~1"), "add_up")
    assert (declaration.match, declaration.indexed_path) == ("moved", "shop/sums.py")
    assert any(entry.neighbour.qualified_name == "Cart.total" for entry in declaration.dependents)


def test_patch_is_reviewed_without_touching_the_files(rag):
    edit(rag, "def add_up(prices):", "def add_up(prices, start=0):")
    patch = run_plainly(rag.root, "diff")
    run_plainly(rag.root, "checkout", "-q", "--", ".")
    review = rag.review_change(patch=patch)
    assert (review.target, find_declaration(review, "add_up").change.change) == ("patch", "signature")
    assert not rag.review_change().files


def test_review_is_serialisable(rag):
    edit(rag, "sum(prices)", "sum(prices) + 0")
    decoded = json.loads(encode_json(rag.review_change()))
    assert decoded["declarations"][0]["change"]["qualified_name"] == "add_up"


def test_two_changes_at_once_are_an_error(rag):
    with pytest.raises(InvalidQueryError, match="more than one change"):
        rag.review_change("HEAD", staged=True)


def test_missing_index_is_an_error_with_a_hint(tmp_path):
    root = make_repository(tmp_path / "shop")
    with CodeRAG(root) as rag, pytest.raises(IndexNotFoundError) as raised:
        rag.review_change()
    assert "coderag index" in raised.value.hint
