"""Ask an engine the questions of a golden set, and measure what comes."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from typing import Final

from coderag.config.sections import MAX_RESULTS, MAX_TOKENS, MIN_TOKENS
from coderag.errors import InvalidQueryError

from .claims import AnswerChecker, make_judge
from .coderag_engine import CoderagEngine
from .engines import Engine, Look
from .golden import GoldenSet, Question, Target
from .metrics import covers, latency, line_coverage, retrieval_metrics
from .repository import Repository, anchor
from .runs import AnswerCheck, QuestionResult, RankedResult, Run

TOP_K: Final = 10
BUDGETS: Final = (8000,)
_LAPS = 3  # times a question is asked; their median is its time

_VERDICT_METRICS = ("answerable_accepted", "unanswerable_flagged", "intent_right")

Progress = Callable[[int, int], None]
"""Told how many questions are done, and of how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How the questions are asked.

    Attributes:
        top_k: Results a question.
        budgets: Sizes of contexts in which the wanted lines are counted, in tokens; at least one.
        answers: Whether answers in words are asked for too, and checked.

    Raises:
        InvalidQueryError: A number is out of its bounds.
    """

    top_k: int = TOP_K
    budgets: Sequence[int] = BUDGETS
    answers: bool = False

    def __post_init__(self) -> None:
        _check_bounds("top_k", self.top_k, 1, MAX_RESULTS)
        for budget in self.budgets:
            _check_bounds("a token budget", budget, MIN_TOKENS, MAX_TOKENS)


def metric_names(options: Options) -> list[str]:
    """Return the names of all metrics that a run may have."""
    retrieval = retrieval_metrics((), (Target(path="any"),), (), options.top_k)
    checked = ("citation_validity", "faithfulness") if options.answers else ()
    contexts = (f"coverage@{budget}" for budget in options.budgets)
    return [*retrieval, *contexts, *_VERDICT_METRICS, *checked, *latency(())]


def run_golden(
    golden: GoldenSet,
    repository: Repository,
    engine: Engine,
    options: Options | None = None,
    progress: Progress | None = None,
) -> Run:
    """Return what an engine found for each question.

    Args:
        golden: The questions.
        repository: What they are about, indexed.
        engine: One for this repository.
        options: How they are asked.
        progress: Told after each question.

    Raises:
        InvalidQueryError: None of the answers is in the repository, or the engine writes no answers and is to.
        ModelError: A language model is configured and failed.
    """
    options = options or Options()
    anchored = anchor(golden, repository)
    if not anchored.questions:
        wanted = anchored.stale[0].target.location
        hint = "Give the repository that the questions are about with --repo."
        message = f"none of the answers of {golden.name} is in {repository.root}; the first is {wanted}"
        raise InvalidQueryError(message, hint=hint)
    checker = _make_checker(repository, engine) if options.answers else None
    engine.search(anchored.questions[0].question, options.top_k)  # the first question loads the index
    results = []
    for number, question in enumerate(anchored.questions, 1):
        results.append(_ask(question, repository, engine, options, checker))
        if progress:
            progress(number, len(anchored.questions))
    asked = {"top_k": options.top_k, "budgets": tuple(map(str, options.budgets)), "answers": options.answers}
    return Run(
        engine=engine.name,
        version=engine.version,
        settings={**engine.settings, **asked},
        golden=golden.name,
        golden_digest=golden.digest,
        repository=repository.name,
        revision=repository.revision,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        questions=tuple(results),
        stale=tuple(anchored.stale),
        skipped=tuple(anchored.skipped),
        index_seconds=round(repository.index_seconds, 3),
    )


@dataclass(frozen=True, slots=True)
class _Answering:
    engine: CoderagEngine
    checker: AnswerChecker

    def check(self, question: str) -> AnswerCheck:
        return self.checker.check(self.engine.ask(question))


def _make_checker(repository: Repository, engine: Engine) -> _Answering:
    if not isinstance(engine, CoderagEngine):
        raise InvalidQueryError(f"the engine {engine.name} writes no answers", hint="Leave --answers out.")
    return _Answering(engine, AnswerChecker(repository, make_judge(repository.rag.settings)))


def _ask(
    question: Question, repository: Repository, engine: Engine, options: Options, answering: _Answering | None
) -> QuestionResult:
    laps = []
    for _ in range(_LAPS):
        start = time.perf_counter()
        results = engine.search(question.question, options.top_k)
        laps.append(1000 * (time.perf_counter() - start))
    look = engine.look(question.question, options.budgets)
    answer = answering.check(question.question) if answering else None
    return QuestionResult(
        id=question.id,
        question=question.question,
        intent=question.intent,
        repository=repository.name,
        language=repository.languages.get(question.answers[0].path, "") if question.answers else "",
        tags=question.tags,
        unanswerable=question.unanswerable,
        answers=question.answers,
        also=question.also,
        reference=question.reference,
        results=tuple(_marked(result, question) for result in results),
        detected_intent=look.intent,
        evidence=look.evidence,
        ms=round(median(laps), 3),
        metrics=_metrics(question, results, look, options, answer),
        answer=answer,
    )


def _marked(result: RankedResult, question: Question) -> RankedResult:
    """Return a result with the answers that it covers."""
    answers = [place for place, target in enumerate(question.answers) if covers(result, target)]
    also = [-1] if any(covers(result, target) for target in question.also) else []
    return result.model_copy(update={"answers": (*answers, *also)})


def _metrics(
    question: Question, results: Sequence[RankedResult], look: Look, options: Options, answer: AnswerCheck | None
) -> Mapping[str, float]:
    found: dict[str, float] = {}
    if question.answers:
        found |= retrieval_metrics(results, question.answers, question.also, options.top_k)
        found |= _coverage(question.answers, look)
        if look.evidence is not None:
            found["answerable_accepted"] = float(look.evidence in ("found", "weak"))
    elif look.evidence is not None:
        found["unanswerable_flagged"] = float(look.evidence != "found")
    if look.intent:
        found["intent_right"] = float(look.intent == question.intent)
    if answer and answer.citations:
        found["citation_validity"] = answer.verified / answer.citations
    if answer and answer.claims:
        found["faithfulness"] = answer.supported / answer.claims
    return {name: round(value, 6) for name, value in found.items()}


def _coverage(answers: Sequence[Target], look: Look) -> dict[str, float]:
    shares = {f"coverage@{budget}": line_coverage(shown, answers) for budget, shown in look.shown.items()}
    return {name: share for name, share in shares.items() if share is not None}


def _check_bounds(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise InvalidQueryError(f"{name} is {value}; it must be from {least:,} to {most:,}")
