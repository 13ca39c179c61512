"""Golden questions about pages and tickets, and the trees that hold these."""

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from coderag.schema.item_search import ItemScope
from evals.graph.ground_truth import EvaluationError

DATASET: Final = Path(__file__).parents[1] / "datasets" / "items"
Split = Literal["tuning", "held"]
"""Half of the questions that a mechanism was chosen on, and the half that was not looked at meanwhile."""


@dataclass(frozen=True, slots=True)
class ItemQuestion:
    """A question with the items that answer it.

    Attributes:
        collection: Name of the tree.
        intent: Kind of items that it asks for.
        items: Ids of right items, any of which answers.
    """

    id: str
    collection: str
    intent: ItemScope
    question: str
    items: Sequence[str]
    split: Split


@dataclass(frozen=True, slots=True)
class DocumentTree:
    """Documents of a public project at a revision.

    Attributes:
        repository: Owner and name at GitHub.
        kind: Kind of its items.
        include: Globs of the documents.
    """

    name: str
    repository: str
    revision: str
    kind: ItemScope
    include: Sequence[str]


def load_questions(path: Path = DATASET / "questions.jsonl") -> list[ItemQuestion]:
    """Load the questions.

    Raises:
        EvaluationError: A line is not a question.
    """
    questions = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            questions.append(ItemQuestion(**json.loads(line)))
        except (ValueError, TypeError) as error:
            raise EvaluationError(f"{path.name}, line {number}: not a question: {error}") from error
    return questions


def load_trees(path: Path = DATASET / "sources.toml") -> list[DocumentTree]:
    """Load the trees that the questions are about."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return [
        DocumentTree(name, table["repository"], table["revision"], table["kind"], table["include"])
        for name, table in tables.items()
    ]
