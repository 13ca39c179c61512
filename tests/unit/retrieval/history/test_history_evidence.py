"""Evidence from the history of a small repository: subjects, commits, and what is not known."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from coderag.config.sections import LineageSettings, PrivacySettings
from coderag.lineage.code_history import CodeHistory
from coderag.retrieval.history.evidence import find_history_evidence
from coderag.retrieval.history.subjects import find_path, find_subjects
from coderag.retrieval.query_context import QueryContext
from coderag.schema.history_evidence import HistoryEvidence, HistorySubject, from_history_record, to_history_record
from tests.support.corpora import make_context
from tests.support.graphs import state
from tests.support.traced_shop import TracedShop

Find = Callable[[str], HistoryEvidence]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> TracedShop:
    return TracedShop(tmp_path_factory.mktemp("evidence") / "shop")


def make_shop_context(shop: TracedShop, folder: Path, *, enabled: bool = True) -> QueryContext:
    paths = shop.folder.git("ls-files").split("\n")
    context = make_context({path: (shop.root / path).read_text("utf-8") for path in paths})
    history = CodeHistory(shop.root, LineageSettings(enabled=enabled), PrivacySettings(), folder)
    return replace(context, root=str(shop.root), open_history=lambda: history)


@pytest.fixture(scope="module")
def context(shop: TracedShop, tmp_path_factory: pytest.TempPathFactory) -> QueryContext:
    return make_shop_context(shop, tmp_path_factory.mktemp("index"))


@pytest.fixture(scope="module")
def find(context: QueryContext) -> Find:
    return lambda question: find_history_evidence(context, state(question))


def list_commits(evidence: HistoryEvidence, shop: TracedShop) -> list[str]:
    names = {commit: name for name, commit in shop.commits.items()}
    return [names[change.commit.id] for change in evidence.changes]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("shop/cart.py", "shop/cart.py"),
        ("./shop/cart.py", "shop/cart.py"),
        ("cart.py", "shop/cart.py"),
        ("pages/", "pages"),
        ("page1.py", "pages/page1.py"),  # and not page11.py
        ("absent.py", ""),
        ("art.py", ""),
    ],
)
def test_path_is_found_whole_or_by_its_last_parts(context: QueryContext, text: str, path: str) -> None:
    assert find_path(context, text) == path


def test_path_of_several_files_is_none(tmp_path: Path) -> None:
    context = make_context({"a/same.py": "A = 1\n", "b/same.py": "B = 1\n"})
    assert find_path(context, "same.py") == ""
    assert find_path(context, "a/same.py") == "a/same.py"


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("who wrote `Cart.total`?", HistorySubject("shop/cart.py", 7, 9, "Cart.total", "method")),
        ("who wrote shop/cart.py:4-5?", HistorySubject("shop/cart.py", 4, 5)),
        ("who wrote cart.py?", HistorySubject("shop/cart.py")),
    ],
)
def test_subject_is_the_code_that_the_question_names(
    context: QueryContext, question: str, subject: HistorySubject
) -> None:
    assert find_subjects(context, state(question))[0] == subject


def test_lines_that_a_question_names_have_only_their_commits(find: Find, shop: TracedShop) -> None:
    assert list_commits(find("what changed in shop/cart.py:4-5?"), shop) == ["start"]
    assert list_commits(find("what changed in shop/cart.py?"), shop) == ["cents", "marks", "start"]


def test_words_beside_the_name_choose_among_its_commits(find: Find, shop: TracedShop) -> None:
    evidence = find("when did `Cart.total` begin to round to cents?")
    assert evidence.is_deciding
    assert list_commits(evidence, shop)[0] == "cents"


def test_commit_found_by_its_words_is_marked_as_likely(find: Find, shop: TracedShop) -> None:
    evidence = find("which PR added proxy support?")
    assert (evidence.is_described, evidence.is_deciding) == (True, True)
    assert list_commits(evidence, shop)[0] == "proxy"
    assert not find("when was `choose_proxy` introduced?").is_described


def test_commits_of_a_period_are_counted(find: Find, shop: TracedShop) -> None:
    evidence = find("what changed since v1.0?")
    assert list_commits(evidence, shop) == ["cents", "quotes", "marks", "rename", "proxy"]
    assert (evidence.total, evidence.since, evidence.is_limited) == (5, "v1.0", False)
    assert find("what changed in `Cart` since 1.0?").since == "v1.0"  # the tag of that version


def test_more_commits_than_are_read_are_marked(find: Find, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coderag.retrieval.history.changes._MAX_SUBJECT_CHANGES", 2)
    evidence = find("what changed in shop/cart.py?")
    assert (evidence.total, evidence.is_limited) == (2, True)


def test_removed_declaration_has_its_name_and_the_commit_that_removed_it(find: Find, shop: TracedShop) -> None:
    evidence = find("when was `convert_marks` removed?")
    assert evidence.subject == HistorySubject("", qualified_name="convert_marks")
    assert list_commits(evidence, shop) == ["marks"]


def test_ticket_has_the_declarations_of_its_commits(find: Find, shop: TracedShop) -> None:
    evidence = find("which code implements PROJ-45?")
    assert [change.declaration.qualified_name for change in evidence.ticket_changes] == ["Limits", "fetch_page"]
    assert list_commits(evidence, shop) == ["timeout"]


def test_unknown_commit_is_noted(find: Find) -> None:
    assert "1f6589ec" in " ".join(find("what did commit 1f6589ec change?").notes)


def test_history_that_is_turned_off_is_noted(shop: TracedShop, tmp_path: Path) -> None:
    context = make_shop_context(shop, tmp_path, enabled=False)
    evidence = find_history_evidence(context, state("who wrote `Cart.total`?"))
    assert not evidence.changes
    assert evidence.notes == ("The history is off.",)


def test_evidence_survives_the_state_of_a_query(find: Find) -> None:
    for question in ("who wrote `Cart.total`?", "who knows cart.py best?", "which code implements PROJ-45?"):
        evidence = find(question)
        assert from_history_record(to_history_record(evidence)) == evidence
