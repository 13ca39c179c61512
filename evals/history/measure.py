"""Measurement of answers to questions about history: the right commit, person or file in the first sentence."""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from coderag import CodeRAG
from coderag.ingestion.files.git_repository import run_git
from coderag.schema.answers import Answer
from evals.graph.ground_truth import EvaluationError
from evals.graph.proportions import Proportion

from .questions import HistoryQuestion

_ID_DIGITS: Final = 12
"""Digits of the commit ids that answers show."""

_MAX_LISTED: Final = 9
"""Number of commits that an answer lists: the first one and eight more."""

_MIN_LISTED_SHARE: Final = 0.6
_MAX_LEADING_FILES: Final = 4
_SHORT_ID: Final = re.compile(rf"`([0-9a-f]{{{_ID_DIGITS}}})`")


@dataclass(frozen=True, slots=True)
class HistoryOutcome:
    """A question with its answer.

    Attributes:
        is_right: Whether the answer states what the question expects.
        lead: First paragraph of the answer.
        seconds: Time that the answer took.
    """

    question: HistoryQuestion
    is_right: bool
    lead: str
    seconds: float


def measure_questions(clones: Path, questions: Sequence[HistoryQuestion]) -> Iterator[HistoryOutcome]:
    """Index each repository, then ask its questions.

    Args:
        clones: Folder with a clone of each repository, named as the repository without its owner.
        questions: Questions, those of a repository together.

    Raises:
        EvaluationError: A clone is missing, or is checked out at another revision.
    """
    for repository in dict.fromkeys(question.repository for question in questions):
        group = [question for question in questions if question.repository == repository]
        root = _find_clone(clones, repository, group[0].revision)
        rag = CodeRAG(root)
        rag.index()
        rag.ask("when was this introduced?")  # reads the commits before time is measured
        for question in group:
            start = time.perf_counter()
            answer = rag.ask(question.question)
            seconds = time.perf_counter() - start
            yield HistoryOutcome(question, is_right(question, answer), _get_lead(answer.text), seconds)


def is_right(question: HistoryQuestion, answer: Answer) -> bool:
    """Return whether an answer states what a question expects.

    The first commit that it names counts. Changes since a release count if 60 % of the expected commits are listed, of at most
    nine; co-change counts with one of the four leading files, a person by their name in the first paragraph.
    """
    lead = _get_lead(answer.text)
    if question.unanswerable:
        return "no commit" in lead.lower() or answer.evidence == "not_found"
    if question.kind == "since":
        listed = sum(commit[:_ID_DIGITS] in answer.text for commit in question.commits)
        return listed >= _MIN_LISTED_SHARE * min(len(question.commits), _MAX_LISTED)
    if question.kind == "together":
        return any(path.rpartition("/")[2] in lead for path in question.paths[:_MAX_LEADING_FILES])
    if question.kind == "who":
        return any(person.lower() in lead.lower() for person in question.people)
    if not question.commits:
        return any(name in answer.text for name in (*question.paths, *question.declarations))
    first = _SHORT_ID.search(answer.text)
    return first is not None and any(commit.startswith(first[1]) for commit in question.commits)


def summarize_outcomes(outcomes: Sequence[HistoryOutcome]) -> dict[str, Any]:
    """Summarize outcomes by kind and half, with Wilson intervals of 95 %, as values of JSON."""
    kinds = sorted({outcome.question.kind for outcome in outcomes})
    groups = {
        **{kind: [outcome for outcome in outcomes if outcome.question.kind == kind] for kind in kinds},
        "without an answer": [outcome for outcome in outcomes if outcome.question.unanswerable],
        **{half: [outcome for outcome in outcomes if outcome.question.half == half] for half in ("dev", "held")},
        "all": outcomes,
    }
    seconds = [outcome.seconds for outcome in outcomes]
    return {
        "questions": {name: _summarize(group) for name, group in groups.items() if group},
        "seconds": {"median": round(median(seconds), 3), "maximum": round(max(seconds), 3)},
        "wrong": [
            {"id": outcome.question.id, "question": outcome.question.question, "lead": outcome.lead}
            for outcome in outcomes
            if not outcome.is_right
        ],
    }


def _summarize(outcomes: Sequence[HistoryOutcome]) -> dict[str, Any]:
    share = Proportion(sum(outcome.is_right for outcome in outcomes), len(outcomes))
    limits = [round(limit, 3) for limit in share.interval or ()]
    return {"right": share.part, "questions": share.total, "interval": limits}


def _find_clone(clones: Path, repository: str, revision: str) -> Path:
    root = clones / repository.rpartition("/")[2]
    if not root.is_dir():
        raise EvaluationError(f"{root} is missing: clone https://github.com/{repository} there, at {revision}")
    head = (run_git(root, "rev-parse", "HEAD") or b"").decode().strip()
    if head != revision:
        raise EvaluationError(f"{root} is at {head or 'no commit'}: check out {revision}")
    return root


def _get_lead(text: str) -> str:
    return text.partition("\n\n")[0]
