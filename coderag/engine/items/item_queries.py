"""Queries of the facade for mirrored pages and tickets."""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from coderag.engine.open_index import OpenIndex
from coderag.engine.reader import Reader
from coderag.engine.source_access import SourceAccess
from coderag.models.dense import DenseModel

if TYPE_CHECKING:
    from coderag.engine.items.item_search import ItemSearch
    from coderag.stores.corpus import Corpus


class ItemQueries(SourceAccess):
    """Base class of the facade: documentation and backlog systems, and search in their items."""

    _open_index: OpenIndex
    _load_dense_model: Callable[[], DenseModel]

    _reader: Reader

    @cached_property
    def _item_searches(self) -> "dict[frozenset[str] | None, ItemSearch]":
        """Searches in the items of a set of sources, shared by the readers who see just these."""
        return {}

    @property
    def items(self) -> "ItemSearch":
        """Mirrored pages and tickets: search, text, list. Nothing is opened before they are asked for."""
        from coderag.engine.items.item_search import ItemSearch  # noqa: PLC0415  # few queries need it

        sources = self._reader.sources
        if sources not in self._item_searches:
            search = ItemSearch(
                self.root,
                self._store.directory,
                self.settings,
                self._load_dense_model,
                self._open_code_corpus,
                lambda: self.sources.kinds,
                sources,
            )
            self._item_searches.setdefault(sources, search)  # another thread may have been faster
        return self._item_searches[sources]

    def _open_code_corpus(self) -> "Corpus":
        return self._open_index.open_context(self.settings.search).corpus
