"""Search in the mirrored items of a repository: by question and filters, by id, and as a list."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from coderag.config.settings import Settings
from coderag.engine.items.item_index import ItemIndex
from coderag.engine.items.item_pages import split_pages
from coderag.engine.items.item_records import AccessCheck, ItemPlaces, ItemRecords, allow_all
from coderag.engine.items.sync_notes import describe_missing
from coderag.engine.query_input import check_range
from coderag.errors import IndexNotFoundError, InvalidQueryError, UnknownNameError
from coderag.models.dense import DenseModel
from coderag.question.question_text import check_question
from coderag.schema.indexing import IndexProgress, IndexReport
from coderag.schema.item_search import (
    DEFAULT_ITEMS,
    MAX_ITEMS,
    NO_ITEM_FILTERS,
    ItemFilters,
    ItemHit,
    ItemListing,
    ItemMention,
    ItemReference,
    ItemResults,
    ItemScope,
    ItemText,
)
from coderag.schema.mirrored_items import MirroredItem
from coderag.sources.mirror import MIRROR_FOLDER, ItemMirror
from coderag.sources.protocol import SourceKind

if TYPE_CHECKING:
    from coderag.engine.items.item_query import ItemQueryRunner
    from coderag.stores.corpus import Corpus

DEFAULT_PAGE_TOKENS: Final = 4_000
MIN_PAGE_TOKENS, MAX_PAGE_TOKENS = 200, 100_000
_MAX_OFFSET: Final = 10_000_000
_MAX_REFERENCES: Final = 100
_MAX_LISTED: Final = 20
_MAX_SUGGESTIONS: Final = 5


class ItemSearch:
    """Search in the items that are mirrored beside an index, for use by several threads.

    Nothing is opened before the first call, and the index of the items not before the first search.

    Args:
        root: Folder of the repository.
        directory: Folder of its index.
        settings: Settings of the repository.
        dense_model: Returns its embedding model.
        open_corpus: Opens the repository's own index, to find what items name in it.
        read_source_kinds: Returns the kind of each configured source, by its name.
        sources: Names of the sources that the reader may see; None for all. Nothing tells that there are others.
    """

    def __init__(  # its collaborators
        self,
        root: Path,
        directory: Path,
        settings: Settings,
        dense_model: Callable[[], DenseModel],
        open_corpus: "Callable[[], Corpus]",
        read_source_kinds: Callable[[], Mapping[str, SourceKind]],
        sources: frozenset[str] | None = None,
    ) -> None:
        self._read_all_kinds = read_source_kinds
        self._sources = sources
        self._open_corpus = open_corpus
        self._mirror = ItemMirror(directory / MIRROR_FOLDER)  # for reading alone, which needs no key of pseudonyms
        self._places = ItemPlaces(root, self._mirror.files_folder)
        self._index = ItemIndex(self._mirror.files_folder, settings, dense_model, sources)
        self._lock = threading.Lock()
        self._records: tuple[str, ItemRecords] | None = None
        self._runner: ItemQueryRunner | None = None

    def has_sources(self, scope: ItemScope | None = None) -> bool:
        """Return whether a source of a kind is configured, without opening anything."""
        return any(scope in (None, kind) for kind in self._read_source_kinds().values())

    def search(
        self,
        query: str,
        *,
        limit: int = DEFAULT_ITEMS,
        filters: ItemFilters = NO_ITEM_FILTERS,
        can_read: AccessCheck = allow_all,
    ) -> ItemResults:
        """Search for items, best first, each once with its best section.

        Items whose id the question names come first. What has changed in the mirror since it was indexed is indexed now.

        Args:
            query: A question, or an id such as ``PROJ-45``.
            limit: Maximum number of items.
            filters: Filters of items.
            can_read: Returns whether the reader may see an item.

        Raises:
            InvalidQueryError: The question is empty or too long, or a filter has a value that no item has.
            IndexLockedError: Another process builds the first index of the items.
            ModelError: The embedding model failed.
            StoreError: The mirror or the index of its items cannot be read.
        """
        check_question(query)
        check_range("limit", limit, 1, MAX_ITEMS)
        stamp, records = self._load_records()
        selected = self._select(records, filters, can_read)
        notes = self._describe_missing(filters)
        if not selected:
            return ItemResults(query, notes=notes)
        context = self._index.open(stamp)
        results = self._get_runner().run(context, query, records, selected, limit)
        return replace(results, notes=notes)

    def has_item(self, item_id: str) -> bool:
        """Return whether an item with an id is mirrored. Raises `StoreError`."""
        return bool(self._load_records()[1].find(item_id))

    def get(
        self,
        item_id: str,
        *,
        source: str = "",
        page: int = 1,
        page_tokens: int = DEFAULT_PAGE_TOKENS,
        can_read: AccessCheck = allow_all,
    ) -> ItemText:
        """Return a page of an item's Markdown, with the declarations and files of the repository that it names.

        Args:
            item_id: Its id, in any case of letters.
            source: Name of its source; needed if several sources have the id.
            page: Number of the page, from 1.
            page_tokens: Maximum size of a page, in tokens.
            can_read: Returns whether the reader may see an item.

        Raises:
            UnknownNameError: No item has the id, or it has fewer pages.
            InvalidQueryError: Several sources have an item with the id.
            StoreError: The mirror cannot be read.
        """
        check_range("page_tokens", page_tokens, MIN_PAGE_TOKENS, MAX_PAGE_TOKENS)
        item = self._find_item(item_id, source, can_read)
        text = self._mirror.read_text(item)
        if not text:
            raise UnknownNameError(f"{item.id} is no longer mirrored", hint="It was deleted while it was read.")
        pages = split_pages(text, page_tokens)
        if not 1 <= page <= len(pages):
            count = f"{len(pages)} page{'s' * (len(pages) != 1)}"
            raise UnknownNameError(f"{item.id} has no page {page}", hint=f"It has {count} of {page_tokens:,} tokens.")
        chosen = pages[page - 1]
        return ItemText(
            item=self._places.summarize(item),
            text=chosen.text,
            page=page,
            pages=len(pages),
            start_line=chosen.start_line,
            links=item.links,
            references=self._find_references(text),
        )

    def read_lines(self, path: str, start_line: int, end_line: int) -> ItemHit | None:
        """Read lines of the mirrored file of an item, as many as there are; None if the path is of no item.

        Args:
            path: As in `ItemSummary.path`.
            start_line, end_line: Lines from 1, inclusive.

        Raises:
            StoreError: The mirror cannot be read.
        """
        mirrored_path = self._places.parse_path(path)
        item = self._mirror.get_by_path(mirrored_path) if mirrored_path else None
        item = item if item is not None and self._may_see(item) else None
        lines = self._mirror.read_text(item).removesuffix("\n").split("\n") if item else []
        if item is None or start_line > len(lines):
            return None
        end = min(end_line, len(lines))
        text = "\n".join(lines[start_line - 1 : end])
        return ItemHit(self._places.summarize(item), "", start_line, end, text, text, start_line, 0.0)

    def find_mentions(
        self,
        names: Sequence[str],
        *,
        filters: ItemFilters = NO_ITEM_FILTERS,
        limit: int = MAX_ITEMS,
        can_read: AccessCheck = allow_all,
    ) -> list[ItemMention]:
        """Find the items whose text has names of the code exactly, such as tickets about a function.

        Args:
            names: Plain or qualified names, the most specific first.
            filters: Filters of items.
            limit: Maximum number of mentions; an item has at most one a name.
            can_read: Returns whether the reader may see an item.

        Raises as `search`.
        """
        from coderag.retrieval.items.name_mentions import find_name_mentions  # noqa: PLC0415  # only this method needs it

        check_range("limit", limit, 1, MAX_ITEMS)
        stamp, records = self._load_records()
        by_path = {item.path: item for item in self._select(records, filters, can_read)}
        if not by_path:
            return []
        corpus = self._index.open(stamp).corpus
        allowed = np.fromiter((path in by_path for path in corpus.paths), bool, corpus.n_files)
        mentions = (
            ItemMention(self._places.summarize(by_path[corpus.paths[entry.file]]), name, entry.line, entry.text.strip())
            for name in dict.fromkeys(names)
            for entry in find_name_mentions(corpus, name, allowed)
        )
        return list(islice(mentions, limit))

    def list_items(
        self,
        *,
        filters: ItemFilters = NO_ITEM_FILTERS,
        limit: int = _MAX_LISTED,
        offset: int = 0,
        can_read: AccessCheck = allow_all,
    ) -> ItemListing:
        """List items, last modified first. Raises as `search`."""
        check_range("limit", limit, 1, MAX_ITEMS)
        check_range("offset", offset, 0, _MAX_OFFSET)
        _, records = self._load_records()
        selected = self._select(records, filters, can_read)
        end = offset + limit
        return ItemListing(
            [self._places.summarize(item) for item in selected[offset:end]],
            len(selected),
            end if end < len(selected) else None,
            self._describe_missing(filters),
        )

    def update(self, progress: Callable[[IndexProgress], None] | None = None) -> IndexReport | None:
        """Index what has changed in the mirror; None if nothing is mirrored.

        Raises:
            IndexLockedError: Another process indexes it.
            ModelError: The embedding model failed; the last generation is intact.
            StoreError: The mirror cannot be read, or its index cannot be written.
        """
        stamp = self._mirror.read_stamp()
        return self._index.update(stamp, progress) if stamp and self._mirror.files_folder.is_dir() else None

    def close(self) -> None:
        """Close the mirror and release what is open; the search can be used again."""
        self._index.close()
        self._mirror.close()

    def _load_records(self) -> tuple[str, ItemRecords]:
        """Return the stamp of the mirror, and its records."""
        stamp = self._mirror.read_stamp()
        backlog = frozenset(name for name, kind in self._read_source_kinds().items() if kind == "backlog")
        with self._lock:
            if self._records is None or self._records[0] != stamp or self._records[1].backlog_sources != backlog:
                items = filter(self._may_see, self._mirror.list_items() if stamp else ())
                self._records = stamp, ItemRecords(items, backlog)
            return self._records

    def _read_source_kinds(self) -> Mapping[str, SourceKind]:
        kinds = self._read_all_kinds()
        return kinds if self._sources is None else {name: kinds[name] for name in kinds if name in self._sources}

    def _may_see(self, item: MirroredItem) -> bool:
        return self._sources is None or item.source in self._sources

    def _get_runner(self) -> "ItemQueryRunner":
        from coderag.engine.items.item_query import ItemQueryRunner  # noqa: PLC0415  # only searches need the engine

        with self._lock:
            if self._runner is None:
                self._runner = ItemQueryRunner(self._places)
            return self._runner

    def _select(self, records: ItemRecords, filters: ItemFilters, can_read: AccessCheck) -> Sequence[MirroredItem]:
        selected = records.select(filters, can_read)
        if not selected:
            readable = [item for item in records.items if can_read(item)]
            _check_values("source", filters.sources, [*self._read_source_kinds(), *(item.source for item in readable)])
            _check_values("type", filters.types, [item.type for item in readable])
            _check_values("status", filters.states, [item.status for item in readable])
            _check_values("tag", filters.tags, [label for item in readable for label in item.labels])
        return selected

    def _find_item(self, item_id: str, source: str, can_read: AccessCheck) -> MirroredItem:
        _, records = self._load_records()
        matches = [item for item in records.find(item_id) if can_read(item) and source in ("", item.source)]
        if len(matches) == 1:
            return matches[0]
        exact = [item for item in matches if item.id == item_id]  # ids of a source may differ in their case alone
        if len(exact) == 1:
            return exact[0]
        name = item_id.strip()[: _MAX_LISTED * 5]
        if matches:
            sources = ", ".join(sorted({item.source for item in matches}))
            raise InvalidQueryError(f"several items have the id {name!r}", hint=f"Name the source: {sources}.")
        ids = [item.id for item in records.items if can_read(item)]
        close = get_close_matches(name, ids, _MAX_SUGGESTIONS)
        hint = f"Did you mean {', '.join(close)}?" if close else " ".join(self._describe_missing(NO_ITEM_FILTERS))
        raise UnknownNameError(f"there is no item {name!r}", hint=hint or "List the items to see their ids.")

    def _describe_missing(self, filters: ItemFilters) -> list[str]:
        names = {name.casefold() for name in filters.sources}
        return describe_missing(self._mirror, self._read_source_kinds(), filters.scope, names)

    def _find_references(self, text: str) -> list[ItemReference]:
        from coderag.retrieval.items.code_references import find_references  # noqa: PLC0415  # only `get` needs it

        try:
            corpus = self._open_corpus()
        except IndexNotFoundError:  # items may be read before the code is indexed
            return []
        return find_references(text, corpus, _MAX_REFERENCES)


def _check_values(name: str, wanted: Sequence[str], values: Iterable[str]) -> None:
    """Check that items have the values of a filter.

    Raises:
        InvalidQueryError: No item has one of them; the hint lists those that there are.
    """
    known = {value.casefold(): value for value in values if value}
    for value in wanted:
        if value.strip().casefold() not in known:
            listed = sorted(known.values())[:_MAX_LISTED]
            hint = f"There are: {', '.join(listed)}." if listed else f"No item has a {name}."
            raise InvalidQueryError(f"no item has the {name} {value!r}", hint=hint)
