"""Reports of the transfer of indexes to and from object storage."""

from dataclasses import dataclass
from typing import Literal

StorageState = Literal["equal", "behind", "ahead", "diverged", "not published"]


@dataclass(frozen=True, slots=True)
class TransferProgress:
    """Progress of a transfer, in bytes of the index."""

    stage: Literal["uploading", "fetching"]
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class PushReport:
    """Result of publishing a generation.

    Attributes:
        repository: Name of the repository in object storage.
        changed: Whether the published generation is another one now.
        blobs, bytes: Number and size of the distinct blobs of the generation.
        uploaded_blobs, uploaded_bytes: Number and size of those that the store lacked.
    """

    repository: str
    generation: int
    changed: bool
    blobs: int
    bytes: int
    uploaded_blobs: int
    uploaded_bytes: int
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class PullReport:
    """Result of fetching a generation.

    Attributes:
        repository: Name of the repository in object storage.
        changed: Whether the local generation is another one now.
        repaired_files: Number of damaged or missing files of an unchanged generation.
        bytes: Size of the generation.
        fetched_blobs, fetched_bytes: Number and size of the blobs that no local file had.
        pruned_bytes: Size of the deleted files of earlier generations.
    """

    repository: str
    generation: int
    changed: bool
    repaired_files: int
    bytes: int
    fetched_blobs: int
    fetched_bytes: int
    pruned_bytes: int
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class StorageStatus:
    """State of the local index and the published one.

    Attributes:
        place: Address of the repository in object storage.
        state: Comparison of both; ``behind`` has published changes to pull, ``ahead`` has local ones to push, and
            ``diverged`` has both.
        published, local: Numbers of the generations; None without one.
        writer: Machine that published, and the time of its commit; empty if nothing is published.
        bytes: Size of the published generation.
        grace_s: Time that unused objects are kept, in seconds; None if the store is not set up.
    """

    place: str
    state: StorageState
    published: int | None
    local: int | None
    writer: str
    bytes: int
    grace_s: float | None


@dataclass(frozen=True, slots=True)
class CollectReport:
    """Result of a collection of unused objects.

    Attributes:
        manifests, blobs: Number of deleted manifests and blobs.
        bytes: Size of the deleted blobs.
        kept_blobs: Number of blobs that are used, or younger than the grace time.
        dry_run: Whether nothing was deleted.
    """

    manifests: int
    blobs: int
    bytes: int
    kept_blobs: int
    dry_run: bool
    elapsed_s: float
