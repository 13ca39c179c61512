"""A generation of the index with the files as they are now, for as long as they differ from it."""

import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from coderag.config.settings import Settings
from coderag.ingestion.files.scanner import scan
from coderag.ingestion.live.disk_files import DiskFiles, Status, status_of
from coderag.ingestion.live.edits import Edits, Generation
from coderag.models.dense import DenseModel
from coderag.schema.chunks import FileRecord
from coderag.stores.overlay import FreshFile, OverlaySnapshot
from coderag.stores.protocols import GraphBuilder
from coderag.stores.snapshot import Snapshot
from coderag.system.gc_tuning import pause_gc

if TYPE_CHECKING:
    from coderag.ingestion.live.file_watch import FileWatch
    from coderag.ingestion.live.rechunking import Rechunker

OnEdited = Callable[[Collection[str]], None]

Sweep = Literal["when due", "unless watched", "now"]

_BETWEEN_SWEEPS_S: Final = 2.0
_BETWEEN_SWEEPS_WATCHED_S: Final = 10.0
"""A watch is not told what other machines edit on a network file system, and loses edits where there is no inotify."""

_SHARE_OF_SWEEPS: Final = 50
"""Looking at all files takes no more than one part in so many of the time."""

_FOLDER: Final = "watch"


@dataclass(slots=True)
class _Overlay:
    """What lies over one generation.

    Attributes:
        state: What the overlaid snapshot was made from: the fresh files, each an object of its own, and what is gone.
    """

    base: Snapshot
    generation: Generation
    rechunker: "Rechunker | None" = None
    snapshot: OverlaySnapshot | None = None
    state: tuple[Mapping[str, FreshFile], Set[str]] | None = None


class LiveIndex:
    """Lays edited files over the generations of one index. It may be used by several threads.

    Args:
        root: Folder of the repository.
        settings: Its settings.
        directory: The index's directory.
        dense_model: Returns the configured embedding model.
        builder: Returns what makes the code graph.
        on_edited: Called with the paths of files that were found to differ from the index, from the thread that found it.
    """

    def __init__(
        self,
        root: Path,
        settings: Settings,
        directory: Path,
        dense_model: Callable[[], DenseModel],
        builder: Callable[[], GraphBuilder],
        on_edited: OnEdited | None = None,
    ) -> None:
        self._root = root
        self._settings = settings
        self._directory = directory
        self._dense_model = dense_model
        self._builder = builder
        self._on_edited = on_edited
        self._disk = DiskFiles(root, settings.ingestion.max_file_bytes)
        self._edits = Edits(root, settings.ingestion, self._disk)
        self._lock = threading.RLock()
        self._telling = threading.Lock()
        self._told: set[str] = set()
        self._announced: dict[str, Status | None] = {}
        self._generations: weakref.WeakKeyDictionary[Snapshot, Generation] = weakref.WeakKeyDictionary()
        self._overlay: _Overlay | None = None
        self._watch: FileWatch | None = None
        self._ignored_at_first: frozenset[str] | None = None
        self._next_sweep = 0.0
        self._swept = -_BETWEEN_SWEEPS_WATCHED_S

    def flag(self, paths: Iterable[str]) -> None:
        """Note paths, relative to the root, that may have changed: files or folders, whether the index has them or not."""
        with self._telling:
            self._told.update(paths)

    def edited(self, base: Snapshot) -> list[str]:
        """Return the paths of the files that are known to differ from a generation."""
        self._take_watched()
        with self._lock:
            self._compare(self._overlay_of(base).generation, (), "when due")
            return sorted(self._edits.known)

    def follow(self) -> None:
        """Watch the repository from now on; a second call does nothing."""
        from coderag.ingestion.live.file_watch import FileWatch  # noqa: PLC0415  # only who follows needs it

        with self._telling:
            if self._watch is None:
                cookies = self._directory / _FOLDER
                self._watch = FileWatch(self._root, self._what_is_ignored, self.flag, cookies, self._on_edited)

    def close(self) -> None:
        """End watching, and let go of what is kept for edited files; it can be used again."""
        with self._telling:
            watch, self._watch = self._watch, None
        if watch is not None:
            watch.close()
        with self._lock:
            overlay, self._overlay = self._overlay, None
            if overlay is not None and overlay.rechunker is not None:
                overlay.rechunker.close()

    def over(
        self, base: Snapshot, *, wanted: Sequence[str] = (), hidden: Sequence[str] = (), sweep: Sweep = "when due"
    ) -> OverlaySnapshot | None:
        """Return a generation with the edited files as they are now; None if none is known to be edited.

        Args:
            base: The generation.
            wanted: Files that are taken as they are now however many are edited.
            hidden: Files that are left out, because they are edited too fast to keep up.
            sweep: When to look at all files.
        """
        is_watched = self._take_watched()
        if sweep == "unless watched":
            sweep = "when due" if is_watched else "now"
        with self._lock:
            overlay = self._overlay_of(base)
            self._compare(overlay.generation, wanted, sweep)
            made = self._made(overlay, wanted, hidden) if self._edits.known or hidden else None
            if made is None:
                overlay.snapshot = overlay.state = None
            news = self._news()
        if news and self._on_edited is not None:
            self._on_edited(news)
        return made

    def stale(self, snapshot: Snapshot | OverlaySnapshot, paths: Iterable[str]) -> list[str]:
        """Return those of some indexed files that are no longer what a snapshot says."""
        return [path for path in paths if self._is_stale(snapshot, path)]

    def is_gone(self, snapshot: Snapshot | OverlaySnapshot, path: str) -> bool:
        """Whether there was a file when it was indexed, and is none now."""
        base = snapshot.base if isinstance(snapshot, OverlaySnapshot) else snapshot
        return self._generation_of(base).is_indexed(path) and self._disk.candidate(path) is None

    # Inside

    def _is_stale(self, snapshot: Snapshot | OverlaySnapshot, path: str) -> bool:
        if isinstance(snapshot, OverlaySnapshot):
            fresh = snapshot.fresh.files.get(path)
            if fresh is not None:
                return self._differs(path, fresh.record, 0)
            snapshot = snapshot.base
        generation = self._generation_of(snapshot)
        record = generation.records.get(path)
        return record is not None and self._differs(path, record, generation.checked_ns)

    def _differs(self, path: str, record: FileRecord, checked_ns: int) -> bool:
        candidate = self._disk.candidate(path)
        if candidate is None:
            return record.outcome == "indexed"
        return not self._disk.is_same(candidate, record, checked_ns)

    def _generation_of(self, base: Snapshot) -> Generation:
        generation = self._generations.get(base)
        if generation is None:
            generation = self._generations.setdefault(base, Generation.of(base))
        return generation

    def _overlay_of(self, base: Snapshot) -> _Overlay:
        overlay = self._overlay
        if overlay is None or overlay.base is not base:
            if overlay is not None and overlay.rechunker is not None:
                overlay.rechunker.close()
            self._announced = {}
            overlay = self._overlay = _Overlay(base, self._generation_of(base))
        return overlay

    def _take_watched(self) -> bool:
        """Note what the watch tells; return whether it does."""
        watch = self._watch
        changed = None if watch is None else watch.settled()
        if changed is None:
            return False
        self._next_sweep = max(self._next_sweep, self._swept + _BETWEEN_SWEEPS_WATCHED_S)
        return True

    def _compare(self, generation: Generation, wanted: Sequence[str], sweep: Sweep) -> None:
        """Find out which files differ."""
        with self._telling:
            told, self._told = self._told, set()
        self._edits.compare(generation, {*told, *wanted})
        started = time.monotonic()
        if sweep == "now" or started >= self._next_sweep:
            self._edits.sweep(generation)
            self._swept = ended = time.monotonic()
            self._next_sweep = ended + max(_BETWEEN_SWEEPS_S, _SHARE_OF_SWEEPS * (ended - started))

    def _made(self, overlay: _Overlay, wanted: Sequence[str], hidden: Sequence[str]) -> OverlaySnapshot:
        """Return the overlaid snapshot: the last one, if the edited files are as they were."""
        from coderag.ingestion.live.rechunking import Rechunker  # noqa: PLC0415  # parsers; only edited files need them

        with pause_gc():
            base = overlay.base
            if overlay.rechunker is None:
                overlay.rechunker = Rechunker(self._root, self._settings, self._dense_model, base, self._disk)
            fresh = overlay.rechunker.fresh_files(self._edits, wanted, hidden)
            state = (fresh.files, fresh.removed)
            if overlay.snapshot is None or overlay.state != state:
                overlay.snapshot, overlay.state = OverlaySnapshot(base, fresh, self._builder()), state
            return overlay.snapshot

    def _news(self) -> list[str]:
        """Return the files that differ and of which that was not told yet."""
        known = {path: None if one is None else status_of(one) for path, one in self._edits.known.items()}
        news = [path for path in known if path not in self._announced]
        self._announced = known
        return sorted(news)

    def _what_is_ignored(self) -> Set[str]:
        """Return what the rules leave out: as the last walk for an answer found it, or one that is for this only."""
        if not self._edits.ignored and self._ignored_at_first is None:  # not after a walk: our own folder is left out
            found = scan(self._root, exclude=self._settings.ingestion.exclude)
            self._ignored_at_first = frozenset(path for path, _ in found.ignored)
        return self._edits.ignored or self._ignored_at_first or frozenset()
