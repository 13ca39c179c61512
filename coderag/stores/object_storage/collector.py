"""Collection of manifests and blobs that no published generation uses.

An object is deleted only if it is older than the grace time by the store's clock. A writer uses existing blobs only if they
are younger than half of it, or belong to the generation that it replaces; so a deleted blob can never come into use again,
however long the collection takes.
"""

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from coderag.errors import ObjectStorageError
from coderag.schema.object_storage import CollectReport
from coderag.stores.object_storage.bucket import Bucket, ObjectInfo
from coderag.stores.object_storage.layout import (
    BLOB_FOLDER,
    MARKER_FOLDERS,
    REPOSITORY_FOLDER,
    PublishedGeneration,
    parse_head,
)
from coderag.stores.object_storage.publisher import TRANSFER_THREADS
from coderag.stores.object_storage.store_setup import load_grace, read_store_time

_ATTEMPTS: Final = 3
_BATCH_KEYS: Final = 1000  # keys in one request of deletion


@dataclass(frozen=True, slots=True)
class _Manifest:
    key: str
    hash: str
    modified: datetime
    generation: PublishedGeneration


def collect_unused(bucket: Bucket, *, dry_run: bool = False) -> CollectReport:
    """Delete what no repository of a store uses and what is older than the grace time.

    Args:
        bucket: The bucket.
        dry_run: Only count.

    Raises:
        ObjectStorageError: The store is not set up or cannot be used, or a manifest is damaged; nothing is deleted then.
    """
    started = time.monotonic()
    grace = load_grace(bucket)
    if grace is None:
        raise ObjectStorageError("Nothing was published to this store", hint="Check storage.url.")
    now = read_store_time(bucket)
    # The blobs are listed before the manifests: what a later commit uses is young, or used by a manifest that is read.
    blobs = list(bucket.list(BLOB_FOLDER))
    manifests, current = _read_consistent_manifests(bucket)
    live = _find_live(manifests, current, now, grace)
    used = {blob.key for manifest in live for blob in manifest.generation.collect_blobs()}
    unused = [blob for blob in blobs if blob.key not in used and now - blob.modified > grace]
    live_keys = {manifest.key for manifest in live}
    dead_keys = [manifest.key for manifest in manifests if manifest.key not in live_keys]
    if not dry_run:
        # Manifests go first: an interrupted collection leaves blobs too many, never too few.
        _delete(bucket, dead_keys)
        _delete(bucket, [blob.key for blob in unused])
        for folder in MARKER_FOLDERS:
            _delete(bucket, [marker.key for marker in bucket.list(folder) if now - marker.modified > grace])
    return CollectReport(
        manifests=len(dead_keys),
        blobs=len(unused),
        bytes=sum(blob.size for blob in unused),
        kept_blobs=len(blobs) - len(unused),
        dry_run=dry_run,
        elapsed_s=time.monotonic() - started,
    )


def _read_consistent_manifests(bucket: Bucket) -> tuple[list[_Manifest], set[str]]:
    """Read all manifests, and the hashes of the current ones, which are among them."""
    for _ in range(_ATTEMPTS):
        manifests, current = _read_manifests(bucket)
        missing = current - {manifest.hash for manifest in manifests}
        if not missing:
            return manifests, current  # else one was committed meanwhile
    message = f"The current manifest {min(missing)} of a repository is missing"
    raise ObjectStorageError(message, hint="Publish that repository again; nothing was deleted.")


def _read_manifests(bucket: Bucket) -> tuple[list[_Manifest], set[str]]:
    objects = list(bucket.list(REPOSITORY_FOLDER))
    infos = [info for info in objects if "/generations/" in info.key]
    with ThreadPoolExecutor(TRANSFER_THREADS) as threads:
        contents = list(threads.map(lambda info: bucket.get(info.key), infos))
        head_keys = [info.key for info in objects if info.key.endswith("/CURRENT")]
        heads = list(threads.map(bucket.get, head_keys))
    manifests = [
        _parse_manifest(info, content[0]) for info, content in zip(infos, contents, strict=True) if content is not None
    ]
    current = {parse_head(key, head[0])[0] for key, head in zip(head_keys, heads, strict=True) if head is not None}
    return manifests, current


def _parse_manifest(info: ObjectInfo, content: bytes) -> _Manifest:
    try:
        generation = PublishedGeneration.from_json(content)
    except ValueError as error:
        message = f"Object {info.key} is damaged: {error}"
        raise ObjectStorageError(message, hint="Publish the repository again, or delete the object.") from error
    return _Manifest(info.key, info.key.rpartition("/")[2].removesuffix(".json"), info.modified, generation)


def _find_live(manifests: Sequence[_Manifest], current: set[str], now: datetime, grace: timedelta) -> list[_Manifest]:
    """Return the manifests that are current, may become so, or were replaced so recently that a reader may use them."""
    young = [manifest for manifest in manifests if now - manifest.modified <= grace]
    # A manifest is written at most half the grace time before it replaces another.
    recent = [manifest for manifest in manifests if now - manifest.modified <= grace * 3 / 2]
    live = current | {manifest.hash for manifest in young} | {manifest.generation.previous for manifest in recent}
    return [manifest for manifest in manifests if manifest.hash in live]


def _delete(bucket: Bucket, keys: Iterable[str]) -> None:
    remaining = iter(keys)
    while batch := list(islice(remaining, _BATCH_KEYS)):
        bucket.delete(batch)
