"""Records of what was published of each repository: by them a run knows which are done."""

import json
from dataclasses import asdict, dataclass
from urllib.parse import quote

from coderag.stores.object_storage.bucket import Bucket

_FOLDER = "cluster"


@dataclass(frozen=True, slots=True)
class PublishedRecord:
    """Record of a published repository.

    Attributes:
        address: Address of the repository.
        commit: The commit; empty for a folder.
        manifest: Hash of the published manifest. Another one in the store's pointer means that others have published.
        lines, chunks: Size of the index.
        seconds: Time that it took when it was read from scratch.
    """

    address: str
    commit: str
    manifest: str
    lines: int
    chunks: int
    seconds: float


def read_record(bucket: Bucket, name: str) -> PublishedRecord | None:
    """Read the record of a repository; None if there is none that can be used.

    Raises:
        ObjectStorageError: The bucket cannot be read.
    """
    stored = bucket.get(_get_key(name))
    if stored is None:
        return None
    try:
        return PublishedRecord(**json.loads(stored[0]))
    except (ValueError, TypeError):  # of another version, or damaged: the repository is looked at again
        return None


def write_record(bucket: Bucket, name: str, record: PublishedRecord) -> None:
    """Write the record of a repository. Raises `ObjectStorageError`."""
    bucket.put(_get_key(name), json.dumps(asdict(record)).encode())


def _get_key(name: str) -> str:
    return f"{_FOLDER}/{quote(name, safe='')}.json"
