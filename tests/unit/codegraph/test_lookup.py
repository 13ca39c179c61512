import pytest

from coderag.codegraph.graph import RESOLVED, CodeGraph
from coderag.codegraph.lookup import definitions, look_up
from coderag.retrieval.analysis import analyze
from tests.support.candidates import names_of, paths_of
from tests.support.corpora import make_corpus, row_named

FILES = {
    "shop/money.py": "def round_up(value):\n    return int(value + 0.5)\n\n\ndef roundDown(value):\n    return int(value)\n",
    "shop/cart.py": (
        "from shop.money import round_up\n\n\nclass Basket:\n    size = 1\n\n\nclass Cart(Basket):\n"
        "    def total(self):\n        return round_up(sum(self.items))\n\n    def size(self):\n        return 1\n"
    ),
    "shop/desk.py": "import shop.cart\n\n\ndef serve(cart):\n    return cart.total()\n",
    "tests/test_money.py": "from shop.money import round_up\n\n\ndef test_rounding():\n    assert round_up(0.2) == 1\n",
    "tools/stray.py": "def stray(values):\n    return [round_up(value) for value in values]\n",
    "deep/shop/cart.py": "def other():\n    return 1\n",
}


@pytest.fixture(scope="module")
def corpus():
    return make_corpus(FILES)


@pytest.fixture(scope="module")
def found(corpus):
    graph = CodeGraph(corpus)
    return lambda query: look_up(corpus, graph, analyze(query))


def sure(candidates):
    return [one for one in candidates if one["channels"]["lookup"] >= RESOLVED]


def test_a_definition_is_looked_up_with_its_own_lines(corpus, found):
    (candidate,) = found("where is Cart.total defined").candidates
    assert (candidate["symbol"], candidate["start_line"], candidate["end_line"]) == ("Cart.total", 9, 10)
    assert candidate["channels"] == {"lookup": 1.0}


def test_a_definition_in_another_spelling_is_less_sure(found):
    (candidate,) = found("where is round_down defined").candidates
    assert candidate["symbol"] == "roundDown"
    assert candidate["channels"]["lookup"] < 1


def test_each_name_of_a_question_is_looked_up_once(corpus, found):
    candidates = found("where is `round_up` and `Cart` and again `round_up`").candidates
    assert len(candidates) == len({one["chunk_id"] for one in candidates})


def test_an_unknown_name_is_not_defined(corpus, found):
    assert found("where is Unheard_of defined").candidates == []
    assert definitions(corpus, "Unheard_of") == []


def test_definitions_come_best_first(corpus):
    assert names_of(corpus, definitions(corpus, "Cart.size")) == ["Cart.size", "Basket.size"]


def test_usages_are_callers_the_surest_reference_of_each(corpus, found):
    candidates = found("who calls round_up").candidates
    assert set(names_of(corpus, sure(candidates))) == {"Cart.total", "test_rounding"}
    assert [one["symbol"] for one in candidates if one not in sure(candidates)] == ["stray"]
    assert len(candidates) == len({(one["chunk_id"], one["symbol"]) for one in candidates})


def test_derived_types_are_usages_of_a_type(corpus, found):
    assert "Cart" in names_of(corpus, found("who uses Basket").candidates)


def test_a_question_about_imports_gives_the_importing_files(corpus, found):
    assert set(paths_of(corpus, found("what imports shop.money").candidates)) == {"shop/cart.py", "tests/test_money.py"}


def test_a_name_that_nothing_calls_is_used_by_the_files_that_import_its_file(corpus, found):
    assert set(paths_of(corpus, found("who uses roundDown").candidates)) == {"shop/cart.py", "tests/test_money.py"}


def test_a_question_about_breakage_gives_everything_that_may_break(corpus, found):
    names = names_of(corpus, found("what breaks if I change round_up").candidates)
    assert {"Cart.total", "test_rounding"} <= set(names)
    assert "stray" not in names


def test_a_hierarchy_has_derived_types_and_bases(corpus, found):
    assert names_of(corpus, found("class tree of Basket").candidates) == ["Cart"]
    assert names_of(corpus, found("base classes of Cart").candidates) == ["Basket"]


def test_tests_are_looked_up(corpus, found):
    assert names_of(corpus, found("what tests round_up").candidates) == ["test_rounding"]


def test_a_place_becomes_the_code_that_is_there(corpus, found):
    analysis = found("code like shop/money.py:2").analysis
    row = row_named(corpus, "round_up")
    assert analysis["similar_to"] == corpus.value("id", row)
    assert analysis["text"] == corpus.texts([row])[0]
    assert "=roundup" in analysis["terms"]


def test_a_place_may_be_given_by_the_end_of_its_path(corpus, found):
    assert found("code like money.py:2").analysis["similar_to"] == corpus.value("id", row_named(corpus, "round_up"))


def test_a_whole_path_is_meant_before_the_end_of_another(corpus, found):
    assert found("code like shop/cart.py:9").analysis["similar_to"] == corpus.value("id", row_named(corpus, "Cart"))


def test_a_snippet_is_compared_as_it_is(found):
    found_ = found("code like\n```python\nint(value + 0.5)\n```")
    assert found_.analysis["text"] == "int(value + 0.5)\n"
    assert found_.analysis["similar_to"] == ""
    assert found_.candidates == []


@pytest.mark.parametrize("query", ["code like nowhere.py:2", "code like shop/money.py:999"])
def test_a_place_that_is_not_indexed_leaves_the_question_as_it_is(found, query):
    assert found(query).analysis == analyze(query)


def test_importing_files_are_shown_by_the_lines_of_one_of_their_chunks(corpus, found):
    for candidate in found("what imports shop.money").candidates:
        row = corpus.row_of[candidate["chunk_id"]]
        assert corpus.start_lines[row] <= candidate["start_line"] <= candidate["end_line"] <= corpus.end_lines[row]
