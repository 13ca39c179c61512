"""Local mirror of the items of all sources: Markdown files for the index, and records in SQLite beside them.

The files can always be restored from the database. Each page is one transaction with its checkpoint, after its files are
written, so that a killed run loses nothing and continues behind its last page.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from coderag.config.sections import PrivacySettings
from coderag.schema.items import ItemFailure
from coderag.schema.mirrored_items import FailedItem, MirroredItem, PageChanges, SourceCounts, SourceRun
from coderag.sources.item_database import DamagedMirrorError, ItemDatabase
from coderag.sources.item_paths import check_source_name
from coderag.sources.item_people import ItemPeopleMask
from coderag.sources.item_query import ItemQuery
from coderag.sources.mirror_files import MirrorFiles, SweepReport
from coderag.sources.page_writes import delete_items, store_failures, store_items
from coderag.sources.prepared_items import PreparedItem, find_id_problem, find_kind_problem, prepare_item
from coderag.sources.protocol import Page
from coderag.sources.record_rows import (
    RUN_COLUMNS,
    dump_checkpoint,
    fetch_items,
    format_stored_time,
    parse_failure_row,
    parse_run_row,
    parse_stored_time,
    to_run_row,
)
from coderag.stores.path_key import load_privacy_key

MIRROR_FOLDER: Final = "sources"
"""Folder of the mirror in the folder of the index."""

_FORMAT: Final = 1
"""Format of the rendered files. After a change of it, everything is read again."""
_MAX_RUNS: Final = 20  # kept of each source
_MAX_SHOWN_CHARS: Final = 100
_BATCH: Final = 500  # below SQLite's limit of parameters


class ItemMirror:
    """Mirror of items. Reading works while another process writes; `coderag.sources.synchronization` holds its lock.

    Args:
        folder: The mirror's folder, `MIRROR_FOLDER` in the folder of the index; created by the first write.
        load_people_key: Loads the key of pseudonyms that replace names of people; None keeps the names.

    Attributes:
        files_folder: Folder of the Markdown files ``<source>/<kind>/<name>--<hash>.md``, to be indexed.
    """

    def __init__(self, folder: Path, *, load_people_key: Callable[[], bytes] | None = None) -> None:
        self.folder = folder
        self.files_folder = folder / "files"
        self._load_people_key = load_people_key
        self._database = ItemDatabase(folder)
        self._files = MirrorFiles(self.files_folder)
        self._mask: ItemPeopleMask | None = None

    # Reading

    def get(self, source: str, item_id: str) -> MirroredItem | None:
        """Return the record of an item; None if it is not mirrored.

        Raises:
            StoreError: The mirror cannot be read.
        """
        return next(iter(self._fetch("WHERE source = ? AND id = ?", (source, item_id))), None)

    def get_by_path(self, path: str) -> MirroredItem | None:
        """Return the record of a mirrored file, by its path relative to `files_folder`. Raises as `get`."""
        return next(iter(self._fetch("WHERE path = ?", (path,))), None)

    def read_text(self, item: MirroredItem) -> str:
        """Return the Markdown of an item as it is stored; empty if it is gone. Raises as `get`."""
        with self._database.read() as connection:
            return self._files.read_text(connection, item.path) if connection is not None else ""

    def list_items(  # noqa: PLR0913  # one parameter a filter
        self,
        source: str | None = None,
        *,
        kinds: Sequence[str] = (),
        types: Sequence[str] = (),
        states: Sequence[str] = (),
        tags: Sequence[str] = (),
        text_prefix: str = "",
        limit: int | None = None,
        offset: int = 0,
    ) -> list[MirroredItem]:
        """List items, last modified first. Filters ignore case; each takes any of its values.

        Args:
            source: Name of a source; None lists all.
            kinds: Kinds of items.
            types: Types in the words of the source, such as "Bug".
            states: Statuses in the words of the source.
            tags: Labels.
            text_prefix: Beginning of the id or the title.
            limit: Maximum number; None is all.
            offset: Number of items to leave out first.

        Raises:
            StoreError: The mirror cannot be read.
        """
        query = ItemQuery(source, kinds, types, states, tags, text_prefix)
        condition, parameters = query.build_condition()
        order = "ORDER BY modified IS NULL, modified DESC, source, id LIMIT ? OFFSET ?"
        return self._fetch(f"{condition} {order}", (*parameters, -1 if limit is None else limit, offset))

    def count_matches(self, query: ItemQuery) -> int:
        """Count the items that `list_items` lists without a limit. Raises as `get`."""
        condition, parameters = query.build_condition()
        with self._database.read() as connection:
            statement = f"SELECT count(*) FROM items {condition}"  # noqa: S608  # marks only
            return int(connection.execute(statement, parameters).fetchone()[0]) if connection else 0

    def read_stamp(self) -> str:
        """Return a text that changes with every change of the items; empty if none is mirrored. Raises as `get`."""
        with self._database.read() as connection:
            row = connection.execute("SELECT count(*), max(mirrored) FROM items").fetchone() if connection else (0, "")
        return f"{row[0]} {row[1]}" if row[0] else ""

    def list_ids(self, source: str) -> list[str]:
        """List the ids of a source. Raises as `get`."""
        with self._database.read() as connection:
            rows = connection.execute("SELECT id FROM items WHERE source = ?", (source,)) if connection else ()
            return [row[0] for row in rows]

    def list_sources(self) -> list[str]:
        """List the sources that were ever synchronised and not removed, sorted. Raises as `get`."""
        with self._database.read() as connection:
            query = "SELECT source FROM runs UNION SELECT source FROM items ORDER BY 1"
            return [row[0] for row in connection.execute(query)] if connection else []

    def count_items(self) -> dict[str, SourceCounts]:
        """Count items by source and kind, and failures. Raises as `get`."""
        counts: dict[str, SourceCounts] = {}
        with self._database.read() as connection:
            if connection is None:
                return counts
            for source, kind, number in connection.execute("SELECT source, kind, count(*) FROM items GROUP BY 1, 2"):
                counts.setdefault(source, SourceCounts()).kinds[kind] = number
            for source, number in connection.execute("SELECT source, count(*) FROM failures GROUP BY 1"):
                counts[source] = SourceCounts(counts.get(source, SourceCounts()).kinds, number)
        return dict(sorted(counts.items()))

    def list_failures(self, source: str | None = None) -> list[FailedItem]:
        """List the items that could not be read. Raises as `get`."""
        with self._database.read() as connection:
            query = "SELECT * FROM failures WHERE source = ? OR ? IS NULL ORDER BY source, id"
            rows = connection.execute(query, (source, source)) if connection else ()
            return [parse_failure_row(row) for row in rows]

    def read_checkpoint(self, source: str) -> dict[str, Any] | None:
        """Return the stored position of a source; None if it starts from the beginning. Raises as `get`."""
        with self._database.read() as connection:
            query = "SELECT value FROM checkpoints WHERE source = ?"
            row = connection.execute(query, (source,)).fetchone() if connection else None
            value = json.loads(row[0]) if row else None
            return value if isinstance(value, dict) else None

    def read_listing_time(self, source: str) -> datetime | None:
        """Return when all ids of a source were last listed; None if never. Raises as `get`."""
        return parse_stored_time(self._read_property(f"listed {source}"))

    def list_runs(self, source: str, limit: int = 1) -> list[SourceRun]:
        """List the last runs of a source, newest first. Raises as `get`."""
        with self._database.read() as connection:
            columns = ", ".join(RUN_COLUMNS)
            query = f"SELECT {columns} FROM runs WHERE source = ? ORDER BY number DESC LIMIT ?"  # noqa: S608  # names
            rows = connection.execute(query, (source, limit)) if connection else ()
            return [parse_run_row(row) for row in rows]

    # Writing

    def prepare(self) -> list[str]:
        """Make the mirror ready for a run; return notes on what had to be started over.

        A damaged database is put aside. A change of the format or of the masking of people makes the next run read everything.

        Raises:
            StoreError: The mirror cannot be written.
        """
        notes = []
        try:
            self._read_property("rendering")
        except DamagedMirrorError as error:
            notes.append(f"{error}; everything is mirrored again, and the old file is {self._database.quarantine()}")
        rendering = f"{_FORMAT} {'masked' if self._load_people_key is not None else 'plain'}"
        stored = self._read_property("rendering")
        if stored != rendering:
            with self._database.write() as connection:
                if stored:
                    connection.execute("DELETE FROM checkpoints")
                    notes.append("the masking of people or the format has changed, so everything is read again")
                connection.execute("INSERT OR REPLACE INTO properties VALUES ('rendering', ?)", (rendering,))
        self.sweep()
        return notes

    def apply_page(self, source: str, page: Page) -> PageChanges:
        """Store a page: files first, then items, failures and checkpoint in one transaction.

        The last occurrence of an item counts. An item that is also reported as deleted is kept. One that failed keeps its last
        mirrored version.

        Raises:
            StoreError: It cannot be written; the mirror is as it was before.
            ConfigurationError: The source's name is invalid.
            ValueError: The checkpoint is not JSON.
        """
        checkpoint = dump_checkpoint(page.checkpoint)
        return self._apply(source, page, checkpoint)

    def apply_items(self, source: str, page: Page) -> PageChanges:
        """Store items, deletions and failures of a page without its checkpoint. Raises as `apply_page`."""
        return self._apply(source, page, None)

    def remove(self, source: str, item_ids: Sequence[str]) -> int:
        """Remove items and their failures; return how many items there were. Raises as `apply_page`."""
        return self._apply(source, Page((), {}, deleted=item_ids), None).deleted

    def remove_source(self, source: str) -> int:
        """Remove everything of a source; return the number of its items. Raises as `apply_page`."""
        with self._database.write() as connection:
            paths = [row[0] for row in connection.execute("SELECT path FROM items WHERE source = ?", (source,))]
            connection.executemany("DELETE FROM texts WHERE path = ?", [(path,) for path in paths])
            for table in ("items", "failures", "checkpoints", "runs"):
                connection.execute(f"DELETE FROM {table} WHERE source = ?", (source,))  # noqa: S608
            connection.execute("DELETE FROM properties WHERE name = ?", (f"listed {source}",))
        self._files.remove(paths)
        self._files.remove_source(source)
        return len(paths)

    def forget_checkpoint(self, source: str) -> None:
        """Make the next run of a source read everything. Raises as `apply_page`."""
        with self._database.write() as connection:
            connection.execute("DELETE FROM checkpoints WHERE source = ?", (source,))

    @contextmanager
    def record_run(self, run: SourceRun) -> "Iterator[list[SourceRun]]":
        """Store a run at its start and, as last appended to the yielded list, at its end.

        A run that is killed stays as it was at its start. Raises as `apply_page`.
        """
        with self._database.write() as connection:
            marks = ", ".join("?" * len(RUN_COLUMNS))
            statement = f"INSERT INTO runs ({', '.join(RUN_COLUMNS)}) VALUES ({marks})"  # noqa: S608  # names and marks
            number = connection.execute(statement, to_run_row(run)).lastrowid
            old = "SELECT number FROM runs WHERE source = ? ORDER BY number DESC LIMIT 1 OFFSET ?"
            statement = f"DELETE FROM runs WHERE source = ? AND number <= ({old})"  # noqa: S608  # as above
            connection.execute(statement, (run.source, run.source, _MAX_RUNS))
        states = [run]
        try:
            yield states
        finally:
            if len(states) > 1:
                with self._database.write() as connection:
                    values = ", ".join(f"{column} = ?" for column in RUN_COLUMNS)
                    statement = f"UPDATE runs SET {values} WHERE number = ?"  # noqa: S608  # as above
                    connection.execute(statement, (*to_run_row(states[-1]), number))

    def record_listing(self, source: str) -> None:
        """Store that all ids of a source were listed now. Raises as `apply_page`."""
        row = (f"listed {source}", format_stored_time(datetime.now(UTC)))
        with self._database.write() as connection:
            connection.execute("INSERT OR REPLACE INTO properties VALUES (?, ?)", row)

    def sweep(self) -> SweepReport:
        """Make the files equal to the database: remove files of no item, write missing or altered ones again.

        Raises:
            StoreError: The mirror cannot be read or written.
        """
        with self._database.read() as connection:
            report = self._files.sweep(connection)
        if report.restored_signatures:
            with self._database.write() as connection:
                connection.executemany(
                    "UPDATE texts SET size = ?, mtime_ns = ? WHERE path = ?",
                    [(*signature, path) for path, signature in report.restored_signatures.items()],
                )
        return report

    def close(self) -> None:
        """Close the database; later calls open it again."""
        self._database.close()

    # Internals

    def _fetch(self, condition: str, parameters: Sequence[object]) -> list[MirroredItem]:
        with self._database.read() as connection:
            return fetch_items(connection, condition, parameters) if connection is not None else []

    def _read_property(self, name: str) -> str:
        with self._database.read() as connection:
            query = "SELECT value FROM properties WHERE name = ?"
            row = connection.execute(query, (name,)).fetchone() if connection else None
            return row[0] if row else ""

    def _load_mask(self) -> ItemPeopleMask | None:
        if self._load_people_key is not None and self._mask is None:
            self._mask = ItemPeopleMask(self._load_people_key())
        return self._mask

    def _apply(self, source: str, page: Page, checkpoint: str | None) -> PageChanges:
        check_source_name(source)
        prepared, failures = self._prepare_items(source, page)
        gone = [name for name in dict.fromkeys(page.deleted) if name not in prepared and not find_id_problem(name)]
        stored = self._fetch_by_ids(source, [*prepared, *gone])
        deleted = [stored[name] for name in gone if name in stored]
        items = list(prepared.values())
        new_items = [item for item in items if _has_new_file(stored.get(item.record.id), item.record)]
        with self._files.map_errors():
            signatures = {item.record.path: self._files.write(item.record.path, item.text) for item in new_items}
        with self._database.write() as connection:
            paths = delete_items(connection, source, deleted)
            paths += store_items(
                connection, [item for item in items if _is_different(stored, item)], stored, signatures
            )
            store_failures(connection, source, failures, [*prepared, *gone])
            if checkpoint is not None:
                now = format_stored_time(datetime.now(UTC))
                connection.execute("INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?)", (source, checkpoint, now))
        self._files.remove(paths)
        added = sum(item.record.id not in stored for item in items)
        changed = len(new_items) - added
        return PageChanges(added, changed, len(items) - added - changed, len(deleted), len(failures))

    def _prepare_items(self, source: str, page: Page) -> tuple[dict[str, PreparedItem], list[ItemFailure]]:
        """Prepare the items of a page by id; those that cannot be stored are failures."""
        failures = {failure.id: failure for failure in page.failures if not find_id_problem(failure.id)}
        prepared: dict[str, PreparedItem] = {}
        mask = self._load_mask()
        for item in page.items:
            if problem := find_id_problem(item.id) or find_kind_problem(item.kind):
                name = ascii(item.id)[:_MAX_SHOWN_CHARS]
                failures[name] = ItemFailure(name, problem, item.url)
            else:
                prepared.pop(item.id, None)
                prepared[item.id] = prepare_item(source, item, mask)
        return prepared, list(failures.values())

    def _fetch_by_ids(self, source: str, item_ids: Sequence[str]) -> dict[str, MirroredItem]:
        stored: dict[str, MirroredItem] = {}
        for start in range(0, len(item_ids), _BATCH):
            batch = item_ids[start : start + _BATCH]
            items = self._fetch(f"WHERE source = ? AND id IN ({', '.join('?' * len(batch))})", (source, *batch))
            stored |= {item.id: item for item in items}
        return stored


def open_mirror(index_folder: Path, privacy: PrivacySettings) -> ItemMirror:
    """Open the mirror in the folder of an index; nothing is created before the first write.

    Args:
        index_folder: Folder of the index.
        privacy: Section ``privacy``; people are masked as it says, with the key of all masks.
    """
    load_key = partial(load_privacy_key, privacy, index_folder) if privacy.mask_people else None
    return ItemMirror(index_folder / MIRROR_FOLDER, load_people_key=load_key)


def _is_different(stored: Mapping[str, MirroredItem], item: PreparedItem) -> bool:
    """Return whether a record differs from the stored one in more than its time."""
    old = stored.get(item.record.id)
    return old is None or replace(item.record, mirrored=old.mirrored) != old


def _has_new_file(old: MirroredItem | None, new: MirroredItem) -> bool:
    return old is None or (old.path, old.content_hash) != (new.path, new.content_hash)
