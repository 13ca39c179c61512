"""The embedding map over REST: its description, its points as bytes, details, similarity and results."""

import numpy as np
import pytest

from coderag import CodeRAG
from coderag.interfaces.rest.app import make_app
from coderag.workspace.workspace import Workspace, WorkspaceOptions
from tests.interfaces.rest_server import API, RestClient
from tests.support.shop import write_shop


@pytest.fixture(scope="module")
def rag(tmp_path_factory):
    engine = CodeRAG(write_shop(tmp_path_factory.mktemp("map") / "shop"))
    engine.index()
    return engine


@pytest.fixture(scope="module")
def rest(rag):
    workspace = Workspace(WorkspaceOptions(allowed_roots=(rag.root.parent,), watch=False))
    yield RestClient(make_app(workspace), rag.root)
    workspace.close()


@pytest.fixture(scope="module")
def description(rest):
    reply = rest.http.get(f"{API}/projection", params={"root": rest.root})
    assert reply.status_code == 200, reply.text
    return reply.json()


def get_part(rest, description, **parameters):
    query = {"root": rest.root, "generation": description["generation"], **parameters}
    return rest.http.get(f"{API}/projection/points", params=query)


def read_points(rest, description):
    content = get_part(rest, description).content
    n = len(content) // 8
    places = np.frombuffer(content, "<u2", 2 * n).reshape(2, n)
    codes = np.frombuffer(content, np.uint8, 4 * n, 4 * n).reshape(4, n)
    return places, dict(zip(("language", "role", "folder", "cluster"), codes, strict=True))


def test_the_description_has_the_legend_and_the_clusters(description, rag):
    info = description["info"]
    assert description["is_ready"]
    assert description["points"] == info["chunks"] == rag.status().chunks
    assert {"python", "typescript"} <= {value["name"] for value in info["facets"]["language"]}
    assert sum(cluster["count"] for cluster in info["clusters"]) == info["chunks"]


def test_codes_of_the_points_match_the_legend_and_the_chunks(rest, description):
    _, codes = read_points(rest, description)
    for facet, values in description["info"]["facets"].items():
        assert np.bincount(codes[facet]).tolist() == [value["count"] for value in values]
    numbers = list(range(description["points"]))
    chunks = rest.result("/projection/points", generation=description["generation"], points=numbers)["points"]
    for facet in ("language", "role"):
        names = [value["name"] for value in description["info"]["facets"][facet]]
        assert [chunk[facet] for chunk in chunks] == [names[code] for code in codes[facet]]
    assert any(chunk["qualified_name"] == "Cart.compute_total" for chunk in chunks)


def test_parts_end_and_numbers_without_a_point_are_left_out(rest, description):
    assert get_part(rest, description, part=1).content == b""
    assert get_part(rest, description, part=99).status_code == 422
    reply = rest.result("/projection/points", generation=description["generation"], points=[0, 4_000_000_000])
    assert [point["point"] for point in reply["points"]] == [0]


def test_similarity_is_highest_where_the_query_is_answered(rest, description):
    reply = rest.post("/projection/similarity", generation=description["generation"], query="apply_discount")
    values = np.frombuffer(reply.content, np.uint8)
    assert (len(values), values.max()) == (description["points"], 255)
    best = [int(values.argmax())]
    (chunk,) = rest.result("/projection/points", generation=description["generation"], points=best)["points"]
    assert "discount" in (chunk["path"] + chunk["qualified_name"]).lower()


def test_results_of_a_query_have_their_place(rest, description):
    places, _ = read_points(rest, description)
    reply = rest.result("/projection/marks", generation=description["generation"], query="compute the total", top_k=3)
    assert [mark["rank"] for mark in reply["marks"]] == [1, 2, 3]
    for mark in reply["marks"]:
        assert (mark["x"], mark["y"]) == tuple(places[:, mark["point"]].tolist())
        (chunk,) = rest.result("/projection/points", generation=description["generation"], points=[mark["point"]])[
            "points"
        ]
        assert chunk["path"] == mark["path"]
        assert chunk["start_line"] <= mark["start_line"] <= chunk["end_line"]


def test_an_edited_result_has_no_place_until_it_is_indexed(rest, description, rag):
    file = rag.root / "shop" / "discount.py"
    before = file.read_text()
    try:
        file.write_text(before.replace("def apply_discount", "\n\ndef apply_discount"))
        reply = rest.result("/projection/marks", generation=description["generation"], query="apply_discount", top_k=1)
        assert reply["marks"][0]["point"] is None
    finally:
        file.write_text(before)


def test_a_request_for_another_generation_says_so(rest, description):
    stale = {**description, "generation": "7-2020-01-01T00:00:00.000+00:00"}
    reply = get_part(rest, stale)
    assert reply.status_code == 422
    assert "replaced" in reply.json()["detail"]


def test_a_repository_without_an_index_has_no_map(rest, rag):
    empty = rag.root.parent / "empty"
    empty.mkdir(exist_ok=True)
    reply = rest.http.get(f"{API}/projection", params={"root": str(empty)})
    assert (reply.status_code, reply.json()["type"]) == (404, "IndexNotFoundError")
