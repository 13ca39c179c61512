"""Evaluation of an engine on a golden set."""

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
from .engines import ContextSet, SearchEngine
from .golden import GoldenSet, Question, Target
from .metrics import compute_latency, compute_line_coverage, compute_retrieval_metrics, has_target_line
from .repository import Repository, resolve_targets
from .runs import AnswerCheck, QuestionResult, RankedResult, Run

TOP_K: Final = 10
BUDGETS: Final = (8000,)
_ROUNDS = 3  # repetitions per question; its time is their median

_VERDICT_METRICS = ("answerable_accepted", "unanswerable_flagged", "intent_right")

Progress = Callable[[int, int], None]
"""Called with the number of finished questions and the total."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of an evaluation run.

    Attributes:
        top_k: Results per question.
        budgets: Token budgets of the contexts whose coverage is measured; at least one.
        answers: Whether to generate and check answers, too.

    Raises:
        InvalidQueryError: A number is out of range.
    """

    top_k: int = TOP_K
    budgets: Sequence[int] = BUDGETS
    answers: bool = False

    def __post_init__(self) -> None:
        _check_bounds("top_k", self.top_k, 1, MAX_RESULTS)
        for budget in self.budgets:
            _check_bounds("a token budget", budget, MIN_TOKENS, MAX_TOKENS)


def list_metric_names(options: Options) -> list[str]:
    """Return the names of all metrics that a run can have."""
    retrieval = compute_retrieval_metrics((), (Target(path="any"),), (), options.top_k)
    checked = ("citation_validity", "faithfulness") if options.answers else ()
    contexts = (f"coverage@{budget}" for budget in options.budgets)
    return [*retrieval, *contexts, *_VERDICT_METRICS, *checked, *compute_latency(())]


def run_golden(
    golden: GoldenSet,
    repository: Repository,
    engine: SearchEngine,
    options: Options | None = None,
    progress: Progress | None = None,
) -> Run:
    """Evaluate an engine on a golden set.

    Args:
        golden: The questions.
        repository: The indexed repository that they are about.
        engine: An engine over this repository.
        options: Options of the run.
        progress: Called after each question.

    Raises:
        InvalidQueryError: No answer of the golden set is in the repository, or `options.answers` is set and the engine
            cannot answer.
        ModelError: The configured language model failed.
    """
    options = options or Options()
    anchored = resolve_targets(golden, repository)
    if not anchored.questions:
        wanted = anchored.stale[0].target.location
        hint = "Pass the repository that the questions are about with --repo."
        message = f"none of the answers of {golden.name} is in {repository.root}; the first is {wanted}"
        raise InvalidQueryError(message, hint=hint)
    checker = _make_checker(repository, engine) if options.answers else None
    engine.search(
        anchored.questions[0].question, options.top_k
    )  # loads the index, so that the first question is not slower
    results = []
    for number, question in enumerate(anchored.questions, 1):
        results.append(_ask(question, repository, engine, options, checker))
        if progress:
            progress(number, len(anchored.questions))
    run_settings = {"top_k": options.top_k, "budgets": tuple(map(str, options.budgets)), "answers": options.answers}
    return Run(
        engine=engine.name,
        version=engine.version,
        settings={**engine.settings, **run_settings},
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


def _make_checker(repository: Repository, engine: SearchEngine) -> _Answering:
    if not isinstance(engine, CoderagEngine):
        raise InvalidQueryError(f"the engine {engine.name} cannot answer questions", hint="Leave out --answers.")
    return _Answering(engine, AnswerChecker(repository, make_judge(repository.rag.settings)))


def _ask(
    question: Question, repository: Repository, engine: SearchEngine, options: Options, answering: _Answering | None
) -> QuestionResult:
    laps = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        results = engine.search(question.question, options.top_k)
        laps.append(1000 * (time.perf_counter() - start))
    contexts = engine.build_contexts(question.question, options.budgets)
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
        results=tuple(_mark_answers(result, question) for result in results),
        detected_intent=contexts.intent,
        evidence=contexts.evidence,
        ms=round(median(laps), 3),
        metrics=_compute_metrics(question, results, contexts, options, answer),
        answer=answer,
    )


def _mark_answers(result: RankedResult, question: Question) -> RankedResult:
    """Return a result with the positions of the answers that it covers."""
    answers = [place for place, target in enumerate(question.answers) if has_target_line(result, target)]
    also = [-1] if any(has_target_line(result, target) for target in question.also) else []
    return result.model_copy(update={"answers": (*answers, *also)})


def _compute_metrics(
    question: Question,
    results: Sequence[RankedResult],
    contexts: ContextSet,
    options: Options,
    answer: AnswerCheck | None,
) -> Mapping[str, float]:
    metrics: dict[str, float] = {}
    if question.answers:
        metrics |= compute_retrieval_metrics(results, question.answers, question.also, options.top_k)
        metrics |= _compute_coverage(question.answers, contexts)
        if contexts.evidence is not None:
            metrics["answerable_accepted"] = float(contexts.evidence in ("found", "weak"))
    elif contexts.evidence is not None:
        metrics["unanswerable_flagged"] = float(contexts.evidence != "found")
    if contexts.intent:
        metrics["intent_right"] = float(contexts.intent == question.intent)
    if answer and answer.citations:
        metrics["citation_validity"] = answer.verified / answer.citations
    if answer and answer.claims:
        metrics["faithfulness"] = answer.supported / answer.claims
    return {name: round(value, 6) for name, value in metrics.items()}


def _compute_coverage(answers: Sequence[Target], contexts: ContextSet) -> dict[str, float]:
    shares = {
        f"coverage@{budget}": compute_line_coverage(context, answers) for budget, context in contexts.lines.items()
    }
    return {name: share for name, share in shares.items() if share is not None}


def _check_bounds(name: str, value: int, minimum: int, maximum: int) -> None:
    if not minimum <= value <= maximum:
        raise InvalidQueryError(f"{name} is {value}; it must be from {minimum:,} to {maximum:,}")
