import re

import pytest
from markdown_it import MarkdownIt

from coderag.answering.extractive import extract
from tests.support.graphs import state
from tests.support.pieces import piece, short_piece

PLACE = re.compile(r"`([\w./-]+):(\d+)-(\d+)`")

RELATED = [
    short_piece(50, relation="callee", related_to="short_1"),
    short_piece(51, relation="sibling", related_to="short_1"),
    short_piece(52, relation="imports", related_to="short_1"),
]
FOUND = [short_piece(1, looked_up=True), short_piece(2, looked_up=True), short_piece(3), piece(4)]

QUERIES = {
    "find_definition": "where is short_1 defined",
    "find_usage": "who calls short_1",
    "hierarchy": "what extends short_1",
    "find_tests": "what tests short_1",
    "understand_module": "how does it work",
    "find_similar": "code like src/a.py:1",
    "documentation": "what do the docs say about it",
    "backlog": "which ticket is about it",
    "general": "settings of the repository",
}


def answered(query, results=FOUND, related=RELATED, **values):
    return extract(state(query, **values), results, related)


@pytest.mark.parametrize("results", [FOUND, FOUND[2:], [*FOUND, *map(short_piece, range(10, 40))], FOUND[:1]])
@pytest.mark.parametrize("intent", QUERIES)
def test_every_place_in_an_answer_is_cited_and_every_citation_is_in_it(intent, results):
    given = state(QUERIES[intent])
    assert given["analysis"]["intent"] == intent
    text, claims = extract(given, results, RELATED)
    places = {(path, int(start), int(end)) for path, start, end in PLACE.findall(text)}
    assert places == {(claim.path, claim.start_line, claim.end_line) for claim in claims}
    assert places


@pytest.mark.parametrize("intent", QUERIES)
def test_an_answer_without_results_says_so_and_cites_nothing(intent):
    text, claims = answered(QUERIES[intent], [], [])
    assert "Nothing in the index answers this" in text
    assert claims == []


@pytest.mark.parametrize(
    ("evidence", "said"),
    [("weak", "*The evidence is weak"), ("not_found", "*Nothing in the index seems to answer this")],
)
@pytest.mark.parametrize("intent", QUERIES)
def test_the_verdict_is_said_before_anything_else(intent, evidence, said):
    assert answered(QUERIES[intent], evidence=evidence)[0].startswith(said)


def test_found_evidence_is_not_called_weak():
    assert "weak" not in answered("how does it work")[0]


def test_a_definition_leads_with_the_declaration_and_its_code():
    text, claims = answered("where is short_1 defined")
    assert text.startswith("**`short_1`** is declared as a function in `src/settings_1.py:1-2`")
    assert "return 1" in text
    assert claims[0].path == "src/settings_1.py"


def test_other_declarations_of_the_name_are_listed():
    text, _ = answered("where is short_1 defined")
    assert "- `short_2` (function) — `src/settings_2.py:1-2`" in text


@pytest.mark.parametrize(
    ("count", "said"),
    [(1, "**One place in this repository uses `short_1`:**"), (2, "**2 places in this repository use `short_1`:**")],
)
def test_usages_are_counted_and_listed(count, said):
    text, _ = answered("who calls short_1", [short_piece(number, looked_up=True) for number in range(count)])
    assert said in text
    assert "`short_1`" in text


def test_a_usage_is_shown_with_the_line_that_uses_it():
    user = short_piece(7, looked_up=True, text="def user():\n    x = `short_1`\n    return short_1()")
    assert "`x = 'short_1'`" in answered("who calls short_1", [user])[0]


def test_a_long_list_of_usages_is_cut_and_says_how_many_more():
    text, claims = answered("who calls short_1", [short_piece(number, looked_up=True) for number in range(30)], [])
    assert "and 18 more" in text
    assert len(claims) == 12


def test_results_that_were_only_searched_for_are_not_called_usages():
    text, _ = answered("who calls short_1", FOUND)
    assert "**2 places " in text
    assert text.index("Also near") < text.index("src/settings_3.py")


def test_an_explanation_names_the_files_and_shows_the_best_code():
    text, _ = answered("how does it work", [short_piece(1), short_piece(2)])
    assert text.startswith("The code for this is mainly in `src/settings_1.py` and `src/settings_2.py`.")
    assert "return 1" in text


def test_long_code_is_cut_and_says_how_much_more():
    text, _ = answered("how does it work", [piece(1)])
    assert "… 3 more lines" in text
    assert "return Settings(value_0, value_29)" not in text


def test_documentation_is_quoted_where_neither_code_nor_summary_says_it():
    documented = piece(1, docstring="Once only.\n\nNever twice.")
    text, _ = answered("how does it work", [documented])
    assert "> Once only.\n   >\n   > Never twice." in text


def test_documentation_that_the_shown_code_has_is_not_said_again():
    text, _ = answered("how does it work", [piece(1, summary="Load.")], [])
    assert text.count("Read the settings of a repository from its file.") == 1


def test_long_documentation_is_cut_between_paragraphs():
    documented = piece(1, docstring="First.\n\n" + "Second. " * 100 + "\n\nThird.")
    text, _ = answered("how does it work", [documented])
    assert "> First." in text
    assert "Second." not in text
    assert "Third." not in text


def test_relations_say_how_the_pieces_belong_together():
    text, _ = answered("how does it work", FOUND)
    assert "- `short_1` calls `short_50` — `src/settings_50.py:1-2`" in text
    assert "src/settings_51.py" not in text


@pytest.mark.parametrize("fence", ["```", "````", "`````python", "~~~"])
def test_fences_in_the_source_do_not_break_the_answer(fence):
    source = f'def f():\n    """\n{fence}\ninside\n{fence}\n    """\n'
    text, _ = answered("how does it work", [piece(1, text=source, docstring="")], [])
    blocks = [token.content for token in MarkdownIt().parse(text) if token.type == "fence"]
    assert [block.strip() for block in blocks] == [source.strip()]
