"""Index of one repository in object storage: publishing it, fetching it, and keeping the local index current."""

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from coderag.config.sections import StorageSettings
from coderag.errors import (
    IndexLockedError,
    IndexNotFoundError,
    ObjectStorageUnavailableError,
    PublishConflictError,
    StoreError,
)
from coderag.schema.object_storage import (
    CollectReport,
    PullReport,
    PushReport,
    StorageState,
    StorageStatus,
    TransferProgress,
)
from coderag.stores.generation_files import check_files
from coderag.stores.object_storage.local_copy import CopyRecord, LocalCopy
from coderag.stores.pointer import Pointer, read_pointer

if TYPE_CHECKING:
    from coderag.stores.object_storage.layout import RepositoryFolder

_INDEX_ATTEMPTS: Final = 3
"""Runs of indexing before a conflict with other machines is reported."""

_LOCK_TIMEOUT_S: Final = 30.0

_logger = logging.getLogger(__name__)

ReportT = TypeVar("ReportT")
OnProgress = Callable[[TransferProgress], None]


class ObjectIndex:
    """Index of one repository in object storage, for use by several threads.

    Args:
        settings: Settings with the address.
        repository: Name of the repository.
        directory: Directory of the local index.
    """

    def __init__(self, settings: StorageSettings, repository: str, directory: Path) -> None:
        self._settings = settings
        self._repository = repository
        self._local = LocalCopy(directory, f"{settings.endpoint} {settings.url.rstrip('/')} {repository}".strip())
        self._refresh_lock = threading.Lock()
        self._next_refresh = 0.0  # monotonic

    def push(self, *, verify: bool = False, on_progress: OnProgress | None = None) -> PushReport:
        """Publish the local generation. Arguments and errors as `Publisher.run`."""
        from coderag.stores.object_storage.publisher import Publisher  # noqa: PLC0415 - an extra

        publisher = Publisher(self._open_folder(), self._local, self._settings.grace_s, on_progress)
        return publisher.run(verify=verify)

    def pull(self, *, on_progress: OnProgress | None = None, timeout_s: float = _LOCK_TIMEOUT_S) -> PullReport:
        """Make the local index equal to the published generation. Errors as `Fetcher.run`."""
        from coderag.stores.object_storage.fetcher import Fetcher  # noqa: PLC0415 - an extra

        fetcher = Fetcher(self._open_folder(), self._local, self._settings.max_copy_bytes, on_progress)
        return fetcher.run(timeout_s=timeout_s)

    def collect(self, *, dry_run: bool = False) -> CollectReport:
        """Delete what no repository of the store uses. Errors as `collect_unused`."""
        from coderag.stores.object_storage.bucket import Bucket  # noqa: PLC0415 - an extra
        from coderag.stores.object_storage.collector import collect_unused  # noqa: PLC0415

        return collect_unused(Bucket(self._settings), dry_run=dry_run)

    def status(self) -> StorageStatus:
        """Compare the local index with the published generation.

        Raises:
            ObjectStorageError: The store cannot be used.
        """
        from coderag.stores.object_storage.store_setup import load_grace  # noqa: PLC0415 - an extra

        folder = self._open_folder()
        grace, head, local = load_grace(folder.bucket), folder.read_head(), self._read_local_pointer()
        published = folder.read_generation(head.manifest) if head is not None else None
        return StorageStatus(
            place=f"{self._settings.url.rstrip('/')}/{self._repository}",
            state=_compare(local, published.pointer if published else None, self._local.read_record()),
            published=published.pointer.generation if published else None,
            local=local.generation if local else None,
            writer=head.writer if head else "",
            bytes=sum(size for size, *_ in published.pointer.contents.values()) if published else 0,
            grace_s=grace.total_seconds() if grace else None,
        )

    def refresh(self) -> None:
        """Fetch a newer published generation, if it is time to look for one.

        A local index that cannot be compared is used as it is, with a warning: it is complete. One with unpublished
        changes is never replaced.

        Raises:
            ObjectStorageError: There is no local index, and none can be fetched.
        """
        if time.monotonic() < self._next_refresh:
            return
        with self._refresh_lock:
            if time.monotonic() < self._next_refresh:  # another thread has refreshed meanwhile
                return
            self._refresh()
            self._next_refresh = time.monotonic() + self._settings.refresh_s

    def publish_run(self, run: Callable[[], ReportT]) -> ReportT:
        """Run indexing on the newest published generation and publish the result.

        If another machine publishes meanwhile, the run is repeated on its generation.

        Raises:
            PublishConflictError: Other machines published during each attempt.
            ObjectStorageError: The store cannot be used. The local index may be complete; `push` publishes it.
        """
        for attempt in range(1, _INDEX_ATTEMPTS + 1):
            if self._is_behind():
                self.pull()
            report = run()
            try:
                self.push()
            except PublishConflictError:
                if attempt == _INDEX_ATTEMPTS:
                    raise
            else:
                return report
        raise AssertionError

    def _open_folder(self) -> "RepositoryFolder":
        from coderag.stores.object_storage.bucket import Bucket  # noqa: PLC0415 - an extra
        from coderag.stores.object_storage.layout import RepositoryFolder  # noqa: PLC0415

        return RepositoryFolder(Bucket(self._settings), self._repository)

    def _is_behind(self) -> bool:
        """Return whether something is published that the local index does not build on."""
        head, record = self._open_folder().read_head(), self._local.read_record()
        return head is not None and (
            record is None or record.manifest != head.manifest or self._read_local_pointer() is None
        )

    def _refresh(self) -> None:
        local, record = self._read_local_pointer(), self._local.read_record()
        is_copy = local is not None and record is not None and record.generation.pointer.is_same_generation(local)
        if local is not None and not is_copy:
            return  # unpublished changes, or an index that never was a copy
        if local is not None and self._is_intact(local) and self._local.is_checked_since(self._settings.refresh_s):
            return
        try:
            if local is None or not self._is_intact(local) or self._is_behind():
                self.pull()
            self._local.touch_record()
        except IndexNotFoundError:
            if local is None:
                return  # neither here nor there: the caller reports it
            raise
        except (ObjectStorageUnavailableError, IndexLockedError) as error:
            if local is None:
                raise
            _logger.warning("Using generation %s of this machine: %s", local.generation, error)

    def _is_intact(self, local: Pointer) -> bool:
        try:
            check_files(self._local.directory, local, depth="tail")
        except StoreError:
            return False
        return True

    def _read_local_pointer(self) -> Pointer | None:
        try:
            return read_pointer(self._local.directory)
        except StoreError:  # damaged, or in another format
            return None


def _compare(local: Pointer | None, published: Pointer | None, record: CopyRecord | None) -> StorageState:
    if published is None:
        return "not published"
    if local is None:
        return "behind"
    if local.is_same_generation(published):
        return "equal"
    is_changed_here = record is None or not record.generation.pointer.is_same_generation(local)
    is_changed_there = record is None or not record.generation.pointer.is_same_generation(published)
    return "diverged" if is_changed_here and is_changed_there else "ahead" if is_changed_here else "behind"
