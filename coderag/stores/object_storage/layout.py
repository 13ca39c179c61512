"""Layout of object storage: keys, the pointer of a repository, and manifests of its generations.

::

    store.json                                 format and grace time, written once
    blobs/ab/abcdef…                           content, named by its SHA-256
    repositories/NAME/v1/CURRENT               pointer, replaced by conditional writes only
    repositories/NAME/v1/generations/HASH.json manifests, named by their SHA-256
    clock/…, probe/…                           short-lived markers
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import quote

from coderag.errors import ObjectStorageError
from coderag.stores.object_storage.bucket import Bucket
from coderag.stores.pointer import FORMAT_DIRECTORY, Pointer, format_pointer, parse_pointer

BLOB_FOLDER: Final = "blobs"
REPOSITORY_FOLDER: Final = "repositories"
MARKER_FOLDERS: Final = ("clock", "probe")
STORE_FORMAT: Final = 1

_match_blob_key = re.compile(r"[0-9a-f]{64}(\.[0-9a-f]{8})?").fullmatch
_match_file_name = re.compile(r"(lance|lexical-\d+)/[^\\:]+").fullmatch


@dataclass(frozen=True, slots=True)
class Blob:
    """Blob of a file.

    Attributes:
        name: SHA-256 in hexadecimal digits; with a suffix if an unused older object had that name.
        size: Size in bytes.
    """

    name: str
    size: int

    @property
    def digest(self) -> str:
        """SHA-256 of the content."""
        return self.name[:64]

    @property
    def key(self) -> str:
        """Key of the object."""
        return f"{BLOB_FOLDER}/{self.name[:2]}/{self.name}"


@dataclass(frozen=True, slots=True)
class PublishedGeneration:
    """Manifest of a generation: its pointer and the blobs of its files.

    Attributes:
        pointer: Pointer of the generation, without retained ones.
        files: Blobs of each file, by path in the format's directory.
        previous: Hash of the manifest that it replaced; empty for the first.
    """

    pointer: Pointer
    files: Mapping[str, tuple[Blob, ...]]
    previous: str = ""

    def collect_blobs(self) -> "set[Blob]":
        """Return all blobs."""
        return {blob for blobs in self.files.values() for blob in blobs}

    def to_json(self) -> bytes:
        """Format the manifest."""
        files = {name: [[blob.name, blob.size] for blob in blobs] for name, blobs in sorted(self.files.items())}
        pointer = format_pointer(self.pointer).decode()
        raw = {"format": STORE_FORMAT, "previous": self.previous, "pointer": pointer, "files": files}
        return json.dumps(raw).encode()

    @staticmethod
    def from_json(content: bytes) -> "PublishedGeneration":
        """Parse a manifest.

        Raises:
            ValueError: It is invalid, or a name would leave the index's directory.
        """
        try:
            raw = json.loads(content)
            files = {
                _check_file_name(name): tuple(Blob(_check_blob_name(blob), int(size)) for blob, size in blobs)
                for name, blobs in raw["files"].items()
            }
            pointer = parse_pointer(raw["pointer"].encode())
            previous = str(raw["previous"])
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(repr(error)) from error
        if pointer.contents.keys() != files.keys():
            message = "its files are not those of its pointer"
            raise ValueError(message)
        return PublishedGeneration(pointer, files, previous)


@dataclass(frozen=True, slots=True)
class Head:
    """Pointer of a repository.

    Attributes:
        manifest: Hash of the manifest of the current generation.
        etag: ETag of the pointer.
        writer: Machine that published the generation.
    """

    manifest: str
    etag: str
    writer: str


class RepositoryFolder:
    """Folder of one repository in a bucket.

    Args:
        bucket: The bucket.
        name: Name of the repository.
    """

    def __init__(self, bucket: Bucket, name: str) -> None:
        self.bucket = bucket
        self.name = name
        self._folder = f"{REPOSITORY_FOLDER}/{quote(name, safe='')}/{FORMAT_DIRECTORY}"
        self.head_key = f"{self._folder}/CURRENT"

    def read_head(self) -> Head | None:
        """Read the pointer; None if nothing was published.

        Raises:
            ObjectStorageError: It cannot be read or is damaged.
        """
        stored = self.bucket.get(self.head_key)
        if stored is None:
            return None
        content, etag = stored
        manifest, writer = parse_head(self.head_key, content)
        return Head(manifest, etag, writer)

    def write_head(self, manifest: str, writer: str, base: Head | None) -> bool:
        """Replace the pointer if it is still `base`; return whether this call or a repetition of it did."""
        content = json.dumps({"format": STORE_FORMAT, "manifest": manifest, "writer": writer}).encode()
        try:
            if base is None:
                is_written = self.bucket.create(self.head_key, content)
            else:
                is_written = self.bucket.replace(self.head_key, content, base.etag)
        except ObjectStorageError:
            # The reply may be lost although the store has written.
            if (current := self.read_head()) is None or current.manifest != manifest:
                raise
            return True
        if is_written:
            return True
        current = self.read_head()  # a repeated request fails because the first has succeeded
        return current is not None and current.manifest == manifest

    def format_manifest_key(self, manifest: str) -> str:
        """Return the key of a manifest."""
        return f"{self._folder}/generations/{manifest}.json"

    def read_generation(self, manifest: str) -> PublishedGeneration:
        """Read a manifest.

        Raises:
            ObjectStorageError: It is missing or damaged.
        """
        key = self.format_manifest_key(manifest)
        stored = self.bucket.get(key)
        if stored is None:
            raise ObjectStorageError(f"Object {key} is missing", hint="Publish the index again.")
        if hashlib.sha256(stored[0]).hexdigest() != manifest:
            message = f"Object {key} is damaged: its {len(stored[0]):,} bytes have another hash"
            raise ObjectStorageError(message, hint="Delete the object and publish the index again.")
        try:
            return PublishedGeneration.from_json(stored[0])
        except ValueError as error:
            raise ObjectStorageError(f"Object {key} is not a manifest: {error}") from error

    def write_generation(self, generation: PublishedGeneration) -> str:
        """Write a manifest and return its hash."""
        content = generation.to_json()
        manifest = hashlib.sha256(content).hexdigest()
        self.bucket.put(self.format_manifest_key(manifest), content)
        return manifest


def parse_head(key: str, content: bytes) -> tuple[str, str]:
    """Parse a pointer and return the hash of the manifest and the writer. Raises `ObjectStorageError`."""
    try:
        raw: dict[str, Any] = json.loads(content)
        manifest = str(raw["manifest"])
        if not re.fullmatch("[0-9a-f]{64}", manifest):
            raise ValueError(manifest)
        return manifest, str(raw["writer"])
    except (ValueError, KeyError, TypeError) as error:
        message = f"Object {key} is damaged: its {len(content):,} bytes are not a pointer"
        raise ObjectStorageError(message, hint="Delete the object, and publish the index again.") from error


def _check_blob_name(name: str) -> str:
    if not _match_blob_key(name):
        message = f"{name!r} is not the name of a blob"
        raise ValueError(message)
    return name


def _check_file_name(name: str) -> str:
    """Reject a name that would leave the index's directory: whoever can write the bucket must not write elsewhere."""
    if not _match_file_name(name) or ".." in PurePosixPath(name).parts:
        message = f"{name!r} is not the name of a file of an index"
        raise ValueError(message)
    return name
