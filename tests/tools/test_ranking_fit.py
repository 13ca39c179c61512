"""The tool that fits the ranker's weights, on a tiny repository and on made-up examples."""

import importlib.util
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from coderag.app import CodeRAG
from coderag.retrieval.ranking.declaration_ranker import load_weights
from coderag.retrieval.ranking.features import DECLARATION_FEATURES
from evals.golden import Question, Target
from tests.support.corpora import write_files

TOOL = Path(__file__).parents[2] / "tools" / "ranking" / "fit.py"
FILES = {
    "shop/cart.py": (
        "def add_item(cart, item):\n    cart.append(item)\n\n\n"
        "def total(cart):\n    return sum(item.price for item in cart)\n"
    ),
    "shop/mail.py": 'def send_receipt(address):\n    """Send the receipt by mail."""\n    return post(address)\n',
    "tests/test_cart.py": "def test_total():\n    assert total([]) == 0\n",
}
QUESTIONS = (
    Question(
        id="shop-01",
        question="where is the price of all items in the cart added up",
        answers=(Target(path="shop/cart.py", start_line=5, end_line=6, symbol="total"),),
        tags=("where", "behaviour"),
    ),
    Question(
        id="shop-02",
        question="who sends the receipt by mail",
        answers=(Target(path="shop/mail.py", start_line=1, end_line=3, symbol="send_receipt"),),
        tags=("where", "behaviour"),
    ),
    Question(
        id="shop-03",
        question="what calls total",
        answers=(Target(path="tests/test_cart.py", start_line=1, end_line=2, symbol="test_total"),),
        tags=("callers", "identifier"),
    ),
    Question(
        id="shop-05",
        question="Receipts are lost\n\nNo customer has had a receipt by mail since last week. "
        "The log of the mail server shows none of them, and there is no error that I can find.",
        answers=(Target(path="shop/mail.py", start_line=1, end_line=3, symbol="send_receipt"),),
        tags=("report", "behaviour"),
    ),
    Question(id="shop-04", question="which refunds are there", unanswerable=True, tags=("absent", "near_miss")),
)


@pytest.fixture(scope="module")
def fit():
    spec = importlib.util.spec_from_file_location("ranking_fit", TOOL)
    module = importlib.util.module_from_spec(spec)
    sys.modules["ranking_fit"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["ranking_fit"]


@pytest.fixture(scope="module")
def examples(fit, tmp_path_factory):
    rag = CodeRAG(write_files(tmp_path_factory.mktemp("shop"), FILES), ingestion={"workers": 0})
    rag.index()
    return list(fit.build_examples(rag, "shop", QUESTIONS, 0.5))


def test_examples_are_of_questions_that_the_ranker_answers(fit, examples):
    assert [(example.kind, example.is_report) for example in examples] == [
        ("where", False),
        ("where", False),
        ("report", True),
    ]
    columns = fit.list_columns()
    assert columns[: len(fit.FITTED_FEATURES)] == list(fit.FITTED_FEATURES)
    for example in examples:
        assert example.values.shape == (len(example.is_answer), len(columns))
        assert example.offsets.shape == example.is_answer.shape
        assert (example.repository, example.weight) == ("shop", 0.5)
        assert example.is_answer.sum() == 1


def test_columns_of_kinds_and_roles_are_those_of_the_candidates(fit, examples):
    columns = fit.list_columns()
    kinds = [position for position, name in enumerate(columns) if name.startswith("kinds.")]
    values = np.concatenate([example.values for example in examples])
    assert set(values[:, kinds].sum(1)) <= {0.0, 1.0}
    assert values[:, columns.index("kinds.function")].any()
    assert values[:, columns.index("roles.test")].any()
    assert not values[:, columns.index("roles.other")].any(), "no question asks for a role"


def make_examples(fit, repositories=8, seed=0):
    """Return examples in which the first column decides, the second is noise, and all others are 0."""
    generator = np.random.default_rng(seed)
    made = []
    for repository in range(repositories):
        for _ in range(6):
            values = np.zeros((20, len(fit.list_columns())))
            values[:, :2] = generator.random((20, 2))
            is_answer = values[:, 0] == values[:, 0].max()
            made.append(fit.Example(f"r{repository}", "where", values, np.zeros(20), is_answer, 1.0))
    return made


def test_feature_that_decides_gets_the_weight(fit):
    weights = fit.fit_weights(make_examples(fit))
    assert weights[0] > 5 * abs(weights[1])
    assert not weights[2:].any(), "columns without values have no weight"


def test_feature_that_says_no_gets_a_negative_weight(fit):
    examples = make_examples(fit)
    for example in examples:
        example.values[:, 0] *= -1
    assert fit.fit_weights(examples)[0] < 0


def test_evidence_of_the_file_is_not_fitted_again(fit):
    examples = make_examples(fit)
    explained = [
        fit.Example(example.repository, example.kind, example.values, 30 * example.values[:, 0], example.is_answer, 1.0)
        for example in examples
    ]
    assert fit.fit_weights(explained)[0] < fit.fit_weights(examples)[0] / 2


def test_prediction_is_by_weights_of_other_repositories(fit, monkeypatch):
    examples, fitted = make_examples(fit), []
    original = fit.fit_weights

    def record(part):
        fitted.append({example.repository for example in part})
        return original(part)

    monkeypatch.setattr(fit, "fit_weights", record)
    sums = fit.predict_held_out(examples)
    assert all(len(fold) == 7 for fold in fitted)
    assert [len(values) for values in sums] == [20] * len(examples)
    assert np.mean([example.is_answer[values.argmax()] for example, values in zip(examples, sums, strict=True)]) > 0.8


def test_probability_rises_with_the_sum(fit):
    examples = make_examples(fit)
    scale, bias = fit.fit_probability(examples, [10 * example.values[:, 0] for example in examples])
    assert scale > 0
    assert scale * 10 + bias > 0 > scale * 5 + bias


def test_hits_are_counted_by_rank(fit, capsys):
    example = fit.Example("r", "where", np.zeros((3, 1)), np.zeros(3), np.array([False, True, False]), 1.0)
    absent = fit.Example("r", "where", np.zeros((3, 1)), np.zeros(3), np.zeros(3, bool), 1.0)
    fit.print_hits("all", [example, absent], [np.array([2.0, 1.0, 0.0]), np.zeros(3)])
    assert capsys.readouterr().out.split() == ["all", "2", "questions", "@1", "0.000", "@5", "0.500", "@10", "0.500"]


def test_written_weights_have_every_feature_and_leave_those_of_files(fit, tmp_path, monkeypatch):
    path = tmp_path / "weights.toml"
    monkeypatch.setattr(fit, "WEIGHTS", path)
    columns = fit.list_columns()
    fit.write_weights(np.arange(len(columns)) / 8, {"question": (0.5, -3.0), "report": (0.25, -2.0)})
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    table, report = tables["question"], tables["report"]
    assert {*table["declaration"], *report["declaration"]} == set(DECLARATION_FEATURES)
    assert table["declaration"]["literal"] == load_weights().declaration["literal"]
    assert report["declaration"].items() <= load_weights("report").declaration.items()
    assert report["probability"] == {"scale": 0.25, "bias": -2.0}
    assert table["declaration"]["dense"] == 0.125
    assert table["file"] == dict(load_weights().file)
    assert table["kinds"].keys() == load_weights().kinds.keys()
    assert table["roles"].keys() == load_weights().roles.keys()
    assert table["probability"] == {"scale": 0.5, "bias": -3.0}


def test_command_leaves_repositories_out_and_writes_nothing_unasked(fit, tmp_path, monkeypatch, capsys):
    clone = write_files(tmp_path / "clones" / "somebody+shop", FILES)
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "Sell"]):
        subprocess.run(["git", *arguments], cwd=clone, check=True)
    revision = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=clone, check=True, capture_output=True, text=True
    ).stdout
    source = f'repository = "somebody/shop"\nrevision = "{revision.strip()}"\nlanguage = "python"\nlicence = "MIT"\n'
    sets = tmp_path / "sets"
    sets.mkdir()
    (sets / "sources.toml").write_text(
        "".join(f"[{name}]\n{source}\n" for name in ("shop", "store", "locked")), encoding="utf-8"
    )
    lines = "".join(json.dumps(question.model_dump()) + "\n" for question in QUESTIONS)
    for name in ("shop", "store"):
        (sets / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    (sets / "locked.jsonl").write_text("not to be opened\n", encoding="utf-8")
    monkeypatch.setattr(fit, "WEIGHTS", tmp_path / "weights.toml")
    monkeypatch.setattr(fit, "_FOLDS", 2)
    arguments = [f"{sets}=0.5", "--trees", tmp_path / "trees", "--indexes", tmp_path / "indexes"]
    arguments += ["--clones", tmp_path / "clones", "--ablate", "--leave-out", "locked"]
    monkeypatch.setattr(sys, "argv", ["fit.py", *map(str, arguments)])
    fit.main()
    out = capsys.readouterr().out
    assert "4 questions" in out
    assert "without lexical" in out
    assert "without files" in out
    assert "reports                     2 questions" in out
    assert "probability of a question: scale" in out
    assert not (tmp_path / "weights.toml").exists()
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--write"])
    fit.main()
    table = tomllib.loads((tmp_path / "weights.toml").read_text(encoding="utf-8"))["question"]
    assert table["declaration"].keys() == load_weights().declaration.keys()
