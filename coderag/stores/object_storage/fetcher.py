"""Fetching of the published generation into the local index."""

import os
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Final

from coderag.errors import IndexNotFoundError, ObjectStorageError, StoreError
from coderag.schema.object_storage import PullReport, TransferProgress
from coderag.stores.disk import create_index_directory, map_storage_errors, sync_all
from coderag.stores.object_storage.blobs import hash_blob
from coderag.stores.object_storage.layout import Blob, Head, PublishedGeneration, RepositoryFolder
from coderag.stores.object_storage.local_copy import LocalCopy
from coderag.stores.object_storage.publisher import BATCH_BLOBS, TRANSFER_THREADS, OnProgress
from coderag.stores.pointer import Pointer, read_pointer, write_pointer
from coderag.stores.retention import list_retained
from coderag.stores.writer_lock import WriterLock

_ATTEMPTS: Final = 3
"""Attempts at a generation whose objects disappear: it was replaced and collected meanwhile."""


class Fetcher:
    """One fetching of the published generation.

    Args:
        folder: Folder of the repository in object storage.
        local: The local index.
        max_bytes: Size of the local copy, in bytes; files of earlier generations are deleted beyond it.
        on_progress: Called after each batch.
    """

    def __init__(
        self, folder: RepositoryFolder, local: LocalCopy, max_bytes: int, on_progress: OnProgress | None = None
    ) -> None:
        self._folder = folder
        self._local = local
        self._max_bytes = max_bytes
        self._on_progress = on_progress
        self._sources: Mapping[str, tuple[Path, int]] = {}
        self._fetched_blobs = self._fetched_bytes = self._done_bytes = 0

    def run(self, *, timeout_s: float = 0) -> PullReport:
        """Make the local index equal to the published generation; every local file is verified.

        An unpublished local generation is replaced.

        Args:
            timeout_s: Seconds to wait for a local writer.

        Raises:
            IndexNotFoundError: Nothing is published.
            IndexLockedError: The local index is being written.
            ObjectStorageError: The store cannot be used, or an object is missing or damaged.
            StoreError: The local index cannot be written.
        """
        started = time.monotonic()
        head = self._require_head()
        with map_storage_errors(f"make {self._local.root}"):
            create_index_directory(self._local.directory)
            self._local.root.mkdir(parents=True, exist_ok=True)
        lock = WriterLock(self._local.directory, timeout_s=timeout_s, is_brief=False)
        lock.acquire()
        try:
            for attempt in range(1, _ATTEMPTS + 1):
                try:
                    return self._fetch(head, started)
                except ObjectStorageError:
                    previous, head = head, self._require_head()
                    if head.manifest == previous.manifest or attempt == _ATTEMPTS:
                        raise
            raise AssertionError
        finally:
            lock.release()

    def _require_head(self) -> Head:
        head = self._folder.read_head()
        if head is None:
            message = f"Object storage has no index of {self._folder.name}"
            raise IndexNotFoundError(message, hint="Run `coderag index`, which publishes it.")
        return head

    def _fetch(self, head: Head, started: float) -> PullReport:
        generation = self._folder.read_generation(head.manifest)
        local_pointer = self._read_local_pointer()
        is_same = local_pointer is not None and local_pointer.is_same_generation(generation.pointer)
        missing = {
            name: blobs for name, blobs in sorted(generation.files.items()) if not self._local.has_file(name, blobs)
        }
        if missing:
            self._install(missing, generation, local_pointer)
        if not is_same:
            write_pointer(self._local.directory, replace(generation.pointer, retained=list_retained(local_pointer)))
        self._local.write_record(head.manifest, generation)
        pruned = self._local.prune(generation.files, self._max_bytes)
        return PullReport(
            repository=self._folder.name,
            generation=generation.pointer.generation,
            changed=not is_same,
            repaired_files=len(missing) if is_same else 0,
            bytes=sum(size for size, *_ in generation.pointer.contents.values()),
            fetched_blobs=self._fetched_blobs,
            fetched_bytes=self._fetched_bytes,
            pruned_bytes=pruned,
            elapsed_s=time.monotonic() - started,
        )

    def _read_local_pointer(self) -> Pointer | None:
        try:
            return read_pointer(self._local.directory)
        except StoreError:  # damaged or in another format: it is replaced
            return None

    def _install(
        self, missing: Mapping[str, tuple[Blob, ...]], generation: PublishedGeneration, local: Pointer | None
    ) -> None:
        """Assemble missing files in a folder of their own, flush them to disk, and move them into place."""
        self._sources = self._find_local_blobs()
        total = sum(blob.size for blobs in missing.values() for blob in blobs)
        staging = self._local.make_staging_folder()
        try:
            with ThreadPoolExecutor(TRANSFER_THREADS) as threads, map_storage_errors(f"write {staging}"):
                staged = [staging / str(number) for number in range(len(missing))]
                for path, blobs in zip(staged, missing.values(), strict=True):
                    self._assemble(threads, path, blobs, total)
            with map_storage_errors(f"write {self._local.root}"):
                sync_all(staged)
                is_other = local is not None and not local.is_same_generation(generation.pointer)
                if is_other and local is not None and local.contents.keys() & missing.keys():
                    # Another history used the same names: no reader may find its pointer over these files.
                    self._local.remove_pointer()
                self._place(dict(zip(missing, staged, strict=True)))
        finally:
            for path in staging.glob("*"):
                path.unlink(missing_ok=True)
            staging.rmdir()

    def _place(self, staged: Mapping[str, Path]) -> None:
        folders = set()
        for name, path in staged.items():
            target = self._local.root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, target)  # noqa: PTH105 - replaces on Windows, too
            folders |= {target.parent, target.parent.parent}
        sync_all(folders)

    def _assemble(self, threads: ThreadPoolExecutor, path: Path, blobs: tuple[Blob, ...], total: int) -> None:
        with path.open("wb") as file:
            for start in range(0, len(blobs), BATCH_BLOBS):
                for content in threads.map(self._load_blob, blobs[start : start + BATCH_BLOBS]):
                    file.write(content)
                    self._done_bytes += len(content)
                if self._on_progress is not None:
                    self._on_progress(TransferProgress("fetching", self._done_bytes, total))

    def _load_blob(self, blob: Blob) -> bytes:
        """Return the content of a blob, from a local file if one has it. Both are verified."""
        if (source := self._sources.get(blob.digest)) is not None:
            content = _read_slice(*source, blob.size)
            if hash_blob(content) == blob.digest:
                return content
        content, problem = b"", ""
        for _ in range(2):  # a transfer may have been damaged
            stored = self._folder.bucket.get(blob.key)
            if stored is None:
                problem = "is missing"
                break
            content = stored[0]
            if hash_blob(content) == blob.digest:
                self._fetched_blobs += 1
                self._fetched_bytes += len(content)
                return content
            problem = f"is damaged: it has {len(content):,} bytes of another content, not {blob.size:,}"
        hint = "Run `coderag storage push --verify` where the index is complete."
        raise ObjectStorageError(f"Object {blob.key} {problem}", hint=hint)

    def _find_local_blobs(self) -> dict[str, tuple[Path, int]]:
        """Find the blobs of files that were copied before: file and offset of each."""
        record = self._local.read_record()
        sources: dict[str, tuple[Path, int]] = {}
        for name, blobs in record.generation.files.items() if record is not None else ():
            path, offset = self._local.root / name, 0
            if path.exists():
                for blob in blobs:
                    sources[blob.digest] = (path, offset)
                    offset += blob.size
        return sources


def _read_slice(path: Path, offset: int, size: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(size)
    except OSError:
        return b""
