"""Synchronisation of a source: changes page by page, failed items again, deletions by a complete listing.

Every page is one transaction with its checkpoint, so a run that ends early, for whatever reason, loses nothing. Each run ends
with a record that says what was not synchronised, and why.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

from coderag.errors import CodeRAGError, SourceError
from coderag.schema.mirrored_items import PageChanges, RunOutcome, SourceRun
from coderag.sources.mirror import ItemMirror
from coderag.sources.page_guard import PageGuard
from coderag.sources.prepared_items import find_id_problem
from coderag.sources.protocol import Source
from coderag.sources.rendering import flatten_line
from coderag.sources.sync_lock import lock_mirror

SyncStage = Literal["changes", "failures", "deletions"]

_BATCH: Final = 100  # items of a request that reads some again
_MAX_LATE_ITEMS: Final = 1_000  # a run reads so many listed items that no page had

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SyncProgress:
    """Progress of a run.

    Attributes:
        done: Items read in this stage.
        total: Number that the source states; None if it does not, or less than were read.
    """

    source: str
    stage: SyncStage
    done: int
    total: int | None = None


@dataclass(frozen=True, slots=True)
class SyncOptions:
    """Options of a run.

    Attributes:
        full: Read everything, not only changes.
        deletion_interval: Time after which all ids are listed again, to find deletions.
        forces_deletions: Delete what is not listed even if that is more than half of all items.
        on_progress: Called with the progress.
        is_cancelled: Asked between pages; True ends the run.
    """

    full: bool = False
    deletion_interval: timedelta = timedelta(0)
    forces_deletions: bool = False
    on_progress: Callable[[SyncProgress], None] | None = None
    is_cancelled: Callable[[], bool] = lambda: False


class _CancelledError(Exception):
    """The caller has ended the run."""


def synchronize(name: str, source: Source, mirror: ItemMirror, options: SyncOptions | None = None) -> SourceRun:
    """Bring the mirror of one source up to date.

    Errors of the source end the run and are its outcome, they are not raised: what was read before them is kept.

    Args:
        name: Name of the source.
        source: Its connector; the caller closes it.
        mirror: The mirror.
        options: Options of the run.

    Returns:
        The record of the run, as it is stored.

    Raises:
        IndexLockedError: Another process synchronises.
        StoreError: The mirror cannot be written; it is as it was after the last page.
    """
    return _Synchronization(name, source, mirror, options or SyncOptions()).run()


def record_failure(name: str, mirror: ItemMirror, error: CodeRAGError) -> SourceRun:
    """Record that a source could not even be opened; return the record.

    Raises:
        IndexLockedError: Another process synchronises.
        StoreError: The mirror cannot be written.
    """
    now = datetime.now(UTC)
    run = SourceRun(name, now, now, "failed", _format_error(error))
    with lock_mirror(mirror.folder), mirror.record_run(run):
        return run


class _Synchronization:
    def __init__(self, name: str, source: Source, mirror: ItemMirror, options: SyncOptions) -> None:
        self._name = name
        self._source = source
        self._mirror = mirror
        self._options = options
        self._guard = PageGuard()
        self._changes = PageChanges()
        self._notes: list[str] = []
        self._started = datetime.now(UTC)
        self._is_incomplete = False

    def run(self) -> SourceRun:
        with lock_mirror(self._mirror.folder):
            self._notes += self._mirror.prepare()
            start = SourceRun(self._name, self._started, None, "incomplete", "the run was killed")
            with self._mirror.record_run(start) as states:
                try:
                    outcome, message = self._run_stages()
                except KeyboardInterrupt:
                    states.append(self._describe("cancelled", "it was interrupted"))
                    raise
                states.append(self._describe(outcome, message))
            return states[-1]

    def _run_stages(self) -> tuple[RunOutcome, str]:
        try:
            self._read_changes()
            self._retry_failures()
            if not self._is_incomplete and self._is_listing_due():
                self._find_deletions()
        except _CancelledError:
            return "cancelled", "it was cancelled"
        except SourceError as error:
            return "failed", _format_error(error)
        except CodeRAGError:
            raise
        except Exception as error:
            # A connector that trips over an unexpected reply must not take the search with it.
            _logger.exception("internal error in the source %s", self._name)
            return "failed", flatten_line(f"internal error: {type(error).__name__}: {error}")
        return ("incomplete", self._notes[-1]) if self._is_incomplete else ("complete", "")

    def _describe(self, outcome: RunOutcome, message: str) -> SourceRun:
        return SourceRun(
            self._name,
            self._started,
            datetime.now(UTC),
            outcome,
            message,
            tuple(self._notes),
            self._guard.pages,
            self._changes,
        )

    def _read_changes(self) -> None:
        checkpoint = None if self._options.full else self._mirror.read_checkpoint(self._name)
        pages = self._source.read_changes(checkpoint)
        announced: int | None = None
        self._report("changes", 0)
        try:
            for page in pages:
                if problem := self._guard.find_problem(page):
                    self._note_incomplete(f"{problem}; the rest is read next time")
                    return
                self._changes += self._mirror.apply_page(self._name, page)
                announced = page.total if page.total is not None else announced
                self._report("changes", self._guard.items, announced)
        finally:
            close = getattr(pages, "close", None)
            if close is not None:
                close()
        if announced is not None and announced > self._guard.items:
            self._notes.append(f"the source announced {announced:,} items and sent {self._guard.items:,}")

    def _retry_failures(self) -> None:
        """Read items again that failed in earlier runs."""
        failures = self._mirror.list_failures(self._name)
        ids = [
            failure.id for failure in failures if failure.last_failed < self._started and not _is_unreadable(failure.id)
        ]
        try:
            self._read_items(ids, "failures")
        except SourceError as error:
            self._note_incomplete(f"items that failed before were not read again: {_format_error(error)}")

    def _find_deletions(self) -> None:
        """Delete what a complete listing lacks, and read what no page had."""
        try:
            listed = self._list_ids()
        except SourceError as error:
            self._note_incomplete(f"deletions were not looked for: {_format_error(error)}")
            return
        if listed is None:
            return
        stored = self._mirror.list_ids(self._name)
        failed = {failure.id for failure in self._mirror.list_failures(self._name) if not _is_unreadable(failure.id)}
        gone = [item_id for item_id in {*stored, *failed} if item_id not in listed]
        gone_items = len(set(gone).intersection(stored))
        if gone_items * 2 > len(stored) and not self._options.forces_deletions:
            what = "none" if not listed else f"only {len(stored) - gone_items:,}"
            self._note_incomplete(
                f"the source lists {what} of {len(stored):,} items, so nothing was deleted;"
                f" if that is right, run `coderag sources sync {self._name} --delete`"
            )
            return
        self._changes += PageChanges(deleted=self._mirror.remove(self._name, gone))
        late = sorted(listed.difference(stored, failed))
        if len(late) > _MAX_LATE_ITEMS:
            self._notes.append(f"{len(late) - _MAX_LATE_ITEMS:,} listed items are read by later runs")
        self._read_items(late[:_MAX_LATE_ITEMS], "deletions")
        self._mirror.record_listing(self._name)

    def _list_ids(self) -> set[str] | None:
        listing = self._source.list_ids()
        if listing is None:
            return None
        listed: set[str] = set()
        for item_id in listing:
            listed.add(item_id)
            if len(listed) % _BATCH == 0:
                self._report("deletions", len(listed))
        return listed

    def _is_listing_due(self) -> bool:
        last = self._mirror.read_listing_time(self._name)
        is_old = last is None or datetime.now(UTC) - last >= self._options.deletion_interval
        return is_old or self._options.full or self._options.forces_deletions

    def _read_items(self, ids: Sequence[str], stage: SyncStage) -> None:
        for start in range(0, len(ids), _BATCH):
            batch = ids[start : start + _BATCH]
            page = self._source.read_items(batch)
            self._changes += self._mirror.apply_items(self._name, page)
            self._report(stage, start + len(batch), len(ids))

    def _report(self, stage: SyncStage, done: int, total: int | None = None) -> None:
        if self._options.is_cancelled():
            raise _CancelledError
        if self._options.on_progress is not None:
            honest = total if total is not None and total >= done else None
            self._options.on_progress(SyncProgress(self._name, stage, done, honest))

    def _note_incomplete(self, note: str) -> None:
        self._notes.append(note)
        self._is_incomplete = True


def _format_error(error: CodeRAGError) -> str:
    return flatten_line(" ".join(filter(None, (f"{error}.", error.hint))))


def _is_unreadable(item_id: str) -> bool:
    """Return whether a failure stands for an item whose id could not be stored."""
    return bool(find_id_problem(item_id)) or item_id.startswith(("'", '"'))
