"""The routes of statistics and coverage."""

import pytest

from coderag import CodeRAG
from coderag.interfaces.rest.app import make_app
from coderag.workspace.workspace import Workspace, WorkspaceOptions
from tests.interfaces.rest_server import API, RestClient
from tests.support.corpora import write_files

FILES = {
    "shop/money.py": 'def round_up(value):\n    """Round a value up."""\n    return int(value + 0.5)\n',
    "shop/cart.py": "from shop.money import round_up\n\n\nclass Cart:\n    def total(self):\n        return round_up(1.2)\n",
    "web/<script>alert(1)<script>.ts": "export const one = 1;\n",
    "README.md": "# Shop\n\nThe `Cart` rounds totals.\n",
    "broken.py": "def half(:\n    return 1\n\n\ndef good():\n    return 2\n",
    "poetry.lock": "locked\n",
    "large.py": "x = 1\n" * 10_000,
    ".coderag.yaml": "ingestion:\n  max_file_bytes: 20000\n",
}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = write_files(tmp_path_factory.mktemp("statistics") / "shop", FILES)
    CodeRAG(folder).index()
    return folder


@pytest.fixture(scope="module")
def rest(root):
    with Workspace(WorkspaceOptions(allowed_roots=(root.parent,), watch=False)) as workspace:
        yield RestClient(make_app(workspace), root)


def get(rest, path, **parameters):
    reply = rest.http.get(API + path, params={"root": rest.root, **parameters})
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_statistics_agree_with_the_status(rest):
    statistics, status = get(rest, "/statistics"), get(rest, "/status")
    for name in ("generation", "created", "embedding", "chunks", "lines", "edges", "directory"):
        assert statistics[name] == status[name]
    assert statistics["files"] == status["outcomes"]["indexed"]
    assert statistics["declarations"] == status["symbols"] > 0
    assert {share["language"]: share["files"] for share in statistics["languages"]} == status["languages"]
    assert sum(share["lines"] for share in statistics["languages"]) == statistics["lines"]
    assert sum(share["chunks"] for share in statistics["languages"]) == statistics["chunks"]


def test_relations_count_every_edge(rest):
    statistics = get(rest, "/statistics")
    counts = {count["relation"]: count["resolved"] + count["candidates"] for count in statistics["relations"]}
    assert sum(counts.values()) == statistics["edges"]
    assert counts["calls"] == 1 and counts["imports"] >= 1


def test_sizes_cover_the_index_folder(rest, root):
    sizes = {part["name"]: part["bytes"] for part in get(rest, "/statistics")["sizes"]}
    on_disk = sum(path.stat().st_size for path in (root / ".coderag").rglob("*") if path.is_file())
    assert sum(sizes.values()) == on_disk
    assert {"vectors and texts", "code graph", "keyword search", "file records"} <= sizes.keys()
    assert sizes.get("earlier generations", 0) < sizes["vectors and texts"]


def test_coverage_groups_count_what_their_files_list(rest):
    groups = get(rest, "/statistics")["coverage"]
    assert sum(group["files"] for group in groups) == get(rest, "/coverage")["total"]
    for group in groups:
        page = get(rest, "/coverage", outcome=group["outcome"], reason=group["reason"])
        assert (page["total"], len(page["files"])) == (group["files"], group["files"])
        assert sum(file["bytes"] for file in page["files"]) == group["bytes"]
    outcomes = {(group["outcome"], group["reason"]) for group in groups}
    assert {("skipped", "lock file"), ("indexed", "syntax error: something is missing")} <= outcomes
    assert get(rest, "/coverage", outcome="skipped", text="large")["files"][0]["path"] == "large.py"


def test_files_are_filtered_by_path_and_reason_in_any_case(rest):
    assert [file["path"] for file in get(rest, "/coverage", text="MONEY")["files"]] == ["shop/money.py"]
    assert [file["path"] for file in get(rest, "/coverage", text="Lock File")["files"]] == ["poetry.lock"]
    assert get(rest, "/coverage", text="<script>")["total"] == 1
    assert get(rest, "/coverage", text="nowhere") == {
        "root": rest.root,
        "generation": 1,
        "files": [],
        "total": 0,
    }


def test_pages_of_files_follow_one_another(rest):
    complete = [file["path"] for file in get(rest, "/coverage")["files"]]
    pages = [get(rest, "/coverage", offset=offset, limit=3)["files"] for offset in range(0, len(complete), 3)]
    assert [file["path"] for page in pages for file in page] == complete == sorted(complete)


def test_missing_index_is_an_error_with_advice(rest, root):
    other = write_files(root.parent / "empty", {"a.py": "x = 1\n"})
    for path in ("/statistics", "/coverage"):
        reply = rest.http.get(API + path, params={"root": str(other)})
        assert (reply.status_code, reply.json()["type"]) == (404, "IndexNotFoundError")
        assert "coderag index" in reply.json()["hint"]


def test_statistics_follow_a_new_generation(tmp_path):
    folder = write_files(tmp_path / "shop", {"a.py": "x = 1\n"})
    rag = CodeRAG(folder)
    rag.index()
    with Workspace(WorkspaceOptions(watch=False)) as workspace:
        rest = RestClient(make_app(workspace), folder)
        assert get(rest, "/coverage")["total"] == 1
        write_files(folder, {"b.py": "from a import x\n"})
        rag.index()
        assert get(rest, "/coverage")["total"] == 2
        statistics = get(rest, "/statistics")
        assert (statistics["generation"], statistics["files"]) == (2, 2)


@pytest.mark.parametrize(
    "parameters", [{"limit": 0}, {"limit": 501}, {"offset": -1}, {"outcome": "lost"}, {"text": "x" * 1_001}]
)
def test_parameters_have_limits(rest, parameters):
    reply = rest.http.get(f"{API}/coverage", params={"root": rest.root, **parameters})
    assert reply.status_code == 422
