import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from coderag.answering.extractive.extract import extract
from coderag.schema.chunks import FileRecord
from coderag.stores.snippets import build_result_snippets
from tests.support.corpora import make_context
from tests.support.extracted import FILES, cited, extracted, places, state_of

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
    "difference between Cart and WishList",
    "Cart vs Spaceship",
    "code like shop/money.py:5",
    "shop/cart.py:18",
    "what do the docs say about rounding",
    "kubernetes deployment manifests",
    "who calls round_upp",
    "where is Wishlst defined",
    "rounding values",
]


@pytest.fixture(scope="module")
def shop():
    return make_context(FILES)


@pytest.fixture(scope="module", params=[False, True], ids=["apart", "merged"])
def chunked(request):
    return make_context(FILES, merged=request.param)


@pytest.mark.parametrize("query", QUESTIONS)
def test_every_place_in_an_answer_is_cited_and_every_citation_is_in_it(chunked, query):
    draft = extracted(chunked, query)
    assert places(draft) == cited(draft)
    assert draft.claims


@pytest.mark.parametrize("query", QUESTIONS)
def test_cited_lines_are_those_of_the_file(shop, query):
    cited = [lines for claim in extracted(shop, query).claims for lines in claim.cited]
    assert cited
    for lines in cited:
        of_file = FILES[lines.path].split("\n")[lines.start_line - 1 : lines.end_line]
        assert lines.text.rstrip("\n").split("\n") == "\n".join(of_file).rstrip("\n").split("\n")


def test_an_answer_without_results_says_what_was_looked_for(shop):
    state = {**state_of(shop, "kubernetes manifests"), "results": [], "related": [], "evidence": "not_found"}
    draft = extract(shop, state, [], [])
    assert draft.text.startswith("**Not found here.**")
    assert "`kubernetes` and `manifests`" in draft.text
    assert draft.claims == []


def test_a_name_that_nothing_has_is_not_told_as_a_word_that_the_index_has(shop):
    state = {**state_of(shop, "who calls cart_launcher"), "results": [], "related": [], "evidence": "not_found"}
    text = extract(shop, state, [], []).text
    assert "Nothing is called `cart_launcher`." in text
    assert "without an answer: `cart_launcher`" not in text


def test_an_empty_index_is_told_as_that():
    empty = make_context({})
    state = {**state_of(empty, "who calls round_up"), "results": [], "related": [], "evidence": "not_found"}
    text = extract(empty, state, [], []).text
    assert text.startswith("**Not found here.** No file of this repository is in the index.")
    assert "`coderag index --plan`" in text
    assert "round_up" not in text


def test_weak_evidence_is_said_before_anything_else(shop):
    state = {**state_of(shop, "how does rounding of a total work"), "evidence": "weak"}
    assert extract(shop, state, _pieces(shop, state), []).text.startswith("*The evidence is weak")


def test_files_that_are_not_indexed_are_named_before_the_answer(shop):
    state = state_of(shop, "how does rounding of a total work")
    judgement = {**state["judgement"], "not_indexed": ["data/*rates*.bin: binary file"]}
    state = {**state, "evidence": "unknown", "judgement": judgement}
    assert "not in the index: `data/*rates*.bin` (binary file)" in extract(shop, state, _pieces(shop, state), []).text


class TestDefinition:
    def test_leads_with_the_declaration_its_summary_and_code(self, shop):
        text = extracted(shop, "where is round_up defined").text
        assert text.startswith("**`round_up`** is declared as a function in `shop/money.py:4-6`: Round a value up")
        assert "return int(value + 0.5)" in text

    def test_says_where_it_is_used_most(self, shop):
        text = extracted(shop, "where is round_up defined").text
        assert "**Used in 1 place in 1 file and 1 place in tests**" in text
        assert "- `first = round_up(1)` in `Cart.total` — `shop/cart.py:18`" in text

    def test_of_a_class_has_its_members_and_relatives(self, shop):
        text = extracted(shop, "where is Cart defined").text
        assert "- Extends `Basket` — `shop/cart.py:13`" in text
        assert "- `def pay(self, card)` — `shop/cart.py:21`" in text

    def test_of_a_base_class_says_what_extends_it(self, shop):
        text = extracted(shop, "where is Basket defined").text
        assert re.search(r"- Extended by `(?:Cart`, `WishList|WishList`, `Cart)` — `shop/", text)

    def test_of_two_names_has_both(self, shop):
        text = extracted(shop, "where are Cart and WishList defined").text
        assert "**`Cart`** is declared" in text
        assert "**`WishList`** is declared" in text

    def test_of_several_declarations_lists_the_others(self):
        files = {"a.py": "def run():\n    return 1\n", "b.py": "def run():\n    return 2\n"}
        text = extracted(make_context(files), "where is run() defined").text
        assert "in 1 other place" in text
        assert re.search(r"Other declarations called `run`\*\*\n\n- `run` \(function\) — `[ab].py:1-2`", text)

    def test_of_long_code_is_cut_and_says_how_much_more(self):
        body = "".join(f"    x{number} = {number}\n" for number in range(60))
        text = extracted(make_context({"a.py": f"def long_one():\n{body}"}), "where is long_one defined").text
        assert "a function of 61 lines in `a.py:1-61`" in text
        assert "… 31 more lines" in text
        assert "x59" not in text

    def test_of_a_misspelt_name_tells_the_nearest_and_says_so(self, shop):
        draft = extracted(shop, "where is Wishlst defined")
        assert "Nothing is called `Wishlst`. Close by spelling: `WishList`." in draft.text
        assert "**`WishList`** is declared as a class" in draft.text
        assert draft.missing == ["Nothing is called `Wishlst`. Close by spelling: `WishList`."]


class TestExplanation:
    def test_names_the_files_and_shows_the_best_code_with_its_purpose(self, shop):
        text = _of(shop, "how does rounding of a total work")
        assert re.match(r"The code for this is mainly in `", text)
        assert "Round a value up to whole cents." in text
        assert "**Read next**" in text

    def test_says_how_the_main_pieces_work_together_by_the_line_of_the_call(self, shop):
        text = _of(shop, "how is the card charged and checked")
        assert "- `charge` calls `check_card`: `check_card(card)` — `shop/cart.py:27`" in text

    def test_says_no_relation_twice(self, shop):
        entries = [line for line in _of(shop, "how is the card charged and checked").split("\n") if " calls `" in line]
        assert len(entries) == len(set(entries)) > 0

    def test_quotes_documents_without_their_links_but_with_tables_and_code(self, shop):
        text = _of(shop, "what do the docs say about rounding")
        assert "> Values are rounded up before they are shown. See the code." in text
        assert "javascript" not in text
        assert "> |net|1|" in text
        assert "> round_up(1.5)" in text

    def test_does_not_repeat_documentation_that_the_code_has(self, shop):
        text = _of(shop, "how does rounding of a total work")
        assert "> Round a value up" not in text


class TestNotFound:
    def test_says_which_words_nothing_has_what_is_near_and_what_to_try(self, shop):
        draft = extracted(shop, "kubernetes deployment manifests")
        assert "No file has the words `kubernetes`, `deployment` and `manifests`." in draft.text
        assert draft.missing == ["No file has the words `kubernetes`, `deployment` and `manifests`."]
        assert "The nearest that there is" in draft.text
        assert "coderag search --regex" in draft.text

    def test_says_what_the_filters_left_out(self, shop):
        filters = {"languages": ["python"], "kinds": [], "paths": [], "roles": []}
        assert "Only in what the filters let through: languages `python`." in _of(shop, "quantum flux", filters=filters)

    def test_a_place_that_is_not_there_is_named(self, shop):
        assert "No indexed file has the place `shop/nothing.py:5`." in _of(shop, "shop/nothing.py:5")

    def test_a_line_behind_the_end_of_a_file_is_named_and_one_in_it_is_not(self, shop):
        assert "No indexed file has the place `money.py:5000`." in _of(shop, "money.py:5000")
        state = {**state_of(shop, "money.py:5"), "evidence": "not_found"}
        assert "has the place" not in extract(shop, state, _pieces(shop, state), []).text

    def test_says_what_is_not_in_the_index_and_why(self):
        context = make_context({"a.py": "def one():\n    return 1\n"})
        skipped = [FileRecord(f"data/{number}.bin", "skipped", reason="binary file") for number in range(3)]
        context.corpus.snapshot.read_files().extend(skipped)
        assert "- 3 files: binary file" in _of(context, "kubernetes deployment manifests")
        assert "`data/1.bin` (binary file)" in _of(context, "what does data/1.bin say about quantum flux")
        state = state_of(context, "what does data/1.bin say about quantum flux")
        text = extract(context, {**state, "results": []}, [], []).text
        assert "- `data/1.bin`: binary file; the question may be about it." in text

    def test_names_of_other_programs_in_a_report_are_not_missed(self, shop):
        report = (
            "Crash in production\n\nIt broke after an update.\n\nTraceback (most recent call last):\n"
            '  File "/usr/lib/other/main.py", line 3, in other_program\n    run_it_all()\nQuantumError: flux\n'
        )
        state = {**state_of(shop, report), "evidence": "not_found"}
        draft = extract(shop, state, _pieces(shop, state), [])
        assert "Nothing is called" not in draft.text
        assert "has the place" not in draft.text


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


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize(
    "query", ["where is gate defined", "how does the gate work", "difference between gate and door"]
)
def test_text_of_the_repository_is_no_markup(text, query):
    quoted = text.replace("\\", "\\\\").replace('"""', "'''")
    files = {
        "gate.py": f'def gate():\n    """{quoted}"""\n    return door()\n\n\ndef door():\n    """{quoted}"""\n    return 1\n'
    }
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(_text(files, query))
    kinds = {token.type for token in tokens} | {child.type for token in tokens for child in token.children or ()}
    assert not kinds & {"html_block", "html_inline", "link_open", "image", "heading_open", "em_open"}


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(st.characters(codec="utf-8", exclude_characters='"\\\r\0'), max_size=40))
def test_a_docstring_cannot_break_code_blocks_or_citations(docstring):
    files = {"gate.py": f'def gate():\n    """{docstring}"""\n    return door()\n\n\ndef door():\n    return 1\n'}
    context = make_context(files)
    for query in ("where is gate defined", "how does gate reach door"):
        draft = extracted(context, query)
        fences = [token for token in MarkdownIt().parse(draft.text) if token.type == "fence"]
        assert all(token.content.strip() for token in fences)
        assert cited(draft) <= places(draft)


@pytest.mark.parametrize("fence", ["```", "````", "`````python", "~~~"])
def test_fences_in_the_source_do_not_break_the_answer(fence):
    source = f'def gate():\n    """\n{fence}\ninside\n{fence}\n    """\n    return 1\n'
    tokens = MarkdownIt().parse(_text({"a.py": source}, "where is gate defined"))
    blocks = [token.content for token in tokens if token.type == "fence"]
    assert [block.strip() for block in blocks] == [source.strip()]


def _pieces(context, state):
    return build_result_snippets(context.corpus, state["results"])


def _of(context, query, **given_values):
    return extracted(context, query, **given_values).text


def _text(files, query):
    return _of(make_context(files), query)


def test_the_shape_is_the_one_that_was_written(shop):
    assert extracted(shop, "who calls round_up").shape == "usages"
    assert extracted(shop, "Cart vs WishList").shape == "comparison"
    alone = make_context({"a.py": "def alone():\n    return 1\n"})
    assert extracted(alone, "walk me through alone").shape == "explanation"  # it calls nothing


@pytest.mark.parametrize(
    ("question", "declared"), [("what is a parcel", "Parcel"), ("where is parcel defined", "parcel")]
)
def test_a_word_with_an_article_means_the_type_and_not_a_function_of_that_name(question, declared):
    files = {
        "shop/post.py": "class Parcel:\n    weight = 1\n",
        "shop/wrap.py": "def parcel(goods):\n    return goods\n",
    }
    assert extracted(make_context(files), question).text.startswith(f"**`{declared}`** is declared as")
