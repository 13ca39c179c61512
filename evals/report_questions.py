"""The questions of a run as HTML: what was wanted of each, and what was found, the worst first."""

from collections.abc import Mapping, Sequence

from .comparison import Comparison, Moved
from .markup import element, escaped, grid
from .metrics import first_rank
from .runs import QuestionResult, RankedResult, Run


def question_list(run: Run, comparison: Comparison | None) -> str:
    """Return one element a question that opens and shows its results.

    Args:
        run: The run.
        comparison: With an earlier one, to tell which questions moved; None for none.
    """
    moved = {(one.question.repository, one.question.id): one for one in _moved(comparison)}
    told = []
    for question in sorted(run.questions, key=lambda one: (-loss(one), one.repository, one.id)):
        move = moved.get((question.repository, question.id))
        text = f"{_rank(move.rank_before)} to {_rank(move.rank_after)} ({move.change:+.3f} nDCG)" if move else ""
        told.append(_question(question, text))
    return "".join(told)


def loss(question: QuestionResult) -> float:
    """Return how far a question is from what was wanted, 0 to 1: 1 - nDCG, or 1 for an answer to what has none."""
    names = [name for name in question.metrics if name.startswith(("ndcg@", "unanswerable_flagged"))]
    return 1 - question.metrics[names[0]] if names else 0.0


def first_right(question: QuestionResult) -> int | None:
    """Return the rank of the first right result; None if there is none."""
    return first_rank(question.results, (*question.answers, *question.also))


def _moved(comparison: Comparison | None) -> Sequence[Moved]:
    return (*comparison.worse, *comparison.better) if comparison else ()


def _question(question: QuestionResult, moved: str) -> str:
    lost = loss(question)
    figure = element("span", f"{1 - lost:.3f}", class_="figure loss" if lost > 0.5 else "figure")
    where = "no answer" if question.unanswerable else f"rank {_rank(first_right(question))}"
    summary = (
        figure + element("span", where, class_="figure") + element("span", escaped(question.question), class_="text")
    )
    inner = element("summary", summary) + _about(question, moved) + _results(question.results)
    return element("details", inner, class_="question")


def _about(question: QuestionResult, moved: str) -> str:
    seen = question.detected_intent
    intent = f"{question.intent}, taken for {seen}" if seen and seen != question.intent else str(question.intent)
    wanted = "nothing: the repository has no answer" if question.unanswerable else ""
    answer = question.answer
    facts: Mapping[str, str] = {
        "id": f"{question.repository} {question.id}".strip(),
        "intent": intent,
        "verdict": (question.evidence or "").replace("_", " "),
        "wanted": "; ".join(target.location for target in question.answers) or wanted,
        "right as well": "; ".join(target.location for target in question.also),
        "before": moved,
        "reference": question.reference,
        "answer": answer.text if answer else "",
        "checked": f"{answer.verified} of {answer.citations} citations, {answer.supported} of {answer.claims} claims"
        if answer
        else "",
        "time": f"{question.ms:.1f} ms",
        "tags": ", ".join(question.tags),
    }
    pairs = (element("dt", name) + element("dd", escaped(value)) for name, value in facts.items() if value)
    return element("dl", "".join(pairs))


def _results(results: Sequence[RankedResult]) -> str:
    if not results:
        return element("p", "No results.", class_="soft")
    rows = [
        (
            f"{rank} {_tick(result)}",
            element("code", escaped(result.location)),
            element("code", escaped(result.name)),
            f"{result.score:.3f}",
            escaped("; ".join(filter(None, (_told(result.channels), _told(result.signals))))),
        )
        for rank, result in enumerate(results, 1)
    ]
    return grid(("", "place", "declaration", "score", "channels; signals"), rows, class_="results", wordy=(1, 2, 4))


def _tick(result: RankedResult) -> str:
    return element("span", "✓", class_="tick", title="right", role="img", aria_label="right") if result.answers else ""


def _told(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in values.items())


def _rank(rank: int | None) -> str:
    return str(rank) if rank else "none"
