"""Browsing over REST: folders, files, chunks with facets, and declarations between callers and callees."""

import shutil

import pytest

from coderag import CodeRAG
from coderag.interfaces.rest.app import make_app
from coderag.workspace.workspace import Workspace, WorkspaceOptions
from tests.interfaces.rest_server import API, RestClient
from tests.support.corpora import write_files

FILES = {
    "shop/money.py": 'def round_up(value):\n    """Round a value up."""\n    return int(value + 0.5)\n',
    "shop/cart.py": (
        "from shop.money import round_up\n\n\nclass Cart:\n    def total(self):\n        return round_up(self.sum)\n\n\n"
        "    def rest(self):\n        if self.sum:\n            return round_up(1) + round_up(2)\n        return 0\n"
    ),
    "tests/test_money.py": "from shop.money import round_up\n\n\ndef test_it():\n    assert round_up(1) == 1\n",
    "odd/<script> #1 100%?.py": "def odd():\n    return 1\n",
    "README.md": "# Shop\n\nThe `Cart` rounds totals.\n",
    "secret/.env": "API_TOKEN=abcdefghijklmnop\n",
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    root = write_files(tmp_path_factory.mktemp("browse") / "shop", FILES)
    (root / "logo.png").write_bytes(b"\x89PNG\0\0" * 100)
    (root / "wide.js").write_text("var a = '" + "x" * 1_500_000 + "';\n", encoding="utf-8")
    (root / "ignored.txt").write_text("private", encoding="utf-8")
    (root / ".coderagignore").write_text("ignored.txt\n", encoding="utf-8")
    CodeRAG(root).index()
    return root


@pytest.fixture
def rest(shop):
    workspace = Workspace(WorkspaceOptions(allowed_roots=(shop.parent,), watch=False))
    yield RestClient(make_app(workspace), shop)
    workspace.close()


def get(rest, route, /, **query):
    return rest.http.get(API + route, params={"root": rest.root, **query})


def test_a_folder_lists_one_level_with_the_counts_of_its_folders(rest):
    listing = get(rest, "/tree").json()
    assert [folder["path"] for folder in listing["folders"]] == ["odd", "secret", "shop", "tests"]
    assert {"logo.png", "README.md", "wide.js"} <= {file["path"] for file in listing["files"]}
    assert "ignored.txt" not in {file["path"] for file in listing["files"]}
    shop = next(folder for folder in listing["folders"] if folder["name"] == "shop")
    assert (shop["totals"]["files"], shop["totals"]["lines"], shop["totals"]["languages"]) == (2, 15, {"python": 2})
    assert next(file for file in listing["files"] if file["name"] == "logo.png")["reason"] == "binary file"


def test_pages_of_a_folder_follow_one_another_without_a_gap(rest):
    whole = get(rest, "/tree").json()
    paths, offset = [], 0
    while offset is not None:
        page = get(rest, "/tree", offset=offset, limit=3).json()
        paths += [entry["path"] for entry in (*page["folders"], *page["files"])]
        offset = page["next_offset"]
    assert paths == [entry["path"] for entry in (*whole["folders"], *whole["files"])]


def test_a_folder_that_is_not_there_is_not_found(rest):
    assert get(rest, "/tree", path="nowhere").status_code == 404


@pytest.mark.parametrize(
    ("query", "best"),
    [("cart", "shop/cart.py"), ("MONEY shop", "shop/money.py"), ("<script>", "odd/<script> #1 100%?.py")],
)
def test_files_are_found_by_words_of_their_path(rest, query, best):
    assert get(rest, "/files", query=query).json()["files"][0]["path"] == best


def test_a_file_is_read_in_ranges(rest):
    view = get(rest, "/file", path="shop/cart.py", start_line=4, end_line=5).json()
    assert view["text"] == "class Cart:\n    def total(self):"
    assert (view["start_line"], view["end_line"], view["next_line"], view["total_lines"]) == (4, 5, 6, 12)
    assert (view["state"], view["language"], view["is_edited"]) == ("text", "python", False)


@pytest.mark.parametrize(
    ("path", "state", "reason"),
    [("logo.png", "binary", "binary file"), ("wide.js", "text", "larger than 1,000,000 bytes")],
)
def test_a_file_outside_the_index_says_why(rest, path, state, reason):
    view = get(rest, "/file", path=path).json()
    assert (view["state"], view["outcome"], view["reason"]) == (state, "skipped", reason)


def test_no_reply_is_larger_than_two_megabytes(rest):
    assert len(get(rest, "/file", path="wide.js").content) < 2_000_000


def test_odd_names_are_read(rest):
    assert get(rest, "/file", path="odd/<script> #1 100%?.py").json()["text"].startswith("def odd")


def test_values_of_secrets_are_not_shown(rest):
    reply = get(rest, "/file", path="secret/.env")
    assert reply.status_code == 200
    assert "abcdefghijklmnop" not in reply.text


@pytest.mark.parametrize("path", ["../outside.txt", "/etc/passwd", "ignored.txt", "shop/../README.md", "shop"])
def test_only_files_of_the_index_are_read(rest, path):
    assert get(rest, "/file", path=path).status_code == 404


def test_an_edit_is_shown_as_it_is_on_disk(rest, shop):
    path = shop / "shop/money.py"
    before = path.read_text(encoding="utf-8")
    path.write_text("# moved\n" + before, encoding="utf-8")
    try:
        view = get(rest, "/file", path="shop/money.py").json()
        assert (view["is_edited"], view["text"].splitlines()[0]) == (True, "# moved")
        assert get(rest, "/declaration", name="round_up").json()["declaration"]["start_line"] == 2
    finally:
        path.write_text(before, encoding="utf-8")


def test_a_deleted_file_is_gone(rest, shop):
    path = shop / "shop/cart.py"
    hidden = shutil.move(path, shop.parent / "cart.py")
    try:
        assert get(rest, "/file", path="shop/cart.py").json()["state"] == "gone"
    finally:
        shutil.move(hidden, path)


def test_a_declaration_stands_between_its_callers_and_callees(rest):
    view = get(rest, "/declaration", name="round_up").json()
    assert view["text"].startswith("def round_up(value):")
    calls = {
        caller["declaration"]["qualified_name"]: [line["line"] for line in caller["lines"]]
        for caller in view["callers"]
    }
    assert calls == {"Cart.total": [6], "Cart.rest": [11], "test_it": [5]}
    assert view["callers"][-1]["role"] == "test"
    assert view["callers"][0]["lines"][0]["text"].strip() == "return round_up(self.sum)"
    rest_view = get(rest, "/declaration", name="Cart.rest").json()
    assert [(link["line"], link["relation"], link["target"]["path"]) for link in rest_view["links"]] == [
        (11, "calls", "shop/money.py")
    ]
    assert [outer["qualified_name"] for outer in rest_view["enclosing"]] == ["Cart"]


def test_an_unknown_name_is_not_found(rest):
    reply = get(rest, "/declaration", name="nothing_like_this")
    assert (reply.status_code, reply.json()["type"]) == (404, "UnknownNameError")


def test_lines_of_a_file_link_to_what_they_use(rest):
    links = get(rest, "/file/links", path="shop/cart.py", start_line=6, end_line=6).json()["links"]
    assert [(link["line"], link["name"], link["target"]["start_line"]) for link in links] == [(6, "round_up", 1)]


def test_declarations_are_found_by_a_part_of_their_name(rest):
    names = [
        symbol["declaration"]["qualified_name"] for symbol in get(rest, "/symbols", query="TOTAL").json()["symbols"]
    ]
    assert names == ["Cart.total"]
    assert get(rest, "/symbols", query="Cart.re").json()["total"] == 1


def test_chunks_are_chosen_by_facets(rest):
    whole = rest.result("/chunks", path="shop")
    kinds = {facet["value"]: facet["count"] for facet in whole["facets"]["kind"]}
    assert whole["total"] == sum(kinds.values())
    functions = rest.result("/chunks", path="shop", kinds=["function"])
    assert [chunk["qualified_name"] for chunk in functions["chunks"]] == ["round_up"]
    assert {facet["value"]: facet["count"] for facet in functions["facets"]["kind"]} == kinds  # of all other filters
    assert functions["facets"]["language"] == [{"value": "python", "count": 1}]
    assert functions["chunks"][0]["summary_source"] == "docstring"


def test_pages_of_chunks_follow_one_another_in_the_chosen_order(rest):
    whole = rest.result("/chunks", order="complexity")["chunks"]
    assert [chunk["complexity"] for chunk in whole] == sorted((chunk["complexity"] for chunk in whole), reverse=True)
    first = rest.result("/chunks", order="complexity", limit=2)
    second = rest.result("/chunks", order="complexity", limit=2, offset=first["next_offset"])
    assert [*first["chunks"], *second["chunks"]] == whole[:4]


@pytest.mark.parametrize(
    "body", [{"kinds": ["nonsense"]}, {"limit": 501}, {"complexities": ["3"]}, {"order": "random"}]
)
def test_a_wrong_selection_of_chunks_is_refused(rest, body):
    assert rest.post("/chunks", **body).status_code == 422


@pytest.mark.parametrize("path", ["/tree", "/files", "/symbols"])
def test_a_folder_without_an_index_says_so(rest, shop, path):
    empty = shop.parent / "empty"
    empty.mkdir(exist_ok=True)
    reply = rest.http.get(
        API + path, params={"root": str(empty), "query": "a"} if path != "/tree" else {"root": str(empty)}
    )
    assert (reply.status_code, reply.json()["type"]) == (404, "IndexNotFoundError")
