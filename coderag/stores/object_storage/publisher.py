"""Publishing of the local generation: blobs first, then the manifest, then the pointer by a conditional write.

A blob that exists is used only if it cannot be collected before the pointer is replaced: it belongs to the generation that
is replaced, or it is younger than half the grace time. Ages are by the store's clock, and the duration of the run by a
monotonic one, so wrong clocks cannot lose data.
"""

import platform
import secrets
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from coderag.errors import IndexNotFoundError, ObjectStorageUnavailableError, PublishConflictError, StoreError
from coderag.schema.object_storage import PushReport, TransferProgress
from coderag.stores.object_storage.blobs import hash_blob, split_blobs
from coderag.stores.object_storage.layout import Blob, Head, PublishedGeneration, RepositoryFolder
from coderag.stores.object_storage.local_copy import CopyRecord, LocalCopy
from coderag.stores.object_storage.store_setup import read_store_time, set_up_store
from coderag.stores.pointer import Pointer, read_pointer

TRANSFER_THREADS: Final = 16
BATCH_BLOBS: Final = 64
"""Blobs in memory at once; at most 32 MB."""

_SUFFIX_BYTES: Final = 4

OnProgress = Callable[[TransferProgress], None]


class Publisher:
    """One publishing of the local generation.

    Args:
        folder: Folder of the repository in object storage.
        local: The local index.
        grace_s: Grace time of a store that is not set up yet, in seconds.
        on_progress: Called after each batch.
    """

    def __init__(
        self, folder: RepositoryFolder, local: LocalCopy, grace_s: float, on_progress: OnProgress | None = None
    ) -> None:
        self._folder = folder
        self._bucket = folder.bucket
        self._local = local
        self._grace_s = grace_s
        self._on_progress = on_progress
        self._blobs: dict[str, Blob] = {}  # those that the store is known to keep, by digest
        self._uploaded_blobs = self._uploaded_bytes = 0

    def run(self, *, verify: bool = False) -> PushReport:
        """Publish the local generation.

        Args:
            verify: Check that all blobs exist in full, and upload those that do not.

        Raises:
            IndexNotFoundError: Nothing is indexed.
            PublishConflictError: Another machine has published a generation that this one does not build on.
            ObjectStorageError: The store cannot be used; what was published before is intact.
            StoreError: The local index is damaged.
        """
        started = time.monotonic()
        pointer = self._read_pointer()
        self._grace = set_up_store(self._bucket, self._grace_s)
        self._store_time: datetime | None = None
        head = self._folder.read_head()
        base = self._folder.read_generation(head.manifest) if head is not None else None
        record = self._local.read_record()
        if base is not None and base.pointer.is_same_generation(pointer) and not verify:
            return self._finish(head, base, started, is_changed=False)
        if base is not None and not base.pointer.is_same_generation(pointer):
            self._require_base(head, base, record, pointer)
        self._blobs = {blob.digest: blob for blob in base.collect_blobs()} if base is not None else {}
        if verify:
            self._drop_damaged_blobs()
        generation = self._store_files(pointer, record, head)
        if base is not None and base.pointer.is_same_generation(pointer) and base.files == generation.files:
            return self._finish(head, base, started, is_changed=False)
        manifest = self._folder.write_generation(generation)
        if time.monotonic() - started > (self._grace / 2).total_seconds():
            message = f"Publishing took longer than half the grace time of the store ({self._grace})"
            raise ObjectStorageUnavailableError(message, hint="Push again; what was uploaded is used.")
        writer = f"{platform.node()} at {pointer.created}"
        if not self._folder.write_head(manifest, writer, head):
            raise self._make_conflict(pointer)
        return self._finish(Head(manifest, "", writer), generation, started, is_changed=True)

    def _read_pointer(self) -> Pointer:
        pointer = read_pointer(self._local.directory)
        if pointer is None:
            message = f"There is no index in {self._local.directory} to publish"
            raise IndexNotFoundError(message, hint="Run `coderag index` first.")
        if not pointer.contents:
            message = f"The index in {self._local.directory} has no checksums of its files"
            raise StoreError(message, hint="Run `coderag index --full` first.")
        return replace(pointer, retained=())

    def _require_base(
        self, head: Head | None, base: PublishedGeneration, record: CopyRecord | None, pointer: Pointer
    ) -> None:
        """Reject a generation that does not build on the published one."""
        if head is not None and (record is None or record.manifest != head.manifest):
            raise self._make_conflict(pointer, base, head)

    def _make_conflict(
        self, pointer: Pointer, base: PublishedGeneration | None = None, head: Head | None = None
    ) -> PublishConflictError:
        head = head or self._folder.read_head()
        if head is not None and base is None:
            base = self._folder.read_generation(head.manifest)
        current = f"generation {base.pointer.generation} by {head.writer}" if base and head else "another generation"
        message = f"The store has {current}, which generation {pointer.generation} of this machine does not build on"
        return PublishConflictError(message, hint="Run `coderag index` again: it builds on the published generation.")

    def _drop_damaged_blobs(self) -> None:
        """Forget published blobs that are missing or incomplete, so that they are uploaded again."""
        with ThreadPoolExecutor(TRANSFER_THREADS) as threads:
            blobs = list(self._blobs.values())
            infos = threads.map(lambda blob: self._bucket.stat(blob.key), blobs)
            for blob, info in zip(blobs, infos, strict=True):
                if info is None or info.size != blob.size:
                    del self._blobs[blob.digest]

    def _store_files(self, pointer: Pointer, record: CopyRecord | None, head: Head | None) -> PublishedGeneration:
        """Upload what the store lacks, and return the manifest."""
        known = _find_unchanged_files(pointer, record)
        files: dict[str, tuple[Blob, ...]] = {}
        total = sum(size for size, *_ in pointer.contents.values())
        done = 0
        with ThreadPoolExecutor(TRANSFER_THREADS) as threads:
            for name, (size, *_) in sorted(pointer.contents.items()):
                digests = known.get(name)
                if digests is not None and all(digest in self._blobs for digest in digests):
                    files[name] = tuple(self._blobs[digest] for digest in digests)
                else:
                    blobs: list[Blob] = []
                    contents = split_blobs(self._local.read_file(name, pointer))
                    while batch := list(islice(contents, BATCH_BLOBS)):
                        blobs += self._store_batch(threads, batch)
                        self._report(done + sum(blob.size for blob in blobs), total)
                    files[name] = tuple(blobs)
                done += size
                self._report(done, total)
        return PublishedGeneration(pointer, files, head.manifest if head is not None else "")

    def _store_batch(self, threads: ThreadPoolExecutor, batch: list[bytes]) -> list[Blob]:
        """Store the blobs that the store lacks; return all."""
        digests = list(threads.map(hash_blob, batch))
        missing = {digest: content for digest, content in zip(digests, batch, strict=True) if digest not in self._blobs}
        for blob in threads.map(self._store_blob, missing, missing.values()):
            self._blobs[blob.digest] = blob
        return [self._blobs[digest] for digest in digests]

    def _store_blob(self, digest: str, content: bytes) -> Blob:
        blob = Blob(digest, len(content))
        info = self._bucket.stat(blob.key)
        if info is None:
            if self._create_blob(blob, content):
                return blob
            info = self._bucket.stat(blob.key)  # another writer was first
        if info is not None and self._get_store_time() - info.modified < self._grace / 2:
            if info.size != blob.size:  # a torn upload
                self._bucket.put(blob.key, content)
            return blob
        # A collection may delete the old object at any time: never rely on it, and never write to its key.
        fresh = replace(blob, name=f"{digest}.{secrets.token_hex(_SUFFIX_BYTES)}")
        self._create_blob(fresh, content)
        return fresh

    def _create_blob(self, blob: Blob, content: bytes) -> bool:
        is_created = self._bucket.create(blob.key, content)
        self._uploaded_blobs += is_created
        self._uploaded_bytes += is_created * len(content)
        return is_created

    def _get_store_time(self) -> datetime:
        if self._store_time is None:
            self._store_time = read_store_time(self._bucket) + timedelta(seconds=1)  # times may be whole seconds
        return self._store_time

    def _report(self, done: int, total: int) -> None:
        if self._on_progress is not None:
            self._on_progress(TransferProgress("uploading", done, total))

    def _finish(
        self, head: Head | None, generation: PublishedGeneration, started: float, *, is_changed: bool
    ) -> PushReport:
        if head is not None:
            self._local.write_record(head.manifest, generation)
        size = sum(blob.size for blob in generation.collect_blobs())
        return PushReport(
            repository=self._folder.name,
            generation=generation.pointer.generation,
            changed=is_changed,
            blobs=len(generation.collect_blobs()),
            bytes=size,
            uploaded_blobs=self._uploaded_blobs,
            uploaded_bytes=self._uploaded_bytes,
            elapsed_s=time.monotonic() - started,
        )


def _find_unchanged_files(pointer: Pointer, record: CopyRecord | None) -> Mapping[str, list[str]]:
    """Return the digests of the blobs of files that were published before, by name."""
    if record is None:
        return {}
    contents = record.generation.pointer.contents
    return {
        name: [blob.digest for blob in blobs]
        for name, blobs in record.generation.files.items()
        if tuple(contents.get(name, ())) == tuple(pointer.contents.get(name, ())) and len(contents.get(name, ())) > 2
    }
