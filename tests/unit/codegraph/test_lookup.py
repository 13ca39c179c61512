import pytest

from coderag.codegraph.graph import CodeGraph
from coderag.codegraph.lookup import find_definitions, look_up
from coderag.codegraph.symbol_graph import SymbolGraph
from coderag.question.analysis import analyze
from coderag.question.subjects import CorpusSubjects
from tests.support.candidates import names_of, paths_of
from tests.support.corpora import make_corpus, row_named
from tests.support.graph_tables import tables_of

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
EDGES = [
    ("shop/cart.py", "imports", "round_up", 1, 0.97, "import"),
    ("Cart", "inherits", "Basket", 8, 0.98),
    ("Cart.total", "calls", "round_up", 10, 0.97, "import"),
    ("shop/desk.py", "imports", "shop/cart.py", 1, 0.97, "import"),
    ("serve", "calls", "Cart.total", 5, 0.6, "unique"),
    ("tests/test_money.py", "imports", "round_up", 1, 0.97, "import"),
    ("test_rounding", "calls", "round_up", 5, 0.97, "import"),
    ("test_rounding", "tests", "round_up", 5, 0.97, "call"),
    ("stray", "calls", "round_up", 2, 0.3, "unique"),
    ("stray", "calls", "sum", 2, 0.9, "import"),
]


@pytest.fixture(scope="module")
def corpus():
    return make_corpus(FILES)


@pytest.fixture(scope="module")
def run_lookup(corpus):
    graph = CodeGraph(SymbolGraph(tables_of(corpus, EDGES, ["sum"])))
    return lambda query: look_up(corpus, graph, analyze(query, names=CorpusSubjects(corpus)))


def test_definition_has_its_own_lines(corpus, run_lookup):
    (candidate,) = run_lookup("where is Cart.total defined").candidates
    assert (candidate["symbol"], candidate["start_line"], candidate["end_line"]) == ("Cart.total", 9, 10)
    assert candidate["channels"] == {"lookup": 1.0}


def test_definition_in_another_spelling_scores_lower(run_lookup):
    (candidate,) = run_lookup("where is round_down defined").candidates
    assert candidate["symbol"] == "roundDown"
    assert candidate["channels"]["lookup"] < 1


def test_each_name_is_looked_up_once(corpus, run_lookup):
    candidates = run_lookup("where is `round_up` and `Cart` and again `round_up`").candidates
    assert len(candidates) == len({candidate["chunk_id"] for candidate in candidates})


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("tests/test_money.py:5", ("test_rounding", 4, 5)),
        ("what is at test_money.py:4", ("test_rounding", 4, 5)),
        ("tests/test_money.py:999", None),
        ("nowhere.py:1", None),
    ],
)
def test_location_resolves_to_its_declaration(run_lookup, query, place):
    lines = [
        (candidate["symbol"], candidate["start_line"], candidate["end_line"])
        for candidate in run_lookup(query).candidates
    ]
    assert lines == ([place] if place else [])


def test_unknown_name_has_no_definition(corpus, run_lookup):
    assert run_lookup("where is Unheard_of defined").candidates == []
    assert find_definitions(corpus, "Unheard_of") == []


def test_definitions_are_ordered_by_quality(corpus):
    assert names_of(corpus, find_definitions(corpus, "Cart.size")) == ["Cart.size", "Basket.size"]


def test_usages_are_unique_callers_without_candidates(corpus, run_lookup):
    candidates = run_lookup("who calls round_up").candidates
    assert set(names_of(corpus, candidates)) == {"Cart.total", "test_rounding"}
    assert len(candidates) == 2


def test_ambiguous_name_includes_all_declarations(corpus, run_lookup):
    assert names_of(corpus, run_lookup("who calls total").candidates) == ["serve"]
    assert run_lookup("who calls `size`").candidates == run_lookup("who uses `size`").candidates


def test_derived_types_are_usages(corpus, run_lookup):
    assert names_of(corpus, run_lookup("who uses Basket").candidates) == ["Cart"]


@pytest.mark.parametrize("query", ["what imports shop.money", "what imports shop/money.py", "who imports round_up"])
def test_import_question_returns_importing_files(corpus, run_lookup, query):
    assert set(paths_of(corpus, run_lookup(query).candidates)) == {"shop/cart.py", "tests/test_money.py"}


def test_uncalled_name_is_used_by_importers(corpus, run_lookup):
    assert set(paths_of(corpus, run_lookup("who uses Cart").candidates)) == {"shop/desk.py"}


def test_impact_question_returns_dependents_nearest_first(corpus, run_lookup):
    names = names_of(corpus, run_lookup("what breaks if I change round_up").candidates)
    assert set(names[:2]) == {"Cart.total", "test_rounding"}
    assert names[2:] == ["serve"]


def test_hierarchy_includes_derived_types_and_bases(corpus, run_lookup):
    assert names_of(corpus, run_lookup("class tree of Basket").candidates) == ["Cart"]
    assert names_of(corpus, run_lookup("base classes of Cart").candidates) == ["Basket"]


def test_tests_are_looked_up(corpus, run_lookup):
    assert names_of(corpus, run_lookup("what tests round_up").candidates) == ["test_rounding"]


def test_callee_has_its_own_lines():
    corpus = make_corpus({"a.py": "def first():\n    return 1\n\n\ndef second():\n    return first()\n"})
    graph = CodeGraph(SymbolGraph(tables_of(corpus, [("second", "calls", "first", 6)])))
    (candidate,) = look_up(corpus, graph, analyze("what does `second` call")).candidates
    assert (candidate["symbol"], candidate["start_line"], candidate["end_line"]) == ("first", 1, 2)
    assert corpus.rows_by_id[candidate["chunk_id"]] == row_named(corpus, "first")


def test_external_declarations_are_not_results(corpus):
    graph = CodeGraph(SymbolGraph(tables_of(corpus, EDGES, ["sum"])))
    assert look_up(corpus, graph, analyze("what does `stray` call")).candidates == []


def test_similarity_uses_the_code_at_a_location(corpus, run_lookup):
    analysis = run_lookup("code like shop/money.py:2").analysis
    row = row_named(corpus, "round_up")
    assert analysis["similar_to"] == corpus.get_value("id", row)
    assert analysis["text"] == corpus.read_texts([row])[0]
    assert "=roundup" in analysis["terms"]


def test_location_accepts_a_path_suffix(corpus, run_lookup):
    assert run_lookup("code like money.py:2").analysis["similar_to"] == corpus.get_value(
        "id", row_named(corpus, "round_up")
    )


def test_full_path_precedes_a_suffix_match(corpus, run_lookup):
    assert run_lookup("code like shop/cart.py:9").analysis["similar_to"] == corpus.get_value(
        "id", row_named(corpus, "Cart")
    )


def test_snippet_is_compared_verbatim(run_lookup):
    result = run_lookup("code like\n```python\nint(value + 0.5)\n```")
    assert result.analysis["text"] == "int(value + 0.5)\n"
    assert result.analysis["similar_to"] == ""
    assert result.candidates == []


@pytest.mark.parametrize("query", ["code like nowhere.py:2", "code like shop/money.py:999"])
def test_unindexed_location_keeps_the_question(run_lookup, query):
    assert run_lookup(query).analysis == analyze(query)


def test_importing_file_has_the_lines_of_a_chunk(corpus, run_lookup):
    candidates = run_lookup("what imports shop.money").candidates
    assert candidates
    for candidate in candidates:
        row = corpus.rows_by_id[candidate["chunk_id"]]
        assert corpus.start_lines[row] <= candidate["start_line"] <= candidate["end_line"] <= corpus.end_lines[row]


def look_up_in(files, edges, query):
    """Return the symbol, first and last line of each result of a repository made for one question."""
    corpus = make_corpus(files)
    graph = CodeGraph(SymbolGraph(tables_of(corpus, edges)))
    candidates = look_up(corpus, graph, analyze(query, names=CorpusSubjects(corpus))).candidates
    return [(candidate["symbol"], candidate["start_line"], candidate["end_line"]) for candidate in candidates]


def test_long_function_is_represented_by_the_calling_chunk():
    steps = "".join(f"    step_{number} = [{number}, {number}, {number}, {number}]\n" for number in range(400))
    files = {"a.py": f"def used():\n    return 1\n\n\ndef long():\n{steps}    return used()\n"}
    ((symbol, first, last),) = look_up_in(files, [("long", "calls", "used", 406)], "who calls `used`")
    assert symbol == "long"
    assert 5 < first <= 406 == last


def test_decorator_evidence_is_listed_with_its_class_only():
    files = {"a.py": "def mark(name):\n    return name\n\n\n@mark('b')\nclass Marked:\n    size = 1\n"}
    edges = [("Marked", "calls", "mark", 5), ("a.py", "calls", "mark", 5)]
    assert look_up_in(files, edges, "who calls `mark`") == [("Marked", 5, 7)]


def test_local_declarations_are_listed_as_their_function():
    files = {
        "a.py": (
            "def used():\n    return 1\n\n\ndef test_it():\n    class Local:\n        first = used()\n"
            "        second = used()\n\n        def run(self):\n            return used()\n\n    assert Local\n"
        )
    }
    edges = [("test_it.Local", "calls", "used", 7), ("test_it.Local.run", "calls", "used", 11)]
    assert look_up_in(files, edges, "who calls `used`") == [("test_it", 5, 13)]


def test_local_derived_class_is_listed_itself():
    files = {"a.py": "class Base:\n    size = 1\n\n\ndef test_it():\n    class Local(Base):\n        size = 2\n"}
    edges = [("test_it.Local", "inherits", "Base", 6)]
    assert look_up_in(files, edges, "subclasses of Base") == [("test_it.Local", 6, 7)]


def test_calls_precede_mentions_and_tests_precede_helpers():
    files = {
        "a.py": "def used():\n    return 1\n\n\ndef calling():\n    return used()\n\n\ndef naming():\n    return used\n",
        "tests/test_a.py": "def helper():\n    return used()\n\n\ndef test_used():\n    return used()\n",
    }
    edges = [
        ("naming", "references", "used", 10, 0.98),
        ("calling", "calls", "used", 6, 0.7),
        ("helper", "calls", "used", 2, 0.98),
        ("test_used", "calls", "used", 6, 0.7),
        ("helper", "tests", "used", 2, 0.98),
        ("test_used", "tests", "used", 6, 0.7),
    ]
    users = [symbol for symbol, *_ in look_up_in(files, edges, "who uses `used`")]
    assert users.index("calling") < users.index("naming")
    assert [symbol for symbol, *_ in look_up_in(files, edges, "what tests `used`")] == ["test_used", "helper"]
