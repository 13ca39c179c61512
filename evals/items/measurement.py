"""Measurement of the rank of right items."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from coderag import CodeRAG
from coderag.engine.items.item_search import ItemSearch
from coderag.schema.item_search import ItemFilters
from coderag.schema.items import Item
from coderag.schema.mirrored_items import SourceRun
from coderag.sources.mirror import MIRROR_FOLDER, ItemMirror
from coderag.sources.protocol import Page
from coderag.stores.index_locations import find_index_folder
from evals.items.questions import DocumentTree, ItemQuestion

TOP_K: Final = 10
_PAGE_ITEMS: Final = 100


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


def build_repository(folder: Path, items: Mapping[str, Sequence[Item]]) -> CodeRAG:
    """Mirror items beside the index of an empty repository, and index both."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text("# Documents of public projects\n", encoding="utf-8")
    rag = CodeRAG(folder)
    rag.index()
    mirror = ItemMirror(find_index_folder(rag.root, rag.settings.storage) / MIRROR_FOLDER)
    mirror.prepare()
    for name, entries in items.items():
        run = SourceRun(name, datetime.now(UTC), None, "complete")
        with mirror.record_run(run) as runs:
            for start in range(0, len(entries), _PAGE_ITEMS):
                mirror.apply_page(name, Page(entries[start : start + _PAGE_ITEMS], {"next": start + _PAGE_ITEMS}))
            runs.append(SourceRun(name, run.started, datetime.now(UTC), "complete"))
    mirror.close()
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
