"""What the service sends is the same when it has arrived."""

import json
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from coderag.interfaces.json_values import encode_json
from coderag.schema.answers import Answer, AnswerClaim
from coderag.schema.graph import GraphCycle, GraphNeighbour, Hotspot, OutlineEntry
from coderag.schema.indexing import IndexProgress
from coderag.schema.search import SearchHits
from coderag.schema.text_matches import TextMatches
from coderag.service import reply_parsers
from tests.interfaces.fake_app import FakeCodeRAG, make_hit, make_match

NEIGHBOUR = GraphNeighbour("caller", "a.py", 3, 1, 9, "a.f", "function", "imports", 0.1 + 0.2, via="b.g")
FAKE = FakeCodeRAG(Path("/repo"))


def sent(value: object) -> Any:
    return json.loads(encode_json(value))


@pytest.mark.parametrize(
    ("rebuild", "value"),
    [
        (reply_parsers.parse_hit, make_hit(score=0.1 + 0.2, duplicates=["b.py:1-2"])),
        (reply_parsers.parse_context, FAKE.context("login")),
        (reply_parsers.parse_answer, FAKE.ask("login")),
        (reply_parsers.parse_status, FAKE.status()),
        (reply_parsers.parse_report, FAKE.index()),
        (reply_parsers.parse_progress, IndexProgress("embed", 3, 0)),
        (
            reply_parsers.parse_matches,
            TextMatches("q", "exact", [make_match()], 1, {"a.py": 1}, unread=[("b.py", "gone")]),
        ),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_a_result_arrives_as_it_was(rebuild: Callable[[Any], Any], value: object) -> None:
    assert sent(rebuild(sent(value))) == sent(value)
    assert type(rebuild(sent(value))) is type(value)


@pytest.mark.parametrize(
    ("rebuild", "values"),
    [
        (reply_parsers.parse_neighbours, [NEIGHBOUR]),
        (reply_parsers.parse_cycles, [GraphCycle(["a.py", "b.py"], [NEIGHBOUR])]),
        (reply_parsers.parse_hotspots, [Hotspot("a.py", 1, 2, "a.f", "function", 1 / 3, 4, 5)]),
        (
            reply_parsers.parse_outline,
            [OutlineEntry("A", "A", "class", 1, 9, [OutlineEntry("f", "A.f", "method", 2, 3)])],
        ),
    ],
)
def test_what_the_graph_answers_arrives_as_it_was(rebuild: Callable[[Any], Any], values: list[Any]) -> None:
    assert sent(rebuild(sent(values))) == sent(values)


def test_the_verdict_of_a_search_arrives() -> None:
    hits = SearchHits([make_hit()], evidence="weak", confidence=0.25, not_indexed=["a.bin: binary"])
    verdict = {"evidence": hits.evidence, "confidence": hits.confidence, "not_indexed": hits.not_indexed}
    back = reply_parsers.parse_hits(sent({**verdict, "hits": list(hits), "query": "q", "next_offset": None}))
    assert (back.evidence, back.confidence, back.not_indexed) == ("weak", 0.25, ["a.bin: binary"])


def test_paths_are_paths_again() -> None:
    assert reply_parsers.parse_hit(sent(make_hit())).path == PurePosixPath("src/auth/session.py")


def test_what_a_reply_has_beyond_the_result_is_left_out() -> None:
    assert reply_parsers.parse_progress({**sent(IndexProgress("scan", 1, 2)), "more": 1}) == IndexProgress("scan", 1, 2)


def test_claims_and_citations_of_an_answer_are_what_they_were() -> None:
    answer: Answer = FAKE.ask("login")
    claim = AnswerClaim("it does", [0], "verified")
    back = reply_parsers.parse_answer({**sent(answer), "claims": sent([claim])})
    assert (back.claims, back.citations) == ([claim], list(answer.citations))
