"""Pointer to the current generation: a small JSON file, replaced atomically, with the version of each part.

Imports only the standard library, so that a status line costs milliseconds.
"""

import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from coderag.errors import IndexVersionError, StoreError
from coderag.stores.disk import map_storage_errors, replace_file
from coderag.stores.graph_tables import GRAPH_TABLES

FORMAT_VERSION = 1
"""Part of the directory's name; incremented by changes that old code cannot read."""

FORMAT_DIRECTORY = f"v{FORMAT_VERSION}"
POINTER_FILE = "CURRENT"
REBUILD_HINT = "Run `coderag index` to repair the index."

_CHECKSUM_KEY: Final = "checksum"  # absent in a pointer of an earlier version
_QUERIED_GRAPH_TABLES: Final = ("nodes", "edges")  # the tables of the code graph that queries read
_match_format_name = re.compile(r"v(\d+)").fullmatch


@dataclass(frozen=True, slots=True)
class EmbeddingInfo:
    """Embedding model of an index's vectors."""

    provider: str
    model: str
    dimension: int

    def __str__(self) -> str:
        return f"{self.name} ({self.dimension} dimensions)"

    @property
    def name(self) -> str:
        """Provider and model as one name."""
        return f"{self.provider}/{self.model}"


@dataclass(frozen=True, slots=True)
class RetiredGeneration:
    """Replaced generation that a reader may still have open.

    Attributes:
        retired: Time of its replacement, ISO 8601 in UTC.
    """

    generation: int
    tables: Mapping[str, int]
    lexical: str
    retired: str


@dataclass(frozen=True, slots=True)
class Pointer:
    """One generation of the index.

    Attributes:
        tables: Version of each Lance table.
        lexical: Directory name of the generation's arrays.
        tokenizer: `coderag.text.tokenizer.TOKENIZER_VERSION` of the terms.
        created: Time of the commit, ISO 8601 in UTC.
        repository: Name of the indexed repository.
        root_hash: Digest of the index's inputs; empty if unknown.
        chunks, files, edges: Number of rows.
        retained: Earlier generations whose files still exist, newest first.
        contents: Size in bytes, tail checksum and content checksum of each file, by path in the format's directory
            (`coderag.stores.generation_files`); empty, or without the last, if an earlier version of CodeRAG committed it.
    """

    generation: int
    tables: Mapping[str, int]
    lexical: str
    embedding: EmbeddingInfo
    tokenizer: int
    created: str
    repository: str = ""
    root_hash: str = ""
    chunks: int = 0
    files: int = 0
    edges: int = 0
    retained: tuple[RetiredGeneration, ...] = field(default=())
    contents: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def identity(self) -> tuple[int, str]:
        """Unique identity of the generation: a new index counts from 1 again."""
        return self.generation, self.created

    @property
    def is_linked(self) -> bool:
        """Return whether the code graph, if any, has its edges: a large first index is committed before it is linked."""
        return "edges" not in self.tables or not self.root_hash.endswith(":")

    def is_same_generation(self, other: "Pointer") -> bool:
        """Return whether another pointer refers to this generation."""
        return self.identity == other.identity

    def has_same_files(self, other: "Pointer") -> bool:
        """Return whether another generation has the same file contents, so that only summaries can differ."""
        return bool(self.root_hash) and self.root_hash == other.root_hash

    def has_same_graph(self, other: "Pointer") -> bool:
        """Return whether another generation has the same code graph in the same place."""
        return self.has_same_files(other) and all(
            self.tables.get(name) == other.tables.get(name) for name in _QUERIED_GRAPH_TABLES
        )

    def retains(self, other: "Pointer") -> bool:
        """Return whether the files of an earlier generation still exist."""
        return any(
            (retired.generation, retired.tables) == (other.generation, other.tables) for retired in self.retained
        )


def read_pointer(index_directory: Path) -> Pointer | None:
    """Read the current generation's pointer; None if nothing was ever committed.

    Raises:
        IndexVersionError: An index exists, but only in other formats.
        StoreError: The pointer cannot be read or is invalid.
    """
    path = index_directory / FORMAT_DIRECTORY / POINTER_FILE
    try:
        with map_storage_errors(f"read {path}"):
            text = path.read_bytes()
    except StoreError as error:
        if isinstance(error.__cause__, (FileNotFoundError, NotADirectoryError)):
            _reject_other_formats(index_directory)
            return None
        raise
    try:
        return parse_pointer(text)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        message = f"The index's pointer {path} is damaged: {error!r}"
        raise StoreError(message, hint=REBUILD_HINT) from error


def write_pointer(index_directory: Path, pointer: Pointer) -> None:
    """Make a generation the current one; the only step of a commit that readers see."""
    path = index_directory / FORMAT_DIRECTORY / POINTER_FILE
    replace_file(path, format_pointer(pointer))


def format_utc_now() -> str:
    """Return the current time as stored in pointers."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@lru_cache(16)  # read for each query, and rarely changed
def parse_pointer(text: bytes) -> Pointer:
    """Parse a stored pointer.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: It is invalid or was changed.
    """
    raw: dict[str, Any] = json.loads(text)
    checksum = raw.pop(_CHECKSUM_KEY, None)
    if checksum is not None and json.loads(_format_record(raw))[_CHECKSUM_KEY] != checksum:
        message = "its content is not what was written"
        raise ValueError(message)
    pointer = Pointer(
        generation=int(raw["generation"]),
        tables=_parse_versions(raw["tables"]),
        lexical=str(raw["lexical"]),
        embedding=EmbeddingInfo(
            str(raw["embedding"]["provider"]), str(raw["embedding"]["model"]), int(raw["embedding"]["dimension"])
        ),
        tokenizer=int(raw["tokenizer"]),
        created=str(raw["created"]),
        repository=str(raw.get("repository", "")),
        root_hash=str(raw.get("root_hash", "")),
        chunks=int(raw.get("chunks", 0)),
        files=int(raw.get("files", 0)),
        edges=int(raw.get("edges", 0)),
        retained=tuple(
            RetiredGeneration(
                int(old["generation"]), _parse_versions(old["tables"]), str(old["lexical"]), str(old["retired"])
            )
            for old in raw.get("retained", ())
        ),
        contents={str(name): _parse_fingerprint(values) for name, values in raw.get("contents", {}).items()},
    )
    # The name becomes a path that is read and deleted; an edited one must not leave the directory.
    for name in (pointer.lexical, *(old.lexical for old in pointer.retained)):
        if Path(name).name != name or not name.startswith("lexical-"):
            message = f"{name!r} is not a valid name of a generation's directory"
            raise ValueError(message)
    return pointer


def format_pointer(pointer: Pointer) -> bytes:
    """Format a pointer as it is stored."""
    return _format_record(asdict(pointer))


def _format_record(raw: dict[str, Any]) -> bytes:
    """Format a pointer as JSON with a checksum of all else."""
    checksum = zlib.crc32(json.dumps(raw, sort_keys=True).encode())
    return json.dumps({**raw, _CHECKSUM_KEY: checksum}, indent=1).encode()


def _parse_fingerprint(values: Sequence[Any]) -> tuple[int, ...]:
    size, tail_checksum, *content_checksum = map(int, values)
    return (size, tail_checksum, *content_checksum[:1])


def _parse_versions(raw: dict[str, Any]) -> dict[str, int]:
    return {"chunks": int(raw["chunks"]), "files": int(raw["files"])} | {
        name: int(raw[name]) for name in GRAPH_TABLES if name in raw
    }


def _reject_other_formats(index_directory: Path) -> None:
    """Raise if the directory holds an index that only other versions of CodeRAG can read."""
    if not index_directory.is_dir():
        return
    formats = sorted(
        int(match[1])
        for entry in index_directory.iterdir()
        if (match := _match_format_name(entry.name)) and (entry / POINTER_FILE).is_file()
    )
    if not formats:
        return
    newest = formats[-1]
    message = (
        f"The index in {index_directory} has format {newest}; this version of CodeRAG reads format {FORMAT_VERSION}"
    )
    if newest > FORMAT_VERSION:
        hint = "Update CodeRAG, or run `coderag index` to build an index in this version's format."
    else:
        hint = "Run `coderag index` to build the index in the new format; the old one can then be deleted."
    raise IndexVersionError(message, hint=hint)
