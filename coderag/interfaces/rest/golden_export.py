"""Export of feedback as a golden set, in the format that ``coderag eval run`` reads."""

from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from coderag.stores.feedback import FeedbackCase, FeedbackPlace, ThumbVerdict

if TYPE_CHECKING:
    from evals.golden import Question, Target


def export_golden(cases: Sequence[FeedbackCase]) -> str:
    """Serialize the complete cases as JSON lines: thumbs up are the answers, thumbs down are named in the origin."""
    golden = import_module("coderag.evals.golden")  # the folder `evals` is installed under this name
    text: str = golden.dump_golden(_to_question(golden, case) for case in cases if case.is_complete)
    return text


def _to_question(golden: ModuleType, case: FeedbackCase) -> "Question":
    wrong = [f"{place.path}:{place.start_line}-{place.end_line}" for place in _list_places(case, "down")]
    origin = f"thumbs in the search playground, {case.updated[:10]}"
    question: Question = golden.Question(
        id=f"feedback-{case.id}",
        question=case.query,
        intent=case.intent,
        answers=tuple(_to_target(golden, place) for place in _list_places(case, "up")),
        unanswerable=case.is_unanswerable,
        tags=("feedback",),
        origin=f"{origin}; no answers: {', '.join(wrong)}" if wrong else origin,
    )
    return question


def _to_target(golden: ModuleType, place: FeedbackPlace) -> "Target":
    target: Target = golden.Target(
        path=place.path, start_line=place.start_line, end_line=place.end_line, symbol=place.symbol
    )
    return target


def _list_places(case: FeedbackCase, verdict: ThumbVerdict) -> list[FeedbackPlace]:
    return [thumb.place for thumb in case.thumbs if thumb.verdict == verdict]
