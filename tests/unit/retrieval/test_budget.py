from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from coderag.retrieval.budget import SHARES, ContextRequest, assemble
from coderag.token_counts import count_tokens
from tests.support.pieces import BODY, piece, short_piece

DETAILS = ["full", "elided", "signature", "line", None]


def packed(results=(), related=(), relations=(), *, budget=8_000, query="how are settings loaded", **changes):
    request = ContextRequest(
        **{
            "query": query,
            "intent": "general",
            "evidence": "found",
            "results": list(results),
            "related": list(related),
            "relations": list(relations),
            "terms": ["set"],
            "token_budget": budget,
            **changes,
        }
    )
    return assemble(request, count_tokens)


def section(context, name):
    return next((section for section in context.sections if section.name == name), None)


def shown(context):
    return [(item.chunk_id, item.start_line) for section in context.sections for item in section.items if item.path]


def detail_of(context):
    return next((item.detail for section in context.sections for item in section.items), None)


def fences(markdown):
    return [token.content for token in MarkdownIt().parse(markdown) if token.type == "fence"]


LINES = st.lists(
    st.sampled_from(
        [
            "def load(path):",
            "    return fallback",
            "",
            "```",
            "````python",
            "~~~",
            "    数据库 = 🙂",
            f"x = '{'aF3+' * 40}'",
        ]
    ),
    min_size=1,
    max_size=40,
)
NAMES = st.sampled_from(["load", "Session.load", "", "a" * 120, "Übung.größe"])


@st.composite
def pieces(draw, first, most):
    texts = draw(st.lists(LINES, max_size=most))
    return [
        piece(
            first + number,
            text="\n".join(lines),
            name=draw(NAMES),
            signature=draw(st.sampled_from(["", "def load(path):"])),
            summary=draw(st.sampled_from(["", "Load it."])),
            start_line=draw(st.sampled_from([1, 7])),
            relation=draw(st.sampled_from(["callee", "caller"])) if first else None,
            related_to="load" if first else "",
        )
        for number, lines in enumerate(texts)
    ]


QUERIES = st.one_of(st.text(min_size=1, max_size=300), st.just("🙂" * 300), st.just("数" * 300), st.just("how"))


@settings(max_examples=60)
@given(
    results=pieces(first=0, most=8),
    related=pieces(first=100, most=6),
    relations=st.lists(st.sampled_from(["`a` calls `b` — a.py:1-2", "`c` extends `d` — c.py:3-4"]), max_size=4),
    budget=st.integers(200, 3_000),
    query=QUERIES,
    evidence=st.sampled_from(["found", "weak", "not_found"]),
)
def test_whatever_there_is_fits_and_is_accounted_for(results, related, relations, budget, query, evidence):
    context = packed(results, related, relations, budget=budget, query=query, evidence=evidence)
    assert context.tokens == count_tokens(context.text) <= budget == context.token_budget
    places = shown(context)
    assert len(places) == len(set(places))
    omitted = [(one.path, one.start_line) for one in context.omitted]
    given_places = [one.key for one in (*results, *related)]
    assert sorted(places + [(f"c{path[13:-3]}", line) for path, line in omitted]) == sorted(given_places)


@settings(max_examples=30)
@given(results=pieces(first=0, most=5))
def test_no_source_breaks_the_markdown_around_it(results):
    context = packed(results, budget=20_000)
    expected = [one.text.strip("\n") for one in results if one.text.strip("\n")]
    assert [content.rstrip("\n") for content in fences(context.text) if content.strip("\n")] == [
        text.rstrip("\n") for text in expected
    ]


def test_detail_degrades_with_the_budget_from_all_to_one_line_to_nothing():
    details = [detail_of(packed([piece()], budget=budget)) for budget in range(1_200, 19, -20)]
    places = [DETAILS.index(detail) for detail in details]
    assert places == sorted(places)
    assert set(details) == set(DETAILS)


def test_an_elided_body_keeps_the_lines_with_the_questions_words():
    marked = BODY.replace("value_17 =", "needle =")
    context = packed([piece(text=marked)], budget=400, terms=["needl"])
    assert detail_of(context) == "elided"
    assert "needle = transform" in context.text
    assert "… " in context.text


def test_a_signature_is_shown_with_its_documentation():
    context = packed([piece()], budget=200, terms=["fallback"])
    assert detail_of(context) == "signature"
    assert fences(context.text) == ["def load_settings(path):\n    Read the settings of a repository from its file.\n"]


def test_sections_share_the_budget_by_60_30_10():
    results, related = (
        [piece(number) for number in range(20)],
        [piece(number, relation="callee") for number in range(50, 70)],
    )
    relations = [f"`a{number}` calls `b{number}` — src/a.py:{number}-{number}" for number in range(400)]
    context = packed(results, related, relations, budget=8_000)
    for name, share in SHARES.items():
        assert section(context, name).tokens == pytest.approx(share * 8_000, rel=0.15)


def test_what_results_leave_goes_to_related_code():
    related = [piece(number, relation="callee") for number in range(50, 70)]
    many = packed([piece(number) for number in range(20)], related, budget=6_000)
    few = packed([short_piece()], related, budget=6_000)
    assert section(few, "related").tokens > 1.5 * section(many, "related").tokens


def test_what_related_code_leaves_goes_to_the_map():
    relations = [f"`a{number}` calls `b{number}` — src/a.py:{number}-{number}" for number in range(400)]
    context = packed([short_piece()], [short_piece(50, relation="callee")], relations, budget=2_000)
    assert section(context, "graph").tokens > 0.7 * 2_000


def test_what_everything_leaves_goes_back_to_the_results():
    context = packed([piece(number) for number in range(8)], budget=8_000)
    assert [item.detail for item in section(context, "primary").items] == ["full"] * 8


def test_the_best_results_are_shown_in_most_detail():
    context = packed([piece(number) for number in range(12)], budget=4_000)
    places = [DETAILS.index(item.detail) for item in section(context, "primary").items]
    assert places[0] == 0
    assert all(earlier <= later for earlier, later in pairwise(places))


@pytest.mark.parametrize("extra", [0, 100, 300])
def test_the_whole_text_fits_even_where_the_tokens_of_its_parts_do_not_add_up(extra):
    request = ContextRequest(
        query="q",
        intent="general",
        evidence="found",
        results=[short_piece(number) for number in range(6)],
        related=[short_piece(number, relation="callee") for number in range(50, 56)],
        relations=["`a` calls `b`"],
        terms=[],
        token_budget=400,
    )
    context = assemble(request, lambda text: count_tokens(text) + extra * text.startswith("# Context: q\n\n"))
    assert context.tokens <= 400
    assert len(shown(context)) + len(context.omitted) == 12


def test_order_is_kept():
    results = [short_piece(number) for number in (5, 3, 9, 1)]
    assert [item.chunk_id for item in section(packed(results), "primary").items] == ["c5", "c3", "c9", "c1"]


def test_what_was_left_out_is_listed_with_how_to_get_it():
    context = packed([piece(number) for number in range(30)], budget=2_000)
    assert context.omitted
    first = context.omitted[0]
    assert first.tokens == count_tokens(BODY)
    assert first.fetch == f"coderag search 'load_settings' --path '{first.path}'"
    assert "Left out" in context.text


def test_a_long_list_of_what_was_left_out_says_how_many_more():
    context = packed([piece(number) for number in range(60)], budget=2_000)
    listed = context.text.count("tokens): `coderag search")
    assert 0 < listed < len(context.omitted)
    assert f"and {len(context.omitted) - listed} more" in context.text


def test_nothing_found_is_said_so():
    context = packed(evidence="not_found")
    assert "Nothing in the index answers this" in context.text
    assert context.sections == []


def test_weak_evidence_is_said_so():
    assert "evidence is weak" in packed([short_piece()], evidence="weak").text
    assert "evidence is weak" not in packed([short_piece()]).text


def test_related_code_says_how_it_is_related():
    context = packed([short_piece(1)], [short_piece(2, relation="test_for", related_to="short_1")])
    assert "test for of `short_1`" in context.text or "tests `short_1`" in context.text


def test_a_place_and_a_language_stand_with_each_piece():
    text = packed([short_piece(1)]).text
    assert "src/settings_1.py:1-2" in text
    assert "```python" in text


def test_only_the_first_line_of_a_question_is_its_heading():
    assert packed([], query="how\nis it done").text.startswith("# Context: how\n")
