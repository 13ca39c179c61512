"""Set-up of a store: a probe of conditional writes, the grace time, and the store's clock."""

import json
import secrets
from datetime import datetime, timedelta
from typing import Final

from coderag.errors import ObjectStorageError
from coderag.stores.object_storage.bucket import Bucket
from coderag.stores.object_storage.layout import STORE_FORMAT

_KEY: Final = "store.json"
_TOKEN_BYTES: Final = 8


def load_grace(bucket: Bucket) -> timedelta | None:
    """Load the grace time of a store; None if it was not set up.

    Raises:
        ObjectStorageError: It cannot be read, or has another format.
    """
    stored = bucket.get(_KEY)
    if stored is None:
        return None
    try:
        raw = json.loads(stored[0])
        if raw["format"] != STORE_FORMAT:
            message = f"The store has format {raw['format']}; this version of CodeRAG reads format {STORE_FORMAT}"
            raise ObjectStorageError(message, hint="Update CodeRAG, or use another prefix in storage.url.")
        return timedelta(seconds=float(raw["grace_s"]))
    except (ValueError, KeyError, TypeError) as error:
        message = f"Object {_KEY} is damaged: its {len(stored[0]):,} bytes are not the settings of a store"
        raise ObjectStorageError(message, hint="Delete the object, and publish the index again.") from error


def set_up_store(bucket: Bucket, grace_s: float) -> timedelta:
    """Return the grace time of a store; set it up first if nothing was published to it.

    Args:
        bucket: The bucket.
        grace_s: Grace time of a new store, in seconds.

    Raises:
        ObjectStorageError: The store ignores conditions of writes, or cannot be used.
    """
    grace = load_grace(bucket)
    if grace is None:
        _probe_conditions(bucket)
        bucket.create(_KEY, json.dumps({"format": STORE_FORMAT, "grace_s": grace_s}).encode())
        grace = load_grace(bucket)  # another machine may have been first
    if grace is None:
        raise ObjectStorageError(f"Object {_KEY} is missing although it was written")
    return grace


def read_store_time(bucket: Bucket) -> datetime:
    """Read the clock of the store, which stamps its objects; clocks of machines may be wrong."""
    key = f"clock/{secrets.token_hex(_TOKEN_BYTES)}"
    bucket.put(key, b"")
    marker = bucket.stat(key)
    bucket.delete([key])
    if marker is None:
        raise ObjectStorageError(f"Object {key} is missing although it was written")
    return marker.modified


def _probe_conditions(bucket: Bucket) -> None:
    """Reject a store that ignores ``If-None-Match`` or ``If-Match``: writers would overwrite one another."""
    key = f"probe/{secrets.token_hex(_TOKEN_BYTES)}"
    if not bucket.create(key, b"first"):
        raise ObjectStorageError(f"Object {key} cannot be created")
    try:
        ignored = []
        if bucket.create(key, b"second"):
            ignored.append("If-None-Match")
        stored = bucket.get(key)
        etag = stored[1] if stored else ""
        is_replaced = bucket.replace(key, b"third", etag)
        if not is_replaced or bucket.replace(key, b"fourth", etag):
            ignored.append("If-Match")
    finally:
        bucket.delete([key])
    if ignored:
        message = f"The store does not honour {' and '.join(ignored)}, so writers could overwrite one another"
        raise ObjectStorageError(message, hint="Use a store with conditional writes, or update its server.")
