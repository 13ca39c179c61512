"""Targets of summaries, and the keys of their sentences: hashes of the model's input."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    import pyarrow as pa

Level = Literal["chunk", "file", "folder"]

LEVELS: Final[tuple[Level, ...]] = ("chunk", "file", "folder")
"""Levels in order of dependency: the input of each is the sentences of the previous one."""

SUBJECT_COLUMNS: Final = ("language", "kind", "qualified_name", "context", "content_hash")
"""Columns that determine a chunk's key. The path is not among them: a renamed file keeps its summaries."""

_FORMAT_VERSION: Final = "1"  # incremented when the prompt shows something else of the same chunk


@dataclass(frozen=True, slots=True)
class SummaryTarget:
    """A chunk, file or folder to summarize.

    Attributes:
        subject: Key of the sentence in the cache.
        place: ``path:start-end``, a file's path, or a folder's with ``/`` at its end (``./`` is the repository).
        title: Its kind and name for the prompt, in a line.
        text: Its text for the prompt.
        language: Language of the text; empty for sentences.
        id: Id of the chunk; empty for files and folders.
    """

    level: Level
    subject: str
    place: str
    title: str
    text: str
    language: str = ""
    id: str = ""


def compute_chunk_subjects(columns: "pa.Table") -> list[str]:
    """Return the subject of each chunk of a table that has `SUBJECT_COLUMNS`."""
    return [
        _hash_parts("chunk", *row) for row in zip(*(columns[name].to_pylist() for name in SUBJECT_COLUMNS), strict=True)
    ]


def compute_node_subjects(metadata: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the subject of each chunk, given as its metadata."""
    return [_hash_parts("chunk", *(entry[name] for name in SUBJECT_COLUMNS)) for entry in metadata]


def compute_overview_subject(level: Level, place: str, lines: Sequence[str]) -> str:
    """Return the subject of a file or folder, given the lines for the prompt."""
    return _hash_parts(level, place, *lines)


def _hash_parts(*parts: str) -> str:
    joined_parts = "\0".join((_FORMAT_VERSION, *parts)).encode("utf-8", "surrogatepass")
    return blake2b(joined_parts, digest_size=16).hexdigest()
