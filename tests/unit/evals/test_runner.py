"""Golden sets, run on a small repository with a real index."""

import shutil
from pathlib import Path

import pytest

from coderag.config.sections import SWITCHABLE_SIGNALS
from coderag.errors import ConfigurationError, InvalidQueryError
from evals.coderag_engine import check_signals
from evals.engines import make_engine
from evals.golden import GoldenSet, Question, Target
from evals.metrics import ContextLines
from evals.packing import pack
from evals.repository import Repository, resolve_targets
from evals.runner import Options, run_golden
from evals.runs import RankedResult

FIXTURE = Path(__file__).parents[2] / "fixtures" / "repos" / "python" / "shop"
CART, MONEY = "shop/cart.py", "shop/money.py"


def question(name: str, text: str, *answers: Target, **more: object) -> Question:
    return Question.model_validate({"id": name, "question": text, "answers": answers, **more})


def golden_of(*questions: Question) -> GoldenSet:
    return GoldenSet("shop", questions, "digest")


ADD = question("add", "put an item into the cart", Target(path=CART, symbol="Cart.add"), intent="general")
EXCHANGE = question("exchange", "who calls exchange", Target(path=CART, symbol="Cart.total"), intent="find_usage")
NOTHING = question("nothing", "where are invoices e-mailed to customers", unanswerable=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("repository")
    shutil.copytree(FIXTURE, root / "shop")
    return root


@pytest.fixture(scope="module")
def repository(folder) -> Repository:
    return Repository.open(folder, ingestion={"workers": 0})


def test_a_run_tells_what_was_found_for_each_question(repository):
    told: list[tuple[int, int]] = []
    run = run_golden(
        golden_of(ADD, EXCHANGE, NOTHING),
        repository,
        make_engine("coderag", repository),
        Options(budgets=(300, 8000)),
        lambda done, total: told.append((done, total)),
    )
    assert told == [(1, 3), (2, 3), (3, 3)]
    add, exchange, nothing = run.questions
    assert (add.answers[0].start_line, add.answers[0].end_line) == (48, 57)
    assert add.language == "python"
    found = next(result for result in add.results if result.answers)
    assert (found.path, found.name) == (CART, "Cart.add")
    assert found.channels["lexical"] > 0
    assert add.metrics["hit@5"] == 1.0
    assert add.metrics["coverage@300"] <= add.metrics["coverage@8000"] == 1.0
    assert exchange.detected_intent == "find_usage"
    assert exchange.metrics["intent_right"] == 1.0
    assert nothing.evidence is not None
    assert "hit@5" not in nothing.metrics
    assert nothing.metrics["unanswerable_flagged"] == float(nothing.evidence != "found")
    assert all(one.ms > 0 for one in run.questions)
    assert run.settings["search.max_per_file"] == 5
    assert run.settings["embedding"] == repository.embedding
    assert (run.engine, run.golden, run.golden_digest, run.repository) == (
        "coderag", "shop", "digest", repository.name,
    )  # fmt: skip


def test_answers_are_checked(repository):
    run = run_golden(golden_of(ADD, EXCHANGE), repository, make_engine("coderag", repository), Options(answers=True))
    assert len(run.questions) == 2
    for asked in run.questions:
        assert asked.answer is not None
        assert asked.answer.judge == "words"
        assert asked.metrics["citation_validity"] == 1.0
        assert asked.metrics["faithfulness"] > 0.5


def test_bm25_ranks_functions_by_their_words_alone(repository):
    engine = make_engine("bm25", repository)
    run = run_golden(golden_of(ADD, NOTHING), repository, engine, Options())
    assert run.questions[0].results[0].name == "Cart.add"
    assert run.questions[0].evidence is None
    assert run.questions[0].metrics["coverage@8000"] == 1.0
    assert engine.search("xylophone", 10) == []
    assert all(result.score > 0 for result in engine.search("cart", 10))


def test_an_engine_that_writes_no_answers_says_so(repository):
    with pytest.raises(InvalidQueryError, match="bm25 cannot answer questions"):
        run_golden(golden_of(ADD), repository, make_engine("bm25", repository), Options(answers=True))


def test_a_missing_engine_says_how_to_get_it(repository):
    with pytest.raises(ConfigurationError, match="semble is not installed") as caught:
        make_engine("semble", repository)
    assert "pip install semble" in caught.value.hint
    with pytest.raises(InvalidQueryError, match="unknown engine 'google'"):
        make_engine("google", repository)


def test_a_signal_that_is_off_finds_nothing(folder):
    repository = Repository.open(folder, ingestion={"workers": 0}, search={"disabled_signals": ("lexical",)})
    run = run_golden(golden_of(ADD), repository, make_engine("coderag", repository))
    assert run.settings["search.disabled_signals"] == ("lexical",)
    channels = {name for result in run.questions[0].results for name in result.channels}
    assert "dense" in channels
    assert "lexical" not in channels


def test_only_what_can_be_switched_off_is_taken():
    check_signals(SWITCHABLE_SIGNALS)
    with pytest.raises(InvalidQueryError, match="unknown signal 'lexicon'") as caught:
        check_signals(["lexical", "lexicon"])
    assert "dense" in caught.value.hint


@pytest.mark.parametrize(
    ("options", "told"), [({"top_k": 0}, "top_k is 0"), ({"budgets": (10,)}, "a token budget is 10")]
)
def test_numbers_out_of_bounds_are_refused(options, told):
    with pytest.raises(InvalidQueryError, match=told):
        Options(**options)


# --- targets


@pytest.mark.parametrize(
    ("target", "lines"),
    [
        (Target(path=CART), (None, None)),
        (Target(path=CART, symbol="Cart.add"), (48, 57)),
        (Target(path=CART, symbol="add"), (48, 57)),
        (Target(path=CART, start_line=20, end_line=29, symbol="Cart.add"), (48, 57)),  # the code above was edited
        (Target(path=CART, start_line=50, end_line=52, symbol="Cart.add"), (50, 52)),  # a part of it
        (Target(path=CART, start_line=37, end_line=81, symbol="Cart"), (37, 81)),  # with its decorator
        (Target(path=CART, start_line=48, end_line=57, symbol="renamed"), (48, 57)),
    ],
)
def test_a_target_gets_its_present_lines(repository, target, lines):
    anchored = resolve_targets(golden_of(question("q", "?", target)), repository)
    found = anchored.questions[0].answers[0]
    assert (found.start_line, found.end_line) == lines
    assert anchored.stale == []


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (Target(path="shop/gone.py"), "there is no such file"),
        (Target(path="shop"), "there is no such file"),
        (Target(path=CART, symbol="Cart.remove"), "no declaration of Cart.remove in it"),
        (Target(path=MONEY, start_line=900, end_line=901), "it has 16 lines"),
    ],
)
def test_an_answer_that_is_gone_is_stale_and_its_question_counts_by_the_others(repository, target, reason):
    both = question("both", "?", target, Target(path=CART))
    alone = question("alone", "?", target)
    anchored = resolve_targets(golden_of(both, alone), repository)
    assert [(one.question, one.reason) for one in anchored.stale] == [("both", reason), ("alone", reason)]
    assert [(one.id, len(one.answers)) for one in anchored.questions] == [("both", 1)]
    assert anchored.skipped == ["alone"]


def test_a_set_about_another_repository_is_refused(repository):
    wrong = golden_of(question("q", "?", Target(path="src/other.rs")))
    with pytest.raises(InvalidQueryError, match="none of the answers of shop is in") as caught:
        run_golden(wrong, repository, make_engine("bm25", repository))
    assert "--repo" in caught.value.hint


# --- what a context shows


def test_an_elided_text_shows_the_lines_that_it_has(repository):
    lines = repository.read_lines(CART)
    elided = "\n".join([lines[47], "        …", lines[56]])
    assert repository.find_shown_lines(CART, 48, elided, 57) == {48, 57}
    assert repository.find_shown_lines(CART, 48, "\n".join(lines[47:57]), 57) == set(range(48, 58))
    assert repository.find_shown_lines(CART, 48, "one line about it", 57) == set()


def test_packing_fills_the_budget_in_order_and_shows_no_line_twice(repository):
    results = [RankedResult(path=MONEY, start_line=1, end_line=3), RankedResult(path=MONEY, start_line=2, end_line=15)]
    everything = pack(results, 1000, repository)
    assert everything == [ContextLines(MONEY, {1, 2, 3}), ContextLines(MONEY, set(range(4, 16)))]
    some = pack(results, 40, repository)
    shown = [line for one in some for line in one.lines]
    assert shown == list(range(1, len(shown) + 1))
    assert 3 <= len(shown) < 15
    assert pack(results, 1, repository) == [ContextLines(MONEY, set())]
