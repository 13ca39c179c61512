"""Questions about structure: what is known, what is asked, what counts as found."""

import json
import os
from pathlib import Path, PurePosixPath

import pytest

from coderag.schema.search import SearchHit
from evals.graph.ground_truth import CallSite, CallTarget, ClassBases, DeclarationSite, EvaluationError, GroundTruth
from evals.structural.__main__ import main
from evals.structural.expected_answers import ExpectedAnswer
from evals.structural.measurement import QuestionOutcome, ask, is_answer, summarize_outcomes
from evals.structural.outline import CompilerDeclaration, Outline, read_typescript_outline
from evals.structural.python_outline import read_python_outline
from evals.structural.questions import StructuralQuestion, make_questions
from evals.structural.relations import KnownRelations

TOOLS = os.environ.get("GRAPH_EVAL_TOOLS", "")
"""Folder in which npm installed typescript; set, the compiler is asked."""

FILES = {
    "src/shop/__init__.py": "from shop.money import round_up\n",
    "src/shop/money.py": "def round_up(value):\n    return int(value + 0.5)\n",
    "src/shop/cart.py": (
        "from . import money\n\n\nclass Basket:\n    def total(self):\n        return 0\n\n\n"
        "class Cart(Basket):\n    def total(self):\n        return money.round_up(super().total())\n\n\n"
        "EMPTY = Cart()\n"
    ),
    "tests/test_cart.py": (
        "from shop.cart import Cart\n\n\ndef test_total():\n    class Box(Cart):\n        pass\n\n"
        "    assert Box().total() == 0\n"
    ),
    "broken.py": "def (:\n",
}
ROUND_UP = DeclarationSite("src/shop/money.py", 1, "round_up")
BASKET, CART = DeclarationSite("src/shop/cart.py", 4, "Basket"), DeclarationSite("src/shop/cart.py", 9, "Cart")
BASE_TOTAL, TOTAL = DeclarationSite("src/shop/cart.py", 5, "total"), DeclarationSite("src/shop/cart.py", 10, "total")
BOX = DeclarationSite("tests/test_cart.py", 5, "Box")
TRUTH = GroundTruth(
    "Python tests",
    [
        CallSite("src/shop/cart.py", 11, "round_up", (CallTarget(ROUND_UP, "call"),)),
        CallSite("src/shop/cart.py", 11, "total", (CallTarget(BASE_TOTAL, "call"),)),
        CallSite("src/shop/cart.py", 14, "Cart", (CallTarget(CART, "new"),)),
        CallSite("tests/test_cart.py", 8, "Box", (CallTarget(BOX, "new"),)),
        CallSite("tests/test_cart.py", 8, "total", (CallTarget(TOTAL, "call", (), (BASE_TOTAL,)),)),
        CallSite("tests/test_cart.py", 8, "handler", (CallTarget(ROUND_UP, "value"),)),
    ],
    [ClassBases(CART, (BASKET,)), ClassBases(BOX, (CART,))],
)


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    root = tmp_path_factory.mktemp("shop")
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def outline(repository):
    return read_python_outline(repository)


@pytest.fixture(scope="module")
def relations(outline):
    return KnownRelations(TRUTH, outline)


def list_places(answers):
    return {(answer.path, min(answer.lines)) for answer in answers}


def build_hit(path="a.py", start=1, end=9, text="", *, known=1.0):
    return SearchHit(
        "id", PurePosixPath(path), start, end, "function", "f", "f", "", "", "python", "source", 1.0, text,
        channels={"lookup": known},
    )  # fmt: skip


def test_outline_has_declarations_and_marks_local_ones(outline):
    assert [(entry.qualified_name, entry.kind, entry.local) for entry in outline.files["tests/test_cart.py"]] == [
        ("test_total", "function", False),
        ("test_total.Box", "class", True),
    ]
    assert "broken.py" not in outline.files


def test_module_import_includes_its_package(outline):
    imports = {(row.path, row.imported_path) for row in outline.imports}
    assert imports == {
        ("src/shop/__init__.py", "src/shop/money.py"),
        ("src/shop/cart.py", "src/shop/__init__.py"),
        ("src/shop/cart.py", "src/shop/money.py"),
        ("tests/test_cart.py", "src/shop/cart.py"),
    }


def test_shortest_unique_name_is_used(outline):
    assert outline.find_shortest_name(outline.find_at(ROUND_UP)) == "round_up"
    assert outline.find_shortest_name(outline.find_at(TOTAL)) == "Cart.total"
    twice = [CompilerDeclaration(path, "run", "function", 1, 1, 2, local=False) for path in ("a.py", "b.py")]
    assert Outline(twice, []).find_shortest_name(twice[1]) == "b.py::run"


def test_callers_are_functions_or_module_code(relations, outline):
    assert list_places(relations.find_callers(outline.find_at(ROUND_UP))) == {("src/shop/cart.py", 11)}
    (answer,) = relations.find_callers(outline.find_at(CART))
    assert (answer.first, answer.lines) == (1, {14})


def test_call_through_a_variable_has_no_caller(relations, outline):
    assert ("tests/test_cart.py", 8) not in list_places(relations.find_callers(outline.find_at(ROUND_UP)))


def test_overridden_method_is_an_alternative_answer(relations, outline):
    (called,) = relations.find_callees(outline.find_at(DeclarationSite("tests/test_cart.py", 4, "test_total")))
    assert called.lines == {TOTAL.line}
    assert list_places(called.alternatives) == {("src/shop/cart.py", BASE_TOTAL.line)}


def test_subtypes_and_overrides_are_transitive(relations, outline):
    assert list_places(relations.find_subtypes(outline.find_at(BASKET))) == {CART[:2], BOX[:2]}
    assert list_places(relations.find_overrides(outline.find_at(BASE_TOTAL))) == {TOTAL[:2]}


def test_tests_of_a_class_include_those_of_its_methods(relations, outline):
    assert list_places(relations.find_tests(outline.find_at(CART))) == {("tests/test_cart.py", 8)}
    assert relations.find_tests(outline.find_at(ROUND_UP)) == []


def test_impact_is_limited_to_two_steps(relations, outline):
    affected = list_places(relations.find_impact(outline.find_at(ROUND_UP)))
    assert affected == {("src/shop/cart.py", 11), ("tests/test_cart.py", 8)}


def test_importers_are_files_with_import_lines(relations):
    assert list_places(relations.find_importers("src/shop/money.py")) == {
        ("src/shop/__init__.py", 1),
        ("src/shop/cart.py", 1),
    }


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (build_hit(start=4, end=8), True),
        (build_hit(start=3, end=8), False),  # more than the function
        (build_hit(start=4, end=11), False),
        (build_hit("b.py", 4, 8), False),
        (build_hit(start=6, end=8), False),  # without the call
        (build_hit(start=6, end=8, text="again = run(1)"), True),
        (build_hit(start=6, end=8, text="runs(1)"), False),
        (build_hit("b.py", 1, 3), False),
    ],
)
def test_result_matches_if_it_shows_the_use_within_the_function(result, expected):
    assert is_answer(result, ExpectedAnswer("a.py", 4, 10, frozenset({5}), "run")) is expected


def test_alternative_answer_matches():
    answer = ExpectedAnswer("a.py", 4, 10, frozenset({5}), alternatives=(ExpectedAnswer("b.py", 1, 3, frozenset({2})),))
    assert is_answer(build_hit("b.py", 1, 3), answer)


def test_recall_is_capped_at_ten_and_precision_uses_judged_files():
    answers = [ExpectedAnswer("a.py", line, line, frozenset({line})) for line in range(1, 13)]
    hits = [build_hit(start=line, end=line) for line in range(1, 9)]
    hits += [
        build_hit(start=99, end=99),
        build_hit(start=98, end=98, known=0.0),
        build_hit("b.py", 1, 1),
        build_hit(start=9, end=9),
    ]
    outcome = ask(
        "shop", lambda text: hits, StructuralQuestion("callers", "who calls it", answers, (), frozenset({"a.py"}))
    )
    assert outcome.recall == 0.8
    assert (outcome.n_right, outcome.n_stated) == (8, 9)
    assert [min(answer.lines) for answer in outcome.missed_answers] == [9, 10, 11, 12]


def test_also_right_results_reduce_the_places():
    answers = [ExpectedAnswer("a.py", line, line, frozenset({line})) for line in range(1, 11)]
    right = [ExpectedAnswer("b.py", 1, 9, frozenset({1}))]
    hits = [
        build_hit("b.py", 1, 2),
        build_hit("c.py", 1, 2),
        *(build_hit(start=line, end=line) for line in range(1, 9)),
    ]
    outcome = ask("shop", lambda text: hits, StructuralQuestion("callers", "who calls it", answers, right))
    assert outcome.recall == 8 / 9


def test_summary_has_intervals_and_optional_precision():
    question = StructuralQuestion("callers", "who calls it", [ExpectedAnswer("a.py", 1, 9, frozenset({5}))])
    outcomes = [QuestionOutcome("shop", question, n_correct, 10, 0, 0, (), 0.001) for n_correct in (1, 1, 0, 1)]
    row = summarize_outcomes(outcomes, 0)["questions"]["callers"]
    low, high = row["recall"]["interval"]
    assert row["recall"]["mean"] == 0.75
    assert 0.0 <= low < 0.75 < high <= 1.0
    assert row["precision"] is None


def test_same_seed_gives_the_same_questions(relations, outline):
    def make(seed):
        return [entry.text for entry in make_questions(relations, outline, per_kind=1, seed=seed, compiled=frozenset())]

    assert make("1") == make("1")
    assert any(make("1") != make(str(seed)) for seed in range(2, 8))


def test_questions_about_tests_exclude_test_code(relations, outline):
    questions = make_questions(relations, outline, per_kind=9, seed="", compiled=frozenset())
    assert {entry.kind for entry in questions} >= {
        "callers",
        "users",
        "subtypes",
        "overrides",
        "tests",
        "impact",
        "imports",
    }
    assert not [entry for entry in questions if entry.kind == "tests" and "test_total" in entry.text]


def test_command_indexes_a_repository_and_reports(repository, tmp_path, capsys):
    TRUTH.save(tmp_path / "calls.json")
    assert main(["--on", str(repository), str(tmp_path / "calls.json"), "--json", "--examples", "2"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["questions"]["callers"]["recall"]["mean"] == 1.0
    assert report["questions"]["all"]["questions"] == report["questions"][f"in {repository.name}"]["questions"]
    assert main(["--on", str(repository), str(tmp_path / "calls.json")]) == 0
    assert "recall@10" in capsys.readouterr().out


@pytest.mark.parametrize("given", [("nowhere", "calls.json"), (".", "nothing.json")])
def test_errors_are_one_line(given, repository, capsys):
    folder, truth = given
    assert main(["--on", str(repository / folder), str(repository / truth)]) == 1
    assert capsys.readouterr().err.startswith(f"error: {repository}")


def test_missing_typescript_error_explains_installation(tmp_path):
    with pytest.raises(EvaluationError, match="npm install"):
        read_typescript_outline(tmp_path, tmp_path)


@pytest.mark.skipif(not TOOLS, reason="GRAPH_EVAL_TOOLS names no folder with typescript")
def test_compiler_outline_has_declarations_and_imports(tmp_path):
    (tmp_path / "a.ts").write_text(
        "/** Says it. */\nexport const say = () => {\n  const inner = () => 1\n  return inner()\n}\n"
        "export class Dog {\n  name = 1\n  bark() { return say() }\n}\n",
        encoding="utf-8",
    )
    (tmp_path / "b.ts").write_text('import { say } from "./a"\nsay()\n', encoding="utf-8")
    outline = read_typescript_outline(tmp_path, Path(TOOLS))
    assert outline.files["a.ts"] == [
        CompilerDeclaration("a.ts", "say", "function", 2, 1, 5, local=False),
        CompilerDeclaration("a.ts", "say.inner", "function", 3, 3, 3, local=True),
        CompilerDeclaration("a.ts", "Dog", "class", 6, 6, 9, local=False),
        CompilerDeclaration("a.ts", "Dog.name", "field", 7, 7, 7, local=False),
        CompilerDeclaration("a.ts", "Dog.bark", "function", 8, 8, 8, local=False),
    ]
    assert [tuple(row) for row in outline.imports] == [("b.ts", 1, "a.ts")]
