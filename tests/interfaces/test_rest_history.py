"""The routes of the history of code and of reviews of changes."""

import pytest

from coderag import CodeRAG
from coderag.interfaces.rest.app import make_app
from coderag.workspace.workspace import Workspace, WorkspaceOptions
from tests.interfaces.rest_server import API, RestClient
from tests.support.changed_repository import SHOP_FILES, commit_files, make_repository, write_files


@pytest.fixture(scope="module")
def rest(tmp_path_factory):
    root = make_repository(tmp_path_factory.mktemp("history") / "shop")
    doubled = SHOP_FILES["shop/cart.py"].replace("return sum(prices)", "return 2 * sum(prices)")
    files = {"shop/cart.py": doubled, "docs/guide.md": SHOP_FILES["docs/guide.md"] + "Twice.\n"}
    commit_files(root, files, "Double the prices\n\nFixes SHOP-7.")
    CodeRAG(root).index()
    write_files(root, {"shop/cart.py": doubled.replace("def add_up(prices)", "def add_up(prices, tax)")})
    with Workspace(WorkspaceOptions(watch=False)) as workspace:
        yield RestClient(make_app(workspace), root)


def read(rest, route, status=200, **parameters):
    reply = rest.http.get(f"{API}/history{route}", params={"root": rest.root, **parameters})
    assert reply.status_code == status, reply.text
    return reply.json()


def list_subjects(reply):
    return [change["commit"]["subject"] for change in reply["changes"]]


def test_commits_of_a_path_lines_and_a_declaration(rest):
    assert list_subjects(read(rest, "")) == ["Double the prices", "Start the shop"]
    assert list_subjects(read(rest, "", subject="shop/orders.py")) == ["Start the shop"]
    reply = read(rest, "", subject="add_up")
    assert list_subjects(reply) == ["Double the prices", "Start the shop"]
    assert (reply["subject"]["path"], reply["subject"]["kind"]) == ("shop/cart.py", "function")
    (reference,) = reply["changes"][0]["commit"]["references"]
    assert (reference["text"], reference["relation"]) == ("SHOP-7", "fixes")
    assert list_subjects(read(rest, "", subject="shop/cart.py:1-3")) == ["Start the shop"]
    assert read(rest, "", limit=1)["is_limited"]


def test_blame_tells_edited_lines_and_pages_through_a_file(rest):
    reply = read(rest, "/blame", path="shop/cart.py")
    subjects = [reply["commits"][span["commit"]]["subject"] if span["commit"] >= 0 else "" for span in reply["spans"]]
    assert subjects == ["Start the shop", "", "Double the prices"]
    assert reply["spans"][-1]["end_line"] == 16 and reply["next_line"] is None
    assert read(rest, "/blame", path="shop/cart.py", start_line=3, end_line=5)["next_line"] == 6
    assert "16 lines" in read(rest, "/blame", 422, path="shop/cart.py", start_line=99)["detail"]


def test_authors_co_changes_and_a_commit(rest):
    (author,) = read(rest, "/authors", subject="shop/cart.py")["authors"]
    assert author["commits"] == 2 and author["lines"] == 15
    changes = read(rest, "/co-changes", subject="shop/cart.py")["changes"]
    assert [(change["path"], change["together"]) for change in changes] == [("docs/guide.md", 2)]
    reply = read(rest, "/commit", revision="HEAD")
    assert [file["path"] for file in reply["files"]] == ["docs/guide.md", "shop/cart.py"]
    assert [change["qualified_name"] for change in reply["declarations"]] == ["Guide", "add_up"]


def test_unknown_paths_and_revisions_are_refused(rest):
    assert read(rest, "/commit", 404, revision="nowhere")["type"] == "UnknownRevisionError"
    assert read(rest, "", 404, subject="nowhere.py")["type"] == "UnknownNameError"
    assert read(rest, "/blame", 404, path="nowhere.py")["type"] == "UnknownNameError"


def test_a_review_of_the_working_tree_and_of_revisions(rest):
    review = rest.result("/changes")["review"]
    (declaration,) = review["declarations"]
    assert (declaration["change"]["qualified_name"], declaration["change"]["change"]) == ("add_up", "signature")
    assert "Cart.total" in [entry["neighbour"]["qualified_name"] for entry in declaration["dependents"]]
    assert "test_add_up" in [test["name"] for test in review["tests"]["tests"]]
    assert [line["path"] for line in review["documents"]] == ["docs/guide.md"]
    assert [ticket["reference"] for ticket in review["history"]["tickets"]] == ["SHOP-7"]
    past = rest.result("/changes", revisions="HEAD~1..HEAD")["review"]
    assert [entry["change"]["change"] for entry in past["declarations"]] == ["body", "body"]
    reply = rest.http.post(f"{API}/changes", json={"root": rest.root, "revisions": "nowhere..HEAD"})
    assert (reply.status_code, "nowhere" in reply.json()["detail"]) == (422, True)
