import json
import shlex
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from coderag.question.places import parse_location
from coderag.retrieval.context.assembly import ContextRequest, assemble_context
from coderag.text.token_counts import count_tokens
from tests.support.pieces import BODY, piece, short_piece

DETAILS = ["full", "elided", "signature", "line", None]


def packed(results=(), related=(), relations=(), *, budget=8_000, query="how are settings loaded", **changes):
    n_candidates = len(results) + len(changes.get("reserve", ()))
    request = ContextRequest(
        **{
            "relevance": [1 / (rank + 2) for rank in range(n_candidates)],
            "query": query,
            "intent": "general",
            "evidence": "found",
            "results": list(results),
            "related": list(related),
            "relations": list(relations),
            "term_idf": {"set": 1.0},
            "token_budget": budget,
            **changes,
        }
    )
    return assemble_context(request, count_tokens)


def section(context, name):
    return next((section for section in context.sections if section.name == name), None)


def list_shown(context):
    return [(item.chunk_id, item.start_line) for section in context.sections for item in section.items if item.path]


def find_detail(context):
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
            score=0.5,
            related_to="load" if first else "",
        )
        for number, lines in enumerate(texts)
    ]


FORMATS = st.sampled_from(["markdown", "xml", "json"])
QUERIES = st.one_of(st.text(min_size=1, max_size=300), st.just("🙂" * 300), st.just("数" * 300), st.just("how"))


@settings(max_examples=60)
@given(
    results=pieces(first=0, most=8),
    related=pieces(first=100, most=6),
    relations=st.lists(st.sampled_from(["`a` calls `b` — a.py:1-2", "`c` extends `d` — c.py:3-4"]), max_size=4),
    budget=st.integers(200, 3_000),
    query=QUERIES,
    evidence=st.sampled_from(["found", "weak", "not_found", "unknown"]),
    text_format=FORMATS,
)
def test_every_context_fits_and_accounts_for_everything(  # one parameter a part
    results, related, relations, budget, query, evidence, text_format
):
    context = packed(results, related, relations, budget=budget, query=query, evidence=evidence, format=text_format)
    assert context.tokens == count_tokens(context.text) <= budget == context.token_budget
    places = list_shown(context)
    assert len(places) == len(set(places))
    omitted = [(snippet.path, snippet.start_line) for snippet in context.omitted]
    given_places = [snippet.key for snippet in (*results, *related)]
    assert sorted(places + [(f"c{path[13:-3]}", line) for path, line in omitted]) == sorted(given_places)


@settings(max_examples=30)
@given(results=pieces(first=0, most=5))
def test_source_cannot_break_the_markdown(results):
    results = [snippet for snippet in results if snippet.text.strip()]
    context = packed(results, budget=20_000)
    blocks = [snippet.text.strip("\n") for snippet in results if "\n" in snippet.text.strip()]
    assert [content.rstrip("\n") for content in fences(context.text)] == [text.rstrip("\n") for text in blocks]
    spans = [
        child.content
        for token in MarkdownIt().parse(context.text)
        if token.type == "inline"
        for child in token.children or ()
        if child.type == "code_inline"
    ]
    for snippet in results:
        if "\n" not in snippet.text.strip():
            assert " ".join(snippet.text.split()) in spans


def test_detail_degrades_with_the_budget():
    details = [find_detail(packed([piece()], budget=budget)) for budget in range(1_200, 19, -5)]
    places = [DETAILS.index(detail) for detail in details]
    assert places == sorted(places)
    assert set(details) == set(DETAILS)


def test_elided_body_keeps_lines_with_question_terms():
    marked = BODY.replace("value_17 =", "needle =")
    context = packed([piece(text=marked)], budget=400, term_idf={"needl": 1.0})
    assert find_detail(context) == "elided"
    assert "needle = transform" in context.text
    assert "… " in context.text


def test_bare_name_has_no_fence():
    assembled = piece(1, name="Guide > Limits", kind="section", signature="", docstring="", summary="")
    context = packed([assembled], relevance=[0.0], token_price=3e-4)
    assert find_detail(context) == "line"
    assert "`Guide > Limits` (section)" in context.text
    assert fences(context.text) == []


def test_signature_is_one_line():
    context = packed([piece()], relevance=[0.001], token_price=1e-4)
    assert find_detail(context) == "signature"
    assert "- `load_settings` (function) — src/settings_0.py:1-33: `def load_settings(path):`\n" in context.text
    assert fences(context.text) == []


def test_related_code_has_one_line():
    related = [piece(number, relation="callee", related_to="load", score=1.0) for number in range(50, 54)]
    context = packed([piece(1)], related, budget=6_000)
    assert [item.is_block for item in section(context, "primary").items] == [True]
    assert [item.is_block for item in section(context, "related").items] == [False] * 4
    assert section(context, "related").tokens < 250


def test_caller_is_shown_by_the_line_that_calls():
    caller = piece(2, relation="caller", related_to="load_settings", score=1.0, evidence_line=20)
    context = packed([piece(1)], [caller])
    assert f"calls `load_settings`: `{BODY.splitlines()[19].strip()}`" in context.text


def test_relation_map_has_at_most_a_tenth_of_the_budget():
    relations = [f"`a{number}` calls `b{number}` — src/a.py:{number}-{number}" for number in range(400)]
    context = packed([short_piece()], [], relations, budget=2_000)
    assert 0.05 * 2_000 < section(context, "graph").tokens <= 0.1 * 2_000


def test_budget_without_a_price_is_spent_on_all_results():
    context = packed([piece(number) for number in range(8)], budget=8_000)
    assert [item.detail for item in section(context, "primary").items] == ["full"] * 8


def test_best_results_get_the_most_detail():
    context = packed([piece(number) for number in range(12)], budget=4_000)
    places = [DETAILS.index(item.detail) for item in section(context, "primary").items]
    assert places[0] == 0
    assert places == sorted(places)


# what a question needs


def test_certain_answer_leaves_the_budget_unspent():
    results = [short_piece(1), *(piece(number) for number in range(2, 10))]
    relevance = [0.9, *[0.002] * 8]
    context = packed(results, relevance=relevance, token_price=1e-4, budget=8_000)
    details = [item.detail for item in section(context, "primary").items]
    assert details == ["full", *["signature"] * 8]
    assert context.tokens < 600
    assert context.omitted == []


def test_uncertain_answer_shows_more_candidates():
    results = [piece(number) for number in range(10)]
    certain = packed(results, relevance=[0.9, *[0.002] * 9], token_price=1e-4, budget=8_000)
    uncertain = packed(results, relevance=[0.2] * 10, token_price=1e-4, budget=8_000)
    assert uncertain.tokens > 4 * certain.tokens


def test_further_candidate_that_adds_nothing_is_left_out_in_silence():
    context = packed([short_piece(1)], reserve=[piece(2)], relevance=[0.9, 0.0001], token_price=1e-4, budget=8_000)
    assert [item.chunk_id for item in section(context, "primary").items] == ["c1"]
    assert context.omitted == []


def test_long_declaration_shows_its_head_and_the_matching_lines():
    lines = ["def serve(port):", *(f"    step_{number}()" for number in range(200)), "    return port"]
    lines[120] = "    needle = open_socket(port)"
    context = packed(
        [piece(1, text="\n".join(lines), end_line=202, signature="def serve(port):")],
        relevance=[0.5],
        token_price=1e-3,
        term_idf={"needl": 3.0},
    )
    assert find_detail(context) == "elided"
    assert fences(context.text)[0].startswith("def serve(port):\n")
    assert "needle = open_socket(port)" in context.text
    assert context.tokens < 250


def test_type_is_shown_with_the_first_lines_of_its_members():
    text = "\n".join(
        [
            "class A:",
            "    x = 1",
            "    def f(self):",
            "        y = 1",
            "        return y",
            "    def g(self):",
            "        return 2",
        ]
    )
    outer = piece(
        1,
        start_line=1,
        end_line=7,
        text=text,
        name="A",
        signature="class A:",
        matched_lines=(1, 2),
        member_lines=[3, 6],
    )
    context = packed([outer])
    assert fences(context.text) == [
        "class A:\n    x = 1\n    def f(self):\n    … 2 lines\n    def g(self):\n        return 2\n"
    ]


def test_member_is_shown_in_full_after_the_outline_of_its_type():
    text = "\n".join(["class A:", "    x = 1", "    def f(self):", "        return 1", "        # end"])
    outer = piece(
        1, start_line=1, end_line=5, text=text, name="A", signature="class A:", matched_lines=(1, 2), member_lines=[3]
    )
    method = piece(2, start_line=3, end_line=4, text="    def f(self):\n        return 1", name="A.f")
    outer, method = replace(outer, path="a.py"), replace(method, path="a.py")
    assert "    def f(self):\n        return 1\n" in packed([outer, method]).text


def test_order_of_results_is_kept():
    results = [short_piece(number) for number in (5, 3, 9, 1)]
    assert [item.chunk_id for item in section(packed(results), "primary").items] == ["c5", "c3", "c9", "c1"]


def test_omissions_are_listed_with_a_fetch_command():
    context = packed([piece(number) for number in range(30)], budget=600)
    assert context.omitted
    first = context.omitted[0]
    assert first.tokens == count_tokens(BODY)
    assert first.fetch == f"coderag context --file {first.path}:1-33"
    assert f"`{first.fetch}`" in context.text
    assert "Left out" in context.text


def test_long_omission_list_is_counted():
    context = packed([piece(number) for number in range(60)], budget=600)
    listed = context.text.count("`coderag context --file ")
    assert 0 < listed < len(context.omitted)
    assert f"and {len(context.omitted) - listed} more" in context.text


def test_empty_result_is_noted():
    context = packed(evidence="not_found")
    assert "Nothing in the index answers this" in context.text
    assert context.sections == []


def test_weak_verdict_is_noted():
    assert "evidence is weak" in packed([short_piece()], evidence="weak").text
    assert "evidence is weak" not in packed([short_piece()]).text


def test_related_item_has_its_relation():
    context = packed([short_piece(1)], [short_piece(2, relation="test_for", related_to="short_1", score=1.0)])
    assert "src/settings_2.py:1-2 · tests `short_1`" in context.text


def test_item_has_location_and_language():
    text = packed([short_piece(1)]).text
    assert "src/settings_1.py:1-2" in text
    assert "```python" in text


def test_heading_is_the_first_line_of_the_question():
    assert packed([], query="how\nis it done").text.startswith("# Context: how\n")


# no line twice


@st.composite
def overlapping(draw):
    """Results, further candidates and related code from one file of 40 lines."""
    matches = []
    for number in range(draw(st.integers(1, 7))):
        first = draw(st.integers(1, 40))
        last = draw(st.integers(first, 40))
        text = "\n".join(f"line_{line} = {line}" for line in range(first, last + 1))
        assembled = piece(number, start_line=first, end_line=last, text=text, name=f"n{number}")
        matches.append(replace(assembled, path="a.py", signature="", docstring="", summary=""))
    split = draw(st.integers(0, len(matches)))
    return matches[:split], matches[split:]


@settings(max_examples=60)
@given(matches=overlapping(), budget=st.integers(200, 2_000), reserve=st.booleans(), text_format=FORMATS)
def test_no_line_is_shown_twice(matches, budget, reserve, text_format):
    results, remaining = matches
    context = packed(results, **{"reserve" if reserve else "related": remaining}, budget=budget, format=text_format)
    for line in range(1, 41):
        assert context.text.count(f"line_{line} = {line}") <= 1
        if any(snippet.start_line <= line <= snippet.end_line for snippet in results) and budget > 1_500:
            assert f"line_{line} = {line}" in context.text


def test_class_around_a_shown_method_has_a_gap():
    text = "\n".join(["class A:", "    x = 1", "    def f(self):", "        return 1", "    y = 2"])
    outer = piece(1, start_line=1, end_line=5, text=text, name="A", signature="class A:")
    method = piece(2, start_line=3, end_line=4, text="    def f(self):\n        return 1", name="A.f")
    method, outer = replace(method, path="a.py"), replace(outer, path="a.py")
    context = packed([method, outer])
    assert [item.name for item in section(context, "primary").items] == ["A.f", "A"]
    assert "    x = 1\n    … 2 lines\n    y = 2" in context.text


# what fills the rest


def test_reserve_fills_unused_tokens_and_is_not_listed():
    reserve = [piece(number) for number in range(10, 30)]
    context = packed([short_piece(1)], reserve=reserve, budget=3_000)
    items = section(context, "primary").items
    assert items[0].chunk_id == "c1"
    assert len(items) > 3
    assert context.tokens > 2_500
    assert context.omitted == []


def test_fetch_command_of_an_omission_has_its_exact_lines():
    odd = replace(piece(1), path="with space/$(a) 'b'.py")
    context = packed([odd, *map(piece, range(20))], budget=300)
    for omission in context.omitted:
        place = parse_location(shlex.split(omission.fetch)[-1])
        assert place == (omission.path, omission.start_line, omission.end_line)
    assert context.omitted


# session memory


def test_second_context_shows_only_new_lines():
    results = [piece(number) for number in range(6)]
    first = packed(results, budget=1_500)
    second = packed(results, budget=1_500, shown_keys=first.shown)
    complete = {item.chunk_id for item in section(first, "primary").items if item.detail == "full"}
    assert complete
    assert not complete & {item.chunk_id for item in section(second, "primary").items}
    assert second.shown_before
    assert f"Shown before: {second.shown_before[0]}" in second.text
    assert set(first.shown) < set(second.shown)


def test_edited_code_is_shown_again():
    first = packed([short_piece(1), short_piece(2)])
    edited = short_piece(2, text="def short_2():\n    return 3")
    second = packed([short_piece(1), edited], shown_keys=first.shown)
    assert [item.chunk_id for item in section(second, "primary").items] == ["c2"]


# formats


HOSTILE = "\n".join(
    ["a = b < c && d", "]]>", "</document>", "</context><context question='x'>", '"}],', "\x00\x1b[2J", "```", "<!--"]
)


@pytest.mark.parametrize("name", ["f", 'x"> </document>', "a\nb"])
def test_xml_is_well_formed_and_source_survives(name):
    hostile = replace(piece(1), text=HOSTILE, end_line=8, name=name, path=f"{name}.py")
    context = packed([hostile, short_piece(2)], format="xml", query=f"{name} <&", relations=["`<a>` calls `&b`"])
    root = ElementTree.fromstring(context.text)  # our own text
    documents = root.findall("results/document")
    assert [snippet.tag for snippet in root] == ["results", "relations"]
    assert documents[0].text.strip("\n") == HOSTILE.replace("\x00", "\ufffd").replace("\x1b", "\ufffd")
    assert documents[1].get("lines") == "1-2"
    assert root.find("relations/relation").text == "`<a>` calls `&b`"


def test_xml_leaves_plain_source_readable():
    plain = replace(short_piece(1), text="if a < b && c:\n    return 1")
    assert "if a < b && c:\n" in packed([plain], format="xml").text


def test_json_has_the_same_parts_as_markdown():
    hostile = replace(piece(1), text=HOSTILE, end_line=8)
    context = packed(
        [hostile],
        [piece(number, relation="callee", related_to="f", score=1.0) for number in range(50, 99)],
        ["`a` calls `b`"],
        format="json",
        evidence="weak",
        budget=1_500,
    )
    matches = json.loads(context.text)
    assert matches["results"][0]["text"] == HOSTILE
    assert matches["results"][0]["lines"] == "1-8"
    assert matches["relations"] == ["`a` calls `b`"]
    assert "weak" in matches["note"]
    assert matches["left_out"][0]["fetch"] == context.omitted[0].fetch
    assert len(matches["left_out"]) + matches.get("more_left_out", 0) == len(context.omitted)


def test_unindexed_files_are_noted():
    assert "not in the index" in packed([short_piece()], evidence="unknown").text
