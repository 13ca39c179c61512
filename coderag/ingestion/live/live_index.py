"""Overlay of edited files over a generation of the index."""

import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from coderag.config.settings import Settings
from coderag.ingestion.files.scanner import scan
from coderag.ingestion.live.disk_files import DiskFiles, FileStatus, get_file_status
from coderag.ingestion.live.edits import EditTracker, GenerationFiles
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

_SWEEP_INTERVAL_S: Final = 2.0
_WATCHED_SWEEP_INTERVAL_S: Final = 10.0
"""A watch misses edits by other machines on a network file system, and some edits where inotify is missing."""

_SWEEP_BACKOFF_FACTOR: Final = 50
"""Sweeps of all files take at most this fraction (one in 50) of the time."""

_COOKIE_FOLDER: Final = "watch"


@dataclass(slots=True)
class _Overlay:
    """Overlay of one generation.

    Attributes:
        state: Inputs of the snapshot: the fresh files, compared by identity, and the deleted paths.
    """

    base: Snapshot
    generation: GenerationFiles
    rechunker: "Rechunker | None" = None
    snapshot: OverlaySnapshot | None = None
    state: tuple[Mapping[str, FreshFile], Set[str]] | None = None


class LiveIndex:
    """Overlays edited files over the generations of one index. Thread-safe.

    Args:
        root: Folder of the repository.
        settings: Settings of the repository.
        directory: The index's directory.
        dense_model: Returns the configured embedding model.
        builder: Returns the builder of the code graph.
        on_edited: Called with the paths of newly detected edits, from the detecting thread.
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
        self._edits = EditTracker(root, settings.ingestion, self._disk)
        self._lock = threading.RLock()
        self._changed_lock = threading.Lock()
        self._changed_paths: set[str] = set()
        self._announced: dict[str, FileStatus | None] = {}
        self._generations: weakref.WeakKeyDictionary[Snapshot, GenerationFiles] = weakref.WeakKeyDictionary()
        self._overlay: _Overlay | None = None
        self._watch: FileWatch | None = None
        self._initial_ignored: frozenset[str] | None = None
        self._next_sweep = 0.0
        self._last_sweep = -_WATCHED_SWEEP_INTERVAL_S

    def mark_changed(self, paths: Iterable[str]) -> None:
        """Mark paths, relative to the root, as possibly changed: files or folders, indexed or not."""
        with self._changed_lock:
            self._changed_paths.update(paths)

    def list_edited(self, base: Snapshot) -> list[str]:
        """Return the paths of the files that differ from a generation, as far as detected."""
        self._sync_watch()
        with self._lock:
            self._update_edits(self._get_overlay(base).generation, (), "when due")
            return sorted(self._edits.edited)

    def start_watching(self) -> None:
        """Start watching the repository; a second call does nothing."""
        from coderag.ingestion.live.file_watch import FileWatch  # noqa: PLC0415  # only watching needs it

        with self._changed_lock:
            if self._watch is None:
                cookies = self._directory / _COOKIE_FOLDER
                self._watch = FileWatch(self._root, self._get_ignored, self.mark_changed, cookies, self._on_edited)

    def close(self) -> None:
        """Stop watching and release the overlay; the object can be used again."""
        with self._changed_lock:
            watch, self._watch = self._watch, None
        if watch is not None:
            watch.close()
        with self._lock:
            overlay, self._overlay = self._overlay, None
            if overlay is not None and overlay.rechunker is not None:
                overlay.rechunker.close()

    def build_overlay(
        self, base: Snapshot, *, required: Sequence[str] = (), hidden: Sequence[str] = (), sweep: Sweep = "when due"
    ) -> OverlaySnapshot | None:
        """Return the overlay of edited files over a generation, or None if no edit is known.

        Args:
            base: The generation.
            required: Files to chunk in any case, however many are edited.
            hidden: Files to omit, because they are edited too fast to keep up.
            sweep: When to check all files.
        """
        is_watched = self._sync_watch()
        if sweep == "unless watched":
            sweep = "when due" if is_watched else "now"
        with self._lock:
            overlay = self._get_overlay(base)
            self._update_edits(overlay.generation, required, sweep)
            overlaid = self._build_snapshot(overlay, required, hidden) if self._edits.edited or hidden else None
            if overlaid is None:
                overlay.snapshot = overlay.state = None
            new_edits = self._take_new_edits()
        if new_edits and self._on_edited is not None:
            self._on_edited(new_edits)
        return overlaid

    def find_stale(self, snapshot: Snapshot | OverlaySnapshot, paths: Iterable[str]) -> list[str]:
        """Return the indexed files among `paths` that have changed since a snapshot."""
        return [path for path in paths if self._is_stale(snapshot, path)]

    def is_deleted(self, snapshot: Snapshot | OverlaySnapshot, path: str) -> bool:
        """Return whether an indexed file no longer exists."""
        base = snapshot.base if isinstance(snapshot, OverlaySnapshot) else snapshot
        return self._get_generation(base).is_indexed(path) and self._disk.find_candidate(path) is None

    # Inside

    def _is_stale(self, snapshot: Snapshot | OverlaySnapshot, path: str) -> bool:
        if isinstance(snapshot, OverlaySnapshot):
            fresh = snapshot.fresh.files.get(path)
            if fresh is not None:
                return self._is_different(path, fresh.record, 0)
            snapshot = snapshot.base
        generation = self._get_generation(snapshot)
        record = generation.records.get(path)
        return record is not None and self._is_different(path, record, generation.checked_ns)

    def _is_different(self, path: str, record: FileRecord, checked_ns: int) -> bool:
        candidate = self._disk.find_candidate(path)
        if candidate is None:
            return record.outcome == "indexed"
        return not self._disk.is_unchanged(candidate, record, checked_ns)

    def _get_generation(self, base: Snapshot) -> GenerationFiles:
        generation = self._generations.get(base)
        if generation is None:
            generation = self._generations.setdefault(base, GenerationFiles.from_snapshot(base))
        return generation

    def _get_overlay(self, base: Snapshot) -> _Overlay:
        overlay = self._overlay
        if overlay is None or overlay.base is not base:
            if overlay is not None and overlay.rechunker is not None:
                overlay.rechunker.close()
            self._announced = {}
            overlay = self._overlay = _Overlay(base, self._get_generation(base))
        return overlay

    def _sync_watch(self) -> bool:
        """Record the changes that the watch reports; return whether it is reliable."""
        watch = self._watch
        changed = None if watch is None else watch.take_changes()
        if changed is None:
            return False
        self._next_sweep = max(self._next_sweep, self._last_sweep + _WATCHED_SWEEP_INTERVAL_S)
        return True

    def _update_edits(self, generation: GenerationFiles, required: Sequence[str], sweep: Sweep) -> None:
        """Update the set of edited files."""
        with self._changed_lock:
            changed_paths, self._changed_paths = self._changed_paths, set()
        self._edits.compare(generation, {*changed_paths, *required})
        started = time.monotonic()
        if sweep == "now" or started >= self._next_sweep:
            self._edits.check_all(generation)
            self._last_sweep = ended = time.monotonic()
            self._next_sweep = ended + max(_SWEEP_INTERVAL_S, _SWEEP_BACKOFF_FACTOR * (ended - started))

    def _build_snapshot(self, overlay: _Overlay, required: Sequence[str], hidden: Sequence[str]) -> OverlaySnapshot:
        """Return the overlay snapshot; the previous one if the edited files have not changed."""
        from coderag.ingestion.live.rechunking import Rechunker  # noqa: PLC0415  # only edited files need the parsers

        with pause_gc():
            base = overlay.base
            if overlay.rechunker is None:
                overlay.rechunker = Rechunker(self._root, self._settings, self._dense_model, base, self._disk)
            fresh = overlay.rechunker.build_fresh_files(self._edits, required, hidden)
            state = (fresh.files, fresh.removed)
            if overlay.snapshot is None or overlay.state != state:
                overlay.snapshot, overlay.state = OverlaySnapshot(base, fresh, self._builder()), state
            return overlay.snapshot

    def _take_new_edits(self) -> list[str]:
        """Return the edited files that have not been announced yet."""
        statuses = {
            path: None if candidate is None else get_file_status(candidate)
            for path, candidate in self._edits.edited.items()
        }
        new_edits = [path for path in statuses if path not in self._announced]
        self._announced = statuses
        return sorted(new_edits)

    def _get_ignored(self) -> Set[str]:
        """Return the ignored paths of the last walk, or of a walk for this purpose."""
        if not self._edits.ignored and self._initial_ignored is None:  # a walk finds at least the index folder
            scan_result = scan(self._root, exclude=self._settings.ingestion.exclude)
            self._initial_ignored = frozenset(path for path, _ in scan_result.ignored)
        return self._edits.ignored or self._initial_ignored or frozenset()
