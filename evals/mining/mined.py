"""What mining yields: questions, and how many were left out for which reason."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from ..golden import Question, Target  # noqa: TID252  # installed, it has another name
from .wording import is_alike, terms_of

Progress = Callable[[int], None]
"""Told how many commits or tests were looked at."""

LIMIT: Final = 100
_MOST_ALIKE_ANSWERS = 3  # questions with the same answers, or one much-tested function is most of the set
NAMES_ANSWER: Final = "names-answer"


@dataclass
class Mined:
    """Questions from one source.

    Attributes:
        source: ``commits`` or ``tests``.
        considered: Commits or tests that were looked at.
        dropped: Number of those that made no question, by reason.
        notes: What a user should know of them, such as that the clone is shallow.
    """

    source: str
    questions: list[Question] = field(default_factory=list)
    considered: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    _known: list[frozenset[str]] = field(default_factory=list)
    _answered: Counter[tuple[Target, ...]] = field(default_factory=Counter)

    def take(self, made: Iterable[Question | str], limit: int, progress: Progress | None) -> None:
        """Keep what commits or tests made, a question or the reason for none, until there are enough questions."""
        for one in made:
            self.considered += 1
            if isinstance(one, Question):
                self.add(one)
            else:
                self.dropped[one] += 1
            if progress:
                progress(self.considered)
            if len(self.questions) >= limit:
                return

    def add(self, question: Question) -> None:
        """Keep a question, unless there is one like it already, or there are several with its answers."""
        terms = terms_of(question.question)
        if is_alike(terms, self._known):
            self.dropped["like another question"] += 1
        elif self._answered[question.answers] >= _MOST_ALIKE_ANSWERS:
            self.dropped["several questions with these answers"] += 1
        else:
            self._known.append(terms)
            self._answered[question.answers] += 1
            self.questions.append(question)


def joined(sources: Iterable[Mined]) -> list[Question]:
    """Return the questions of several sources, those of an earlier one first, without what is asked twice."""
    known: list[frozenset[str]] = []
    kept = []
    for mined in sources:
        for question in mined.questions:
            terms = terms_of(question.question)
            if is_alike(terms, known):
                mined.dropped["like another question"] += 1
            else:
                known.append(terms)
                kept.append(question)
    return kept
