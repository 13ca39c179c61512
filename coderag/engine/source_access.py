"""Sources of a repository: synchronisation, state, and readers added by a program."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coderag.config.settings import Settings
from coderag.config.source_sections import RemoteSourceSection, SourceSection
from coderag.errors import ConfigurationError, InvalidQueryError, SourceError
from coderag.schema.mirrored_items import FailedItem, SourceCounts, SourceRun

if TYPE_CHECKING:
    from coderag.sources.mirror import ItemMirror
    from coderag.sources.protocol import Source, SourceKind
    from coderag.sources.synchronization import SyncOptions, SyncProgress
    from coderag.stores.index_store import IndexStore


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """State of a source.

    Attributes:
        name: Its name in the settings.
        system: Its system; empty if the settings no longer have it.
        place: Address or folder, for people.
        is_configured: Whether it is synchronised; otherwise its mirror stays until it is removed.
        counts: Numbers of mirrored items.
        last_run: Its last synchronisation; None before the first.
        is_running: Whether that run goes on; one without an end that does not was killed.
        failures: Items that could not be read; the next synchronisation tries them again.
    """

    name: str
    system: str
    place: str
    is_configured: bool
    counts: SourceCounts
    last_run: SourceRun | None
    is_running: bool
    failures: list[FailedItem]


class RepositorySources:
    """Sources of one repository.

    Args:
        root: Folder of the repository.
        settings: Its settings.
        index_folder: Folder of its index, which holds the mirror.
    """

    def __init__(self, root: Path, settings: Settings, index_folder: Path) -> None:
        self._root = root
        self._settings = settings
        self._index_folder = index_folder
        self._readers: dict[str, Source] = {}
        self._mirror: ItemMirror | None = None

    @property
    def mirror(self) -> "ItemMirror":
        """The mirror of all sources; nothing is created before the first synchronisation."""
        from coderag.sources.mirror import open_mirror  # noqa: PLC0415  # only sources need it

        if self._mirror is None:
            self._mirror = open_mirror(self._index_folder, self._settings.privacy)
        return self._mirror

    @property
    def names(self) -> list[str]:
        """Names of the configured and added sources, sorted."""
        return sorted({*self._settings.sources, *self._readers})

    @property
    def kinds(self) -> "dict[str, SourceKind]":
        """Kind of each configured and added source, by its name."""
        from coderag.engine.items.configured_sources import read_source_kinds  # noqa: PLC0415  # only sources need it

        readers = {name: reader.kind for name, reader in self._readers.items()}
        return {**read_source_kinds(self._settings), **readers}

    def add_reader(self, name: str, reader: Any, kind: "SourceKind" = "documentation") -> None:  # noqa: ANN401  # any reader
        """Add a reader of LlamaIndex as a source of this object; settings are not changed.

        Args:
            name: Name of the source.
            reader: An object with ``load_data`` or ``lazy_load_data``.
            kind: Kind of its documents.

        Raises:
            ConfigurationError: The name is invalid.
            InvalidQueryError: The settings have a source of that name.
        """
        from coderag.sources.item_paths import check_source_name  # noqa: PLC0415  # only sources need it
        from coderag.sources.reader import ReaderSource  # noqa: PLC0415

        if name in self._settings.sources:
            raise InvalidQueryError(f"the settings have a source {name} already", hint="Choose another name.")
        self._readers[check_source_name(name)] = ReaderSource(name, reader, kind)

    def sync(
        self,
        name: str | None = None,
        *,
        full: bool = False,
        delete: bool = False,
        on_progress: "Callable[[SyncProgress], None] | None" = None,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> list[SourceRun]:
        """Synchronise one source, or all one after the other; return their runs.

        Errors of a source are the outcome of its run, not exceptions, so that the others are synchronised.

        Args:
            name: Name of a source; None takes all.
            full: Read everything, not only changes.
            delete: Delete what a source no longer lists even if that is more than half of its items.
            on_progress: Called with the progress.
            is_cancelled: Asked between pages; True ends the run.

        Raises:
            InvalidQueryError: There is no such source.
            IndexLockedError: Another process synchronises.
            StoreError: The mirror cannot be written.
        """
        from coderag.sources.synchronization import SyncOptions  # noqa: PLC0415  # only sources need it

        options = SyncOptions(full=full, forces_deletions=delete, on_progress=on_progress, is_cancelled=is_cancelled)
        return [self._sync(source_name, options) for source_name in self._choose(name)]

    def check(self, name: str, section: SourceSection | None = None) -> str:
        """Check address, credential and scope of a source with a small request; return its scope for people.

        Args:
            name: Name of the source.
            section: Settings to check instead of those in force.

        Raises:
            InvalidQueryError: There is no such source.
            ConfigurationError: A setting cannot be used.
            SourceError: The system cannot be used with them.
        """
        with self._open(name, section) as source:
            return source.check()

    def status(self) -> list[SourceStatus]:
        """Return the state of each source, and of each that is mirrored but no longer configured.

        Raises:
            StoreError: The mirror cannot be read.
        """
        from coderag.sources.sync_lock import is_mirror_locked  # noqa: PLC0415  # only sources need it

        is_locked = is_mirror_locked(self.mirror.folder)
        counts = self.mirror.count_items()
        failures = self.mirror.list_failures()
        statuses = []
        for name in sorted({*self.names, *counts, *self.mirror.list_sources()}):
            section = self._settings.sources.get(name)
            statuses.append(
                SourceStatus(
                    name,
                    section.system if section is not None else "reader" if name in self._readers else "",
                    describe_place(section) if section is not None else "",
                    name in self.names,
                    counts.get(name, SourceCounts()),
                    last_run := next(iter(self.mirror.list_runs(name)), None),
                    is_locked and last_run is not None and last_run.ended is None,
                    [failure for failure in failures if failure.source == name],
                )
            )
        return statuses

    def remove(self, name: str) -> int:
        """Remove the mirror of a source, but not its settings; return the number of its items.

        Raises:
            IndexLockedError: Another process synchronises.
            StoreError: The mirror cannot be written.
        """
        from coderag.sources.sync_lock import lock_mirror  # noqa: PLC0415  # only sources need it

        if name not in self.mirror.list_sources():
            return 0
        with lock_mirror(self.mirror.folder):
            shutil.rmtree(self._get_own_folder(name), ignore_errors=True)
            return self.mirror.remove_source(name)

    def close(self) -> None:
        """Close the mirror; later calls open it again."""
        if self._mirror is not None:
            self._mirror.close()

    def _choose(self, name: str | None) -> list[str]:
        if name is None:
            return self.names
        if name not in self.names:
            known = f"there are: {', '.join(self.names)}" if self.names else "there is none"
            raise InvalidQueryError(f"no source {name!r}; {known}", hint="`coderag sources add` adds one.")
        return [name]

    def _sync(self, name: str, options: "SyncOptions") -> SourceRun:
        from coderag.sources.synchronization import record_failure, synchronize  # noqa: PLC0415  # as above

        section = self._settings.sources.get(name)
        hours = section.deletions_hours if section is not None else 0.0
        options = replace(options, deletion_interval=timedelta(hours=hours))
        try:
            with self._open(name) as source:
                return synchronize(name, source, self.mirror, options)
        except (SourceError, ConfigurationError) as error:  # no credential, no package: the others go on
            return record_failure(name, self.mirror, error)

    @contextmanager
    def _open(self, name: str, section: SourceSection | None = None) -> "Iterator[Source]":
        from coderag.sources.connector_table import open_source  # noqa: PLC0415  # only sources need it

        self._choose(name if section is None else None)
        chosen = section or self._settings.sources.get(name)
        if chosen is None:
            yield self._readers[name]
            return
        source = open_source(name, chosen, self._root, self._get_own_folder(name))
        try:
            yield source
        finally:
            source.close()

    def _get_own_folder(self, name: str) -> Path:
        return self.mirror.folder / "connectors" / name


class SourceAccess:
    """Base class of the facade: documentation and backlog systems."""

    root: Path
    settings: Settings
    _store: "IndexStore"
    _sources: RepositorySources | None = None

    @property
    def sources(self) -> RepositorySources:
        """Documentation and backlog systems of this repository (docs/sources.md)."""
        if self._sources is None:
            self._sources = RepositorySources(self.root, self.settings, self._store.directory)
        return self._sources


def describe_place(section: SourceSection) -> str:
    """Return the address or folder of a source, for people."""
    if isinstance(section, RemoteSourceSection):
        return section.address
    values = section.model_dump()
    return str(values.get("git") or values.get("path") or values.get("reader") or "")
