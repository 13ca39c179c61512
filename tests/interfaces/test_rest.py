"""What the REST interface answers about a repository that is indexed."""

from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass

import pytest

from coderag import CodeRAG
from coderag.interfaces.rest.app import make_app
from coderag.schema.search import Filters, SearchHits
from coderag.service import reply_parsers
from coderag.workspace.workspace import Workspace, WorkspaceOptions
from tests.interfaces.rest_server import API, RestClient, events_of
from tests.support.corpora import write_files

FILES = {
    "shop/money.py": 'def round_up(value):\n    """Round a value up."""\n    return int(value + 0.5)\n',
    "shop/cart.py": (
        "from shop.money import round_up\n\n\nclass Cart:\n    def total(self):\n        return round_up(self.sum)\n\n\n"
        "class Basket(Cart):\n    def total(self):\n        return 1\n"
    ),
    "shop/loop.py": "from shop.pool import one\n\n\ndef two():\n    return one()\n",
    "shop/pool.py": "from shop.loop import two\n\n\ndef one():\n    return two()\n",
    "tests/test_money.py": "from shop.money import round_up\n\n\ndef test_it():\n    assert round_up(1) == 1\n",
    "README.md": "# Shop\n\nThe `Cart` rounds totals with `round_up`.\n",
    "broken.py": "def half(:\n",
}
QUESTION = "how are totals rounded"


@pytest.fixture(scope="module")
def rag(tmp_path_factory):
    engine = CodeRAG(write_files(tmp_path_factory.mktemp("rest") / "shop", FILES))
    engine.index()
    return engine


@pytest.fixture(scope="module")
def rest(rag):
    workspace = Workspace(WorkspaceOptions(allowed_roots=(rag.root.parent,), watch=False))
    yield RestClient(make_app(workspace), rag.root)
    workspace.close()


def told(value):
    """Return all that a result says; a list for any sequence, and its class with what a dataclass says."""
    if is_dataclass(value):
        return type(value), {field.name: told(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {name: told(item) for name, item in value.items()}
    return [told(item) for item in value] if isinstance(value, (list, tuple)) else value


def test_a_search_is_the_same_as_in_process(rest, rag):
    reply = rest.result("/search", query=QUESTION, top_k=3)
    found = rag.search(QUESTION, top_k=3)
    rebuilt = reply_parsers.parse_hits(reply)
    assert told(rebuilt) == told(found) != []
    assert (rebuilt.evidence, rebuilt.confidence, rebuilt.not_indexed) == (
        found.evidence, found.confidence, found.not_indexed
    )  # fmt: skip


def test_pages_follow_one_another_without_a_gap(rest, rag):
    whole = [hit["chunk_id"] for hit in rest.result("/search", query=QUESTION, top_k=4)["hits"]]
    pages, offset = [], 0
    while offset is not None and len(pages) < 4:
        page = rest.result("/search", query=QUESTION, top_k=2, offset=offset)
        pages += [hit["chunk_id"] for hit in page["hits"]]
        offset = page["next_offset"]
    assert pages == whole


def test_the_last_page_names_no_next_one(rest):
    assert rest.result("/search", query=QUESTION, top_k=200)["next_offset"] is None


def test_filters_hold(rest):
    hits = rest.result("/search", query=QUESTION, filters={"paths": ["tests/**"], "roles": ["test"]})["hits"]
    assert {hit["path"] for hit in hits} == {"tests/test_money.py"}


def test_a_repository_may_be_named_by_its_name(rest):
    name = rest.result("/search", query="Cart")["repository"]
    assert rest.result("/search", query="Cart", root=name)["root"] == rest.root


def test_a_search_over_several_repositories_says_which_one_a_result_is_of(rest):
    reply = rest.http.post(f"{API}/search", json={"query": QUESTION, "repositories": [rest.root, "/not/there"]}).json()
    assert {hit["root"] for hit in reply["hits"]} == {rest.root}
    assert [bool(verdict["error"]) for verdict in reply["verdicts"]] == [False, True]


@pytest.mark.parametrize("options", [{"text": "round_up"}, {"text": "def .*\\(", "regex": True, "context_lines": 1}])
def test_a_search_for_text_is_the_same_as_in_process(rest, rag, options):
    assert told(reply_parsers.parse_matches(rest.result("/search/text", **options))) == told(rag.search_text(**options))


@pytest.mark.parametrize("text_format", ["markdown", "xml", "json"])
def test_a_context_is_the_same_as_in_process(rest, rag, text_format):
    found = rag.context(QUESTION, token_budget=500, format=text_format)
    reply = rest.result("/context", query=QUESTION, token_budget=500, format=text_format)
    assert told(reply_parsers.parse_context(reply)) == told(found)


def test_a_context_leaves_out_what_its_session_has_shown(rest):
    first = rest.result("/context", query="round_up", session="talk")
    second = rest.result("/context", query="round_up", session="talk")
    assert first["sections"][0]["items"]
    assert second["shown_before"]


def test_a_session_that_is_forgotten_begins_anew(rest):
    first = rest.result("/context", query="Cart", session="other")
    path = f"{API}/sessions/other"
    assert rest.http.delete(path, params={"root": rest.root}).json() == {"known": True}
    assert rest.http.delete(path, params={"root": rest.root}).json() == {"known": False}
    assert rest.result("/context", query="Cart", session="other") == first


def test_lines_are_read_as_in_process(rest, rag):
    found = rag.read(["shop/cart.py:4-6"])
    assert told(reply_parsers.parse_context(rest.result("/read", places=["shop/cart.py:4-6"]))) == told(found)


def test_an_explanation_has_all_that_the_engine_tells(rest, rag):
    reply, found = rest.result("/explain", query=QUESTION, top_k=3), asdict(rag.explain(QUESTION, top_k=3))
    nodes = [[entry["node"] for entry in one.pop("trace")] for one in (reply, found)]  # it has times
    assert told(reply) == told(found)
    assert nodes[0] == nodes[1] != []


def test_a_definition_is_found_by_its_name(rest, rag):
    hits = rest.result("/definition", name="Cart.total")["hits"]
    assert told([reply_parsers.parse_hit(hit) for hit in hits]) == told(rag.definition("Cart.total"))


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("callers", "round_up"), ("callees", "Cart.total"), ("imports", "shop/cart.py"), ("importers", "shop/money.py"),
        ("bases", "Basket"), ("subclasses", "Cart"), ("implementations", "Cart"), ("overrides", "Cart.total"),
        ("overridden", "Basket.total"), ("tests", "round_up"), ("references", "round_up"), ("documents", "Cart"),
        ("impact", "round_up"),
    ],
)  # fmt: skip
def test_a_question_to_the_graph_is_answered_as_in_process(rest, rag, question, name):
    reply = rest.result(f"/graph/{question}", name=name)
    found = getattr(rag.graph, question)(name)
    assert told(reply_parsers.parse_neighbours(reply["results"])) == told(found)
    assert reply["total"] == len(found)


def test_the_graph_goes_as_deep_as_is_asked(rest, rag):
    assert rest.result("/graph/impact", name="round_up", depth=1)["total"] == len(rag.graph.impact("round_up", 1))


def test_a_limit_is_told_by_the_total(rest):
    reply = rest.result("/graph/impact", name="round_up", limit=1)
    assert len(reply["results"]) == 1 < reply["total"]


def test_a_path_leads_from_one_declaration_to_another(rest, rag):
    reply = rest.result("/graph/path", start="Cart.total", end="round_up")
    assert (
        told(reply_parsers.parse_neighbours(reply["results"])) == told(rag.graph.path("Cart.total", "round_up")) != []
    )


@pytest.mark.parametrize("level", ["files", "symbols"])
def test_cycles_are_found(rest, rag, level):
    reply = rest.result("/graph/cycles", level=level)
    assert told(reply_parsers.parse_cycles(reply["results"])) == told(rag.graph.cycles(level)) != []


def test_hotspots_come_most_central_first(rest, rag):
    reply = rest.result("/graph/hotspots", kind="function", limit=2)
    assert told(reply_parsers.parse_hotspots(reply["results"])) == told(rag.graph.hotspots(2, "function"))


def test_a_query_without_an_edge_lists_the_lines_that_mention_the_name(rest):
    reply = rest.result("/graph/callers", name="Basket")
    assert (reply["results"], reply["mention_count"], reply["mentions"], reply["tier"]) == ([], 0, [], "full")
    assert reply["reason"].startswith("Python: ")
    reply = rest.result("/graph/overrides", name="Cart")
    assert (reply["results"], reply["mention_count"]) == ([], 0)
    reply = rest.result("/graph/callers", name="Cart")
    assert [(line["path"], line["line"]) for line in reply["mentions"]] == [("shop/cart.py", 9), ("README.md", 3)]
    assert reply["mention_count"] == 2
    reply = rest.result("/graph/callers", name="round_up")
    assert (reply["mentions"], reply["mention_count"]) == ([], 0)
    reply = rest.result("/graph/callees", name="round_up")
    assert (reply["mentions"], reply["mention_count"], reply["tier"]) == ([], None, None)


@pytest.mark.parametrize("question", [None, "tests"])
def test_mentions_are_the_same_as_in_process(rest, rag, question):
    reply = rest.result("/graph/mentions", name="round_up", question=question, limit=3)
    assert told(reply_parsers.parse_mentions(reply)) == told(rag.mentions("round_up", question, limit=3))
    assert reply["lines"]


def test_unused_code_is_the_same_as_in_process(rest, rag):
    reply = rest.result("/graph/unused", path="shop")
    assert told(reply_parsers.parse_unused(reply)) == told(rag.unused("shop"))
    assert [one["qualified_name"] for one in reply["results"]] == ["Cart.total", "Basket"]


@pytest.mark.parametrize("name", ["cart", "shop/cart.py", "Cart", "cart.py"])
def test_an_outline_names_the_path_of_its_file(rest, name):
    assert rest.result("/graph/outline", path=name)["path"] == "shop/cart.py"


def test_an_outline_is_nested(rest, rag):
    reply = rest.result("/graph/outline", path="shop/cart.py")
    assert told(reply_parsers.parse_outline(reply["results"])) == told(rag.graph.outline("shop/cart.py"))
    assert reply["results"][0]["children"]


def test_the_status_is_the_same_as_in_process(rest, rag):
    reply = rest.http.get(f"{API}/status", params={"root": rest.root}).json()
    assert told(reply_parsers.parse_status(reply)) == told(rag.status())
    assert reply["notes"], "a file with a syntax error has a note"


def test_an_answer_is_the_same_as_in_process(rest, rag):
    found, rebuilt = rag.ask(QUESTION), reply_parsers.parse_answer(rest.result("/ask", query=QUESTION))
    assert told(rebuilt) == told(found)


def test_a_streamed_answer_ends_with_the_whole_of_it(rest, rag):
    reply = rest.http.post(
        f"{API}/ask", json={"root": rest.root, "query": QUESTION}, headers={"accept": "text/event-stream"}
    )
    events = events_of(reply.text)
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert [name for name, _ in events] == [data["kind"] for _, data in events]
    assert events[0][0] == "stage"
    answer = reply_parsers.parse_answer(events[-1][1]["answer"])
    assert "".join(data["text"] for name, data in events if name == "text") == answer.text == rag.ask(QUESTION).text


def test_the_verdict_of_no_results_is_kept(rest, rag):
    reply = rest.result(
        "/search", query="kubernetes ingress annotations", filters={"kinds": ["class"], "complexity": 99}
    )
    assert reply_parsers.parse_hits(reply) == SearchHits()
    assert (
        reply["evidence"]
        == rag.search("kubernetes ingress annotations", filters=Filters(kinds=("class",), complexity=99)).evidence
    )


def test_a_repository_that_is_opened_is_listed(rest):
    opened = rest.result("/repositories")
    assert (opened["root"], opened["is_open"], opened["is_indexed"]) == (rest.root, True, True)
    assert opened["root"] in [one["root"] for one in rest.http.get(f"{API}/repositories").json()["repositories"]]


def test_health_names_the_version(rest):
    assert rest.http.get(f"{API}/health").json()["status"] == "ok"
