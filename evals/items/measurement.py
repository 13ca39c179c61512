"""Measurement of the rank of right items."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from coderag import CodeRAG
from coderag.engine.items.item_search import ItemSearch
from coderag.schema.item_search import ItemFilters
from evals.graph.ground_truth import EvaluationError
from evals.items.questions import DocumentTree, ItemQuestion

TOP_K: Final = 10


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """Outcome of a question.

    Attributes:
        rank: Rank of the first right item, from 1; 0 if it is not among the first ten.
        evidence: Verdict on the results.
        first: Ids of the first results.
        seconds: Time of the search.
    """

    question: ItemQuestion
    rank: int
    evidence: str
    first: Sequence[str]
    seconds: float

    def is_hit(self, limit: int) -> bool:
        """Return whether a right item is among the first results."""
        return 0 < self.rank <= limit


def build_repository(folder: Path, trees: Sequence[DocumentTree], folders: Mapping[str, Path]) -> CodeRAG:
    """Mirror trees of documents beside the index of an empty repository, each as a source of files, and index both.

    Args:
        folder: Folder of the repository.
        trees: The trees.
        folders: Folder of each tree's documents, by its name.

    Raises:
        EvaluationError: A tree is not synchronised completely.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text("# Documents of public projects\n", encoding="utf-8")
    sources = {
        tree.name: {
            "system": "files",
            "path": str(folders[tree.name]),
            "include": [f"/{pattern}" for pattern in tree.include],
            "url": f"https://github.com/{tree.repository}/blob/{tree.revision}",
        }
        for tree in trees
    }
    rag = CodeRAG(folder, sources=sources)
    rag.index()
    for run in rag.sources.sync():
        if run.outcome != "complete":
            raise EvaluationError(f"{run.source}: {run.outcome}: {run.message} {'; '.join(run.notes)}".strip())
    rag.items.update()
    return rag


def ask(items: ItemSearch, question: ItemQuestion, trees: Sequence[DocumentTree], *, is_alone: bool) -> ItemOutcome:
    """Ask a question about its own tree, or about all trees of its kind.

    Args:
        items: The search.
        question: The question.
        trees: All trees.
        is_alone: Whether the tree is searched alone.
    """
    names = [tree.name for tree in trees if tree.kind == question.intent]
    sources = (question.collection,) if is_alone else tuple(names)
    started = time.perf_counter()
    results = items.search(question.question, limit=TOP_K, filters=ItemFilters(sources=sources))
    seconds = time.perf_counter() - started
    keys = [(hit.item.source, hit.item.id) for hit in results.hits]
    right = {(question.collection, item) for item in question.items}
    rank = next((number for number, key in enumerate(keys, 1) if key in right), 0)
    return ItemOutcome(question, rank, results.evidence, [item for _, item in keys[:3]], seconds)
