"""What a language model summarises, and by what a summary is known: a hash of what the model was shown."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    import pyarrow as pa

Level = Literal["chunk", "file", "folder"]

LEVELS: Final[tuple[Level, ...]] = ("chunk", "file", "folder")
"""In the order in which they can be written: each from the sentences of the one before."""

SUBJECT_COLUMNS: Final = ("language", "kind", "qualified_name", "context", "content_hash")
"""What of a chunk decides what is shown of it. The path is not: a renamed file keeps its summaries."""

_FORMAT_VERSION: Final = "1"  # raised when a model is shown something else of the same chunk


@dataclass(frozen=True, slots=True)
class SummaryTarget:
    """What one sentence is to be written of.

    Attributes:
        subject: What the sentence is kept by.
        place: ``path:start-end``, a file's path, or a folder's with ``/`` at its end (``./`` is the repository).
        title: What the model is told that it is, in a line.
        text: What the model is shown.
        language: Of the text; empty for sentences.
        id: Of the chunk; empty for the others.
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
    """Return the subject of a file or folder, of which the model is shown these lines."""
    return _hash_parts(level, place, *lines)


def _hash_parts(*parts: str) -> str:
    joined_parts = "\0".join((_FORMAT_VERSION, *parts)).encode("utf-8", "surrogatepass")
    return blake2b(joined_parts, digest_size=16).hexdigest()
