"""Golden questions about the history of code."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

QUESTIONS_FILE: Final = Path(__file__).with_name("questions.jsonl")


@dataclass(frozen=True, slots=True)
class HistoryQuestion:
    """A question with its answer.

    Attributes:
        repository: Owner and name.
        revision: Commit that the repository is checked out at.
        kind: ``why``, ``when``, ``introduced``, ``who``, ``since``, ``together`` or ``ticket``.
        commits: Ids of right commits: any of them, for ``since`` all of them; empty if the answer is none of a commit.
        people: Right authors.
        paths: Files of the answer; for ``together`` those that change along most often, first ones first.
        declarations: Declarations of the answer.
        answer: The answer in words.
        unanswerable: Whether the history has no answer.
        held_out: Whether nobody may tune on it.
        tags: Properties such as ``typo`` or the human language.
    """

    id: str
    repository: str
    revision: str
    question: str
    kind: str
    commits: Sequence[str]
    people: Sequence[str]
    paths: Sequence[str]
    declarations: Sequence[str]
    answer: str
    unanswerable: bool
    held_out: bool
    tags: Sequence[str]

    @property
    def half(self) -> str:
        """``held`` or ``dev``."""
        return "held" if self.held_out else "dev"


def load_questions(path: Path = QUESTIONS_FILE) -> list[HistoryQuestion]:
    """Load questions, one JSON object a line."""
    with path.open(encoding="utf-8") as file:
        return [HistoryQuestion(**json.loads(line)) for line in file]
