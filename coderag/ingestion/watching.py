"""Watch a repository: wait for changes, and gather them until they pause."""

from collections.abc import Callable, Collection, Iterator, Set
from functools import partial
from itertools import chain
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, TypeVar

from coderag.config.repository_root import INDEX_FOLDER
from coderag.errors import IndexLockedError, IngestionError
from coderag.ingestion.files.scanner import Scan
from coderag.schema.indexing import IndexReport

if TYPE_CHECKING:
    from coderag.ingestion.indexer import Indexer

_QUIET_MS = 30
"""Edits are gathered until a pause of this length: an editor that saves through a second file makes several."""

_MAX_GATHER_MS = 1_000  # maximum gathering time, for example when a branch is switched
_POLL_MS = 2_000  # interval between checks of the stop event
_RETRY_S = 0.5
_IGNORED_FOLDERS = frozenset({".git", ".hg", ".svn", INDEX_FOLDER})

ReportT = TypeVar("ReportT")


def index_on_changes(
    root: Path, make_indexer: Callable[[], "Indexer"], stop: Event | None = None
) -> Iterator[IndexReport]:
    """Update the index now and whenever files change; yield the report of each run.

    Args:
        root: Folder of the repository.
        make_indexer: Returns the indexer of one run.
        stop: Ends the iteration when set.

    Raises:
        IngestionError: The system cannot watch the folder. Others as `Indexer.run`, which waits for another writer.
    """

    def get_ignored() -> Set[str]:
        return ignored

    last_scan = Scan()
    ignored: frozenset[str] = frozenset()
    for edited in chain(
        ((),), watch_changes(root, get_ignored, stop)
    ):  # the first run covers changes before the watch started
        indexer = make_indexer()
        report = run_when_unlocked(partial(indexer.run, since=(last_scan, edited) if edited else None), stop)
        last_scan = indexer.last_scan
        ignored = frozenset(path for path, _ in last_scan.ignored)
        if report is None:
            return
        yield report


def watch_changes(root: Path, ignored: Callable[[], Set[str]], stop: Event | None = None) -> Iterator[Collection[str]]:
    """Yield the changed paths, relative to the root, after each change. The first item is empty: watching has begun.

    Args:
        root: Folder of the repository.
        ignored: Returns the ignored paths of the last scan, relative to the root; folders end in ``/``.
        stop: Ends the iteration when set.

    Raises:
        IngestionError: The system cannot watch the folder.
    """
    from watchfiles import Change, watch  # noqa: PLC0415  # only watching needs it

    def is_relevant(_: Change, path: str) -> bool:
        return is_watched_path(root, path, ignored())

    try:
        has_started = False
        for changes in watch(
            root,
            watch_filter=is_relevant,
            debounce=_MAX_GATHER_MS,
            step=_QUIET_MS,
            stop_event=stop,
            rust_timeout=_POLL_MS,
            yield_on_timeout=True,
            raise_interrupt=True,
        ):
            if changes or not has_started:
                has_started = True
                yield {
                    Path(path).relative_to(root).as_posix() for _, path in changes if Path(path).is_relative_to(root)
                }
    except OSError as error:
        raise IngestionError(
            f"{root} cannot be watched: {error}",
            hint="On Linux raise fs.inotify.max_user_watches, or run `coderag index` now and then.",
        ) from error


def is_watched_path(root: Path, path: str, ignored: Set[str]) -> bool:
    """Return whether a path may be a file to index, or a file with ignore rules.

    Args:
        root: Folder of the repository.
        path: As the system reports it.
        ignored: See `watch_changes`.
    """
    try:
        parts = Path(path).relative_to(root).parts
    except ValueError:  # the path names the root differently
        return True
    parent_folders = ("/".join(parts[:depth]) + "/" for depth in range(1, len(parts) + 1))
    return _IGNORED_FOLDERS.isdisjoint(parts) and ignored.isdisjoint(("/".join(parts), *parent_folders))


def run_when_unlocked(run_index: Callable[[], ReportT], stop: Event | None = None) -> ReportT | None:
    """Run indexing once no other process writes the index; return None if stopped while waiting."""
    stop = stop or Event()
    while True:
        try:
            return run_index()
        except IndexLockedError:
            if stop.wait(_RETRY_S):
                return None
