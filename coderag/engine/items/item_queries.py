"""Queries of the facade for mirrored pages and tickets."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from coderag.config.settings import Settings
from coderag.engine.open_index import OpenIndex
from coderag.models.dense import DenseModel
from coderag.stores.index_store import IndexStore

if TYPE_CHECKING:
    from coderag.engine.items.item_search import ItemSearch
    from coderag.stores.corpus import Corpus


class ItemQueries:
    """Base class of the facade: search in the items of documentation and backlog systems."""

    root: Path
    settings: Settings
    _store: IndexStore
    _open_index: OpenIndex
    _load_dense_model: Callable[[], DenseModel]

    @cached_property
    def items(self) -> "ItemSearch":
        """Mirrored pages and tickets: search, text, list. Nothing is opened before they are asked for."""
        from coderag.engine.items.configured_sources import read_source_kinds  # noqa: PLC0415  # few queries need it
        from coderag.engine.items.item_search import ItemSearch  # noqa: PLC0415

        return ItemSearch(
            self.root,
            self._store.directory,
            self.settings,
            self._load_dense_model,
            self._open_code_corpus,
            read_source_kinds(self.settings),
        )

    def _open_code_corpus(self) -> "Corpus":
        return self._open_index.open_context(self.settings.search).corpus
