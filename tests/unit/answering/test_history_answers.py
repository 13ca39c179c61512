"""Answers to questions about history, from the commits of a small repository."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from coderag import CodeRAG, Settings
from coderag.answering.evidence.citation_checker import CitationChecker
from coderag.answering.evidence.cited_lines import CitedLines
from coderag.schema.answers import Answer
from tests.support.traced_shop import TracedShop


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> TracedShop:
    traced = TracedShop(tmp_path_factory.mktemp("answers") / "shop")
    CodeRAG(traced.root).index()
    return traced


@pytest.fixture(scope="module")
def ask(shop: TracedShop) -> Callable[[str], Answer]:
    return CodeRAG(shop.root).ask


def get_lead(answer: Answer) -> str:
    return answer.text.partition("\n\n")[0]


@pytest.mark.parametrize(
    ("question", "commit", "stated"),
    [
        ("why was the timeout of `fetch_page` changed?", "timeout", "orders were lost"),
        ("warum wurde das Timeout von `fetch_page` geändert?", "timeout", "orders were lost"),
        ("when was the timeout of `fetch_page` raised to 30 seconds?", "timeout", "**2020-09-15**"),
        ("when was `fetch_page` introduced?", "start", "**2020-09-14**"),  # before its file was renamed
        ("when was `choose_proxy` introduced?", "proxy", "**2020-09-16**"),
        ("who wrote `Cart.total`?", "start", "**Ann**"),
        ("who last changed `Cart.total`?", "cents", "**Bob**"),
        ("which PR added proxy support?", "proxy", "`#12`"),
        ("which ticket is behind `fetch_page`?", "timeout", "`PROJ-45`"),
        ("when was `convert_marks` removed?", "marks", "`convert_marks` was removed on **2020-09-18**"),
        (
            "what changed in shop/transport.py since v1.0?",
            "rename",
            "2 commits changed `shop/transport.py` since `v1.0`",
        ),
        ("what changed since v1.0?", "cents", "5 commits changed the code since `v1.0`"),
        ("which code was changed for PROJ-45?", "", "1 commit for `PROJ-45` changed `Limits` and `fetch_page`"),
    ],
)
def test_first_sentence_names_the_commit_and_what_is_asked(
    ask: Callable[[str], Answer], shop: TracedShop, question: str, commit: str, stated: str
) -> None:
    lead = get_lead(ask(question))
    assert stated in lead
    if commit:
        assert shop.get_short_id(commit) in lead
        assert not any(shop.get_short_id(other) in lead for other in shop.commits if other != commit)


def test_commit_that_a_question_names_is_described_without_other_code(ask, shop):
    lead = get_lead(ask(f"what did commit {shop.commits['marks'][:10]} change?"))
    assert lead.startswith("The code was changed on **2020-09-18**")
    assert "Drop the old currency" in lead


def test_files_that_change_together_are_counted(ask):
    answer = ask("which files change together with shop/transport.py?")
    assert "`limits.md` most often changes in the same commits as `shop/transport.py`" in answer.text
    assert "in 3 of 4 commits" in answer.text  # under both names of the file
    assert "not a dependency" in answer.text


def test_author_of_most_lines_knows_a_file_best(ask):
    lead = get_lead(ask("who knows shop/cart.py best?"))
    assert lead.startswith("**Ann** knows `shop/cart.py` best: 8 lines")
    assert "Bob: 1 line and 2 commits" in lead


@pytest.mark.parametrize(
    ("question", "stated"),
    [
        ("when was `frobnicate_widget` removed?", "The history has no commit about this that answers."),
        ("when was Kubernetes support introduced?", "The history has no commit about this that answers."),
        ("which code implements PROJ-99?", "No commit message refers to PROJ-99."),
        ("what changed in `fetch_page` since v1.0?", "No commit changed `fetch_page` since `v1.0`."),
    ],
)
def test_unknown_is_said_where_no_commit_answers(ask, question, stated):
    answer = ask(question)
    assert stated in get_lead(answer)
    assert not any(citation.kind == "commit" for citation in answer.citations)


def test_unknown_release_does_not_limit_the_commits(ask):
    answer = ask("what changed in `Cart` since v9.9?")
    assert get_lead(answer).startswith("2 commits changed `Cart`. ")
    assert answer.missing == ["v9.9 is no date, tag or revision of this repository, so the whole history counts."]


def test_cited_lines_of_a_commit_are_verified_against_it(ask, shop):
    citation = ask("when was `fetch_page` introduced?").citations[0]
    assert (citation.path, citation.kind, citation.revision) == ("shop/client.py", "commit", shop.commits["start"])
    assert citation.location == f"shop/client.py:1-5@{shop.get_short_id('start')}"
    assert citation.verified  # although no such file is on disk


@pytest.mark.parametrize(
    ("revision", "path", "text", "reason"),
    [
        ("0" * 40, "shop/client.py", "def fetch_page(url, timeout=5):", "not in this clone"),
        ("start", "shop/absent.py", "def fetch_page(url, timeout=5):", "the commit has no such file"),
        ("timeout", "shop/client.py", "def fetch_page(url, timeout=5):", "the lines of the commit differ"),
        ("start", "shop/client.py", "def fetch_page(url, timeout=5):", ""),
    ],
)
def test_citation_of_a_commit_fails_with_a_reason(shop, revision, path, text, reason):
    commit = shop.commits.get(revision, revision)
    citation = CitationChecker(shop.root, []).check(CitedLines(path, 1, 1, text, kind="commit", revision=commit))
    assert reason in citation.reason
    assert citation.verified is not bool(reason)


def test_people_are_masked(shop):
    masked = CodeRAG(shop.root, settings=Settings.model_validate({"privacy": {"mask_people": True}}))
    for question in ("who wrote `Cart.total`?", "who knows shop/cart.py best?"):
        text = masked.ask(question).text
        assert "person-" in text
        assert "Ann" not in text
        assert "Bob" not in text


def test_folder_without_git_is_answered_from_the_code_and_says_why(shop, tmp_path):
    shutil.copytree(shop.root, tmp_path / "plain", ignore=shutil.ignore_patterns(".git", ".coderag"))
    rag = CodeRAG(tmp_path / "plain")
    rag.index()
    answer = rag.ask("when was `choose_proxy` introduced?")
    assert "is not in a git repository." in get_lead(answer)
    assert "is not in a git repository" in answer.missing[0]
    assert "def choose_proxy" in answer.text


def test_shallow_clone_says_where_its_history_ends(shop: TracedShop, tmp_path: Path) -> None:
    shop.folder.git("clone", "-q", "--depth", "2", shop.root.as_uri(), str(tmp_path / "clone"))
    rag = CodeRAG(tmp_path / "clone")
    rag.index()
    answer = rag.ask("when was `choose_proxy` introduced?")
    assert get_lead(answer).startswith("`choose_proxy` is at least as old as **2020-09-19**")
    assert "double quotes" not in answer.text  # the boundary wrote nothing of it
    assert "this clone is shallow" in answer.missing[0]
