"""The search playground over REST: previews, options, experiments, and feedback that becomes a golden set."""

import pytest

from coderag import CodeRAG
from coderag.interfaces.rest.app import make_app
from coderag.workspace.workspace import Workspace, WorkspaceOptions
from evals.golden import load_golden
from tests.interfaces.rest_server import API, RestClient
from tests.support.shop import write_shop

QUERY = "how is a discount applied to the total"


@pytest.fixture(scope="module")
def rag(tmp_path_factory):
    engine = CodeRAG(write_shop(tmp_path_factory.mktemp("rest") / "shop"))
    engine.index()
    return engine


@pytest.fixture(scope="module")
def rest(rag):
    workspace = Workspace(WorkspaceOptions(allowed_roots=(rag.root.parent,), watch=False))
    yield RestClient(make_app(workspace), rag.root)
    workspace.close()


def list_feedback(rest):
    return rest.http.get(f"{API}/feedback", params={"root": rest.root}).json()


def export(rest):
    return rest.http.get(f"{API}/feedback/export", params={"root": rest.root})


def place_of(hit):
    return {
        "path": hit["path"],
        "start_line": hit["start_line"],
        "end_line": hit["end_line"],
        "symbol": hit["qualified_name"],
    }


def test_a_preview_has_the_results_of_a_search_with_their_matching_lines(rest):
    preview, search = rest.result("/search/preview", query=QUERY), rest.result("/search", query=QUERY)
    assert [hit["chunk_id"] for hit in preview["hits"]] == [hit["chunk_id"] for hit in search["hits"]]
    best, text = preview["hits"][0], search["hits"][0]["text"].split("\n")
    assert "text" not in best
    assert any(line["is_match"] and "discount" in line["text"] for line in best["lines"])
    for line in best["lines"]:
        assert line["text"] == text[line["number"] - best["start_line"]]


def test_pages_of_a_preview_follow_one_another(rest):
    whole = [hit["chunk_id"] for hit in rest.result("/search/preview", query=QUERY, top_k=4)["hits"]]
    first = rest.result("/search/preview", query=QUERY, top_k=2)
    second = rest.result("/search/preview", query=QUERY, top_k=2, offset=first["next_offset"])
    assert [hit["chunk_id"] for hit in [*first["hits"], *second["hits"]]] == whole


def test_a_huge_declaration_is_previewed_in_a_few_short_lines(rest, rag):
    path = rag.root / "shop" / "huge.py"
    lines = ["ZEBRA_TABLE = [", "    1," * 500, *["    2,"] * 30_000, "]", ""]
    path.write_text("\n".join(lines), encoding="utf-8")
    rag.index()
    try:
        reply = rest.post("/search/preview", query="ZEBRA_TABLE")
        assert len(reply.content) < 50_000
        assert reply.json()["hits"][0]["path"] == "shop/huge.py"
    finally:
        path.unlink()
        rag.index()


def test_options_list_what_the_index_has_and_what_ranks(rest):
    options = rest.http.get(f"{API}/search/options", params={"root": rest.root}).json()
    assert {"python", "typescript"} <= set(options["languages"])
    assert {"source", "test", "docs"} <= set(options["roles"])
    assert {"dense", "length"} <= set(options["weighted_signals"]) <= set(options["switchable_signals"])
    assert options["saved"] == {"weights": {}, "disabled_signals": []}
    assert options["has_model"] is False


def test_an_experiment_holds_for_its_request_only(rest):
    before = rest.result("/search", query=QUERY)
    variants = [{"weights": {"role": 0, "kind": 5}, "disabled_signals": ["lexical", "dense"]}, {"weights": {}}]
    reply = rest.result("/experiment", query=QUERY, variants=variants)
    changed, unchanged = reply["variants"]
    assert {move["change"] for move in unchanged["moves"]} == {"same"}
    assert {move["change"] for move in changed["moves"]} - {"same"}
    for result in changed["explanation"]["results"]:
        assert not {"lexical", "dense"} & set(result["channels"])
    ranks = {(result["path"], result["name"]): result["rank"] for result in reply["saved"]["explanation"]["results"]}
    for move in changed["moves"]:
        assert ranks.get((move["path"], move["name"])) == move["previous_rank"]
    assert rest.result("/search", query=QUERY)["hits"] == before["hits"]


@pytest.mark.parametrize(
    ("variant", "part"),
    [
        ({"weights": {"luck": 1}}, "luck"),
        ({"disabled_signals": ["luck"]}, "luck"),
        ({"weights": {"dense": 11}}, "dense"),
        ({"weights": {"dense": -1}}, "dense"),
    ],
)
def test_an_experiment_refuses_unknown_signals_and_wild_factors(rest, variant, part):
    reply = rest.post("/experiment", query=QUERY, variants=[variant])
    assert (reply.status_code, part in reply.json()["detail"]) == (422, True)


def test_an_explanation_says_how_the_question_was_understood(rest):
    understood = rest.result("/explain", query="who calls apply_discount")["understanding"]
    assert (understood["kind"], understood["relation"], understood["direction"]) == ("find_usage", "calls", "in")
    (subject,) = understood["subjects"]
    assert (subject["text"], subject["total"]) == ("apply_discount", 1)
    assert subject["declarations"][0]["path"] == "shop/discount.py"
    german = rest.result("/explain", query="wo wird der Rabatt berechnet")["understanding"]
    assert german["human_language"] == "de"
    assert "discount" in german["text"]


def test_thumbs_on_one_query_are_one_golden_question(rest, tmp_path):
    hits = rest.result("/search", query=QUERY)["hits"]
    rest.result("/feedback", query=QUERY, verdict="up", place=place_of(hits[0]), intent="understand_module")
    rest.result("/feedback", query=f"  {QUERY}\n", verdict="up", place=place_of(hits[1]))
    case = rest.result("/feedback", query=QUERY, verdict="down", place=place_of(hits[2]))
    assert [thumb["verdict"] for thumb in case["thumbs"]] == ["up", "up", "down"]
    rest.result("/feedback", query="where is the weather forecast", verdict="unanswerable")
    rest.result("/feedback", query="only wrong results", verdict="down", place=place_of(hits[0]))
    listed = list_feedback(rest)
    assert (len(listed["cases"]), listed["complete"]) == (3, 2)

    reply = export(rest)
    assert 'filename="coderag-feedback.jsonl"' in reply.headers["content-disposition"]
    path = tmp_path / "feedback.jsonl"
    path.write_bytes(reply.content)
    weather, discount = load_golden(path).questions
    assert weather.unanswerable
    assert (discount.question, discount.intent) == (QUERY, "general")
    assert [target.path for target in discount.answers] == [hit["path"] for hit in hits[:2]]
    assert f"{hits[2]['path']}:{hits[2]['start_line']}" in discount.origin
    for case in listed["cases"]:
        rest.http.delete(f"{API}/feedback/{case['id']}", params={"root": rest.root})
    assert list_feedback(rest)["cases"] == []


def test_a_thumb_can_be_changed_and_withdrawn(rest):
    place = place_of(rest.result("/search", query=QUERY)["hits"][0])
    rest.result("/feedback", query=QUERY, verdict="up", place=place)
    moved = {**place, "start_line": place["start_line"] + 7, "end_line": place["end_line"] + 7}  # after an edit above
    case = rest.result("/feedback", query=QUERY, verdict="down", place=moved)
    assert [thumb["verdict"] for thumb in case["thumbs"]] == ["down"]
    rest.result("/feedback", query=QUERY, verdict="none", place=place)
    assert list_feedback(rest)["cases"] == []


@pytest.mark.parametrize(
    "body",
    [
        {"verdict": "up"},
        {"verdict": "unanswerable", "place": {"path": "a.py", "start_line": 1, "end_line": 1}},
        {"verdict": "up", "place": {"path": "a.py", "start_line": 2, "end_line": 1}},
        {"verdict": "up", "place": {"path": "../a.py", "start_line": 1, "end_line": 1}},
        {"verdict": "maybe", "place": {"path": "a.py", "start_line": 1, "end_line": 1}},
    ],
)
def test_feedback_that_no_golden_set_can_hold_is_refused(rest, body):
    assert rest.post("/feedback", query=QUERY, **body).status_code == 422


def test_feedback_that_is_not_there_cannot_be_deleted(rest):
    assert rest.http.delete(f"{API}/feedback/abc123", params={"root": rest.root}).status_code == 404
