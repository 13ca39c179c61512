"""What holds for the sections of every answer: places and citations agree, quoted lines are the file's, no markup."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.support.corpora import make_context
from tests.support.extracted import FILES, cited, extracted, places

QUESTIONS = [
    "where is round_up defined",
    "where is Cart defined",
    "where are Cart and WishList defined",
    "who calls round_up",
    "who imports shop.cart",
    "what does check_out call",
    "what extends Basket",
    "what tests round_up",
    "what breaks if charge changes",
    "how does rounding of a total work",
    "how does check_out reach check_card",
    "what happens when items are sold",
    "what happens when the card has expired",
    "difference between Cart and WishList",
    "Cart vs Spaceship",
    "code like shop/money.py:5",
    "shop/cart.py:18",
    "what do the docs say about rounding",
    "what is the signature of Cart.pay",
    "kubernetes deployment manifests",
    "who calls round_upp",
    "where is Wishlst defined",
    "rounding values",
    "what does this project do",
]
HOSTILE = [
    "```\nnot code\n```",
    "| a | b |",
    "# Heading",
    "<script>alert(1)</script>",
    "[link](javascript:alert(1))",
    "![image](http://example.invalid/x.png)",
    "*bold* _it_ **x**",
    "> quote",
    "1. one",
    "`` ` ``",
    "\x1b[31mred",
]


@pytest.fixture(scope="module", params=[False, True], ids=["apart", "merged"])
def shop(request):
    return make_context(FILES, merged=request.param)


@pytest.mark.parametrize("query", QUESTIONS)
def test_places_of_the_text_are_the_citations_and_cited_lines_those_of_the_file(shop, query):
    answer = extracted(shop, query)
    assert places(answer) == cited(answer)
    for lines in answer.cited_lines:
        of_file = FILES[lines.path].split("\n")[lines.start_line - 1 : lines.end_line]
        assert lines.text.rstrip("\n").split("\n") == "\n".join(of_file).rstrip("\n").split("\n")


@pytest.mark.parametrize("query", QUESTIONS)
def test_no_section_is_empty_and_derived_summaries_are_never_shown(shop, query):
    answer = extracted(shop, query)
    assert all(section.statements for section in answer.draft.sections)
    assert not re.search(r"\b(?:Method|Function|Class) `?\w+`? (?:of|in)\b.*, calling\b|: Calls `", answer.text)


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize(
    "query",
    [
        "where is gate defined",
        "how does the gate work",
        "difference between gate and door",
        "what does this project do",
    ],
)
def test_text_of_the_repository_is_no_markup(text, query):
    quoted = text.replace("\\", "\\\\").replace('"""', "'''")
    files = {
        "gate.py": f'def gate():\n    """{quoted}"""\n    return door()\n\n\ndef door():\n    """{quoted}"""\n    return 1\n'
    }
    answer = extracted(make_context(files), query)
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(answer.text)
    kinds = {token.type for token in tokens} | {child.type for token in tokens for child in token.children or ()}
    assert not kinds & {"html_block", "html_inline", "link_open", "image", "heading_open", "em_open"}


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(st.characters(codec="utf-8", exclude_characters='"\\\r\0'), max_size=40))
def test_a_docstring_cannot_break_code_blocks_or_citations(docstring):
    files = {"gate.py": f'def gate():\n    """{docstring}"""\n    return door()\n\n\ndef door():\n    return 1\n'}
    context = make_context(files)
    for query in ("where is gate defined", "how does gate reach door"):
        answer = extracted(context, query)
        fences = [token for token in MarkdownIt().parse(answer.text) if token.type == "fence"]
        assert all(token.content.strip() for token in fences)
        assert cited(answer) <= places(answer)


@pytest.mark.parametrize("fence", ["```", "````", "`````python", "~~~"])
def test_fences_in_the_source_do_not_break_the_answer(fence):
    source = f'def gate():\n    """\n{fence}\ninside\n{fence}\n    """\n    return 1\n'
    answer = extracted(make_context({"a.py": source}), "where is gate defined")
    blocks = [token.content for token in MarkdownIt().parse(answer.text) if token.type == "fence"]
    assert [block.strip() for block in blocks] == [source.strip()]
