"""HTML list of the questions of a run with their targets and results, the worst first."""

from collections.abc import Mapping, Sequence

from .comparison import Comparison, QuestionChange
from .markup import escape_text, render_element, render_grid
from .metrics import find_first_rank
from .runs import QuestionResult, RankedResult, Run


def render_questions(run: Run, comparison: Comparison | None) -> str:
    """Render one expandable element per question.

    Args:
        run: The run.
        comparison: Comparison with an earlier run, to mark questions that changed; None for none.
    """
    moved = {(entry.question.repository, entry.question.id): entry for entry in _list_question_changes(comparison)}
    parts = []
    for question in sorted(run.questions, key=lambda entry: (-compute_loss(entry), entry.repository, entry.id)):
        move = moved.get((question.repository, question.id))
        text = (
            f"{_format_rank(move.rank_before)} to {_format_rank(move.rank_after)} ({move.change:+.3f} nDCG)"
            if move
            else ""
        )
        parts.append(_render_question(question, text))
    return "".join(parts)


def compute_loss(question: QuestionResult) -> float:
    """Return the loss of a question, 0 to 1: 1 - nDCG, or 1 for an unanswerable question that is not flagged."""
    names = [name for name in question.metrics if name.startswith(("ndcg@", "unanswerable_flagged"))]
    return 1 - question.metrics[names[0]] if names else 0.0


def find_first_right(question: QuestionResult) -> int | None:
    """Return the rank of the first right result; None without one."""
    return find_first_rank(question.results, (*question.answers, *question.also))


def _list_question_changes(comparison: Comparison | None) -> Sequence[QuestionChange]:
    return (*comparison.worse, *comparison.better) if comparison else ()


def _render_question(question: QuestionResult, moved: str) -> str:
    lost = compute_loss(question)
    figure = render_element("span", f"{1 - lost:.3f}", class_="figure loss" if lost > 0.5 else "figure")
    where = "no answer" if question.unanswerable else f"rank {_format_rank(find_first_right(question))}"
    summary = (
        figure
        + render_element("span", where, class_="figure")
        + render_element("span", escape_text(question.question), class_="text")
    )
    inner = render_element("summary", summary) + _render_facts(question, moved) + _render_results(question.results)
    return render_element("details", inner, class_="question")


def _render_facts(question: QuestionResult, moved: str) -> str:
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
    pairs = (
        render_element("dt", name) + render_element("dd", escape_text(value)) for name, value in facts.items() if value
    )
    return render_element("dl", "".join(pairs))


def _render_results(results: Sequence[RankedResult]) -> str:
    if not results:
        return render_element("p", "No results.", class_="soft")
    rows = [
        (
            f"{rank} {_render_tick(result)}",
            render_element("code", escape_text(result.location)),
            render_element("code", escape_text(result.name)),
            f"{result.score:.3f}",
            escape_text("; ".join(filter(None, (_format_values(result.channels), _format_values(result.signals))))),
        )
        for rank, result in enumerate(results, 1)
    ]
    return render_grid(
        ("", "place", "declaration", "score", "channels; signals"), rows, class_="results", wordy=(1, 2, 4)
    )


def _render_tick(result: RankedResult) -> str:
    return (
        render_element("span", "✓", class_="tick", title="right", role="img", aria_label="right")
        if result.answers
        else ""
    )


def _format_values(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in values.items())


def _format_rank(rank: int | None) -> str:
    return str(rank) if rank else "none"
