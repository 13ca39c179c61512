"""Results of mining: questions, and counts of what was dropped by reason."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from ..golden import Question, Target  # noqa: TID252  # installed, it has another name
from .wording import extract_terms, is_alike

Progress = Callable[[int], None]
"""Called with the number of examined commits or tests."""

DEFAULT_LIMIT: Final = 100
_MAX_SAME_ANSWERS = 3  # questions with the same answers; otherwise one much-tested function fills the set
NAMES_ANSWER: Final = "names-answer"


@dataclass
class MiningResult:
    """Questions from one source.

    Attributes:
        source: ``commits`` or ``tests``.
        considered: Number of examined commits or tests.
        dropped: Number of those without a question, by reason.
        notes: Notes for the user, such as that the clone is shallow.
    """

    source: str
    questions: list[Question] = field(default_factory=list)
    considered: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    _known: list[frozenset[str]] = field(default_factory=list)
    _answered: Counter[tuple[Target, ...]] = field(default_factory=Counter)

    def take(self, outcomes: Iterable[Question | str], limit: int, progress: Progress | None) -> None:
        """Add questions, and count the reasons for having none, until the limit is reached."""
        for outcome in outcomes:
            self.considered += 1
            if isinstance(outcome, Question):
                self.add(outcome)
            else:
                self.dropped[outcome] += 1
            if progress:
                progress(self.considered)
            if len(self.questions) >= limit:
                return

    def add(self, question: Question) -> None:
        """Add a question, unless it resembles another one or several have its answers."""
        terms = extract_terms(question.question)
        if is_alike(terms, self._known):
            self.dropped["like another question"] += 1
        elif self._answered[question.answers] >= _MAX_SAME_ANSWERS:
            self.dropped["several questions with these answers"] += 1
        else:
            self._known.append(terms)
            self._answered[question.answers] += 1
            self.questions.append(question)


def join_questions(sources: Iterable[MiningResult]) -> list[Question]:
    """Return the questions of several sources in order, without near-duplicates."""
    known: list[frozenset[str]] = []
    questions = []
    for mined in sources:
        for question in mined.questions:
            terms = extract_terms(question.question)
            if is_alike(terms, known):
                mined.dropped["like another question"] += 1
            else:
                known.append(terms)
                questions.append(question)
    return questions
