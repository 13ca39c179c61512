"""Statistics of an index: languages, relations, coverage, sizes."""

from collections.abc import Sequence
from dataclasses import dataclass

from coderag.schema.vocabulary import EdgeRelation, Outcome


@dataclass(frozen=True, slots=True)
class LanguageShare:
    """Share of a language in the indexed files; an empty name stands for files without one."""

    language: str
    files: int
    chunks: int
    lines: int


@dataclass(frozen=True, slots=True)
class RelationCount:
    """Edges of one relation.

    Attributes:
        resolved: Number of resolved edges.
        candidates: Number of edges to one of several candidates.
    """

    relation: EdgeRelation
    resolved: int
    candidates: int


@dataclass(frozen=True, slots=True)
class CoverageGroup:
    """Files with the same outcome for the same reason.

    Attributes:
        reason: Reason without details such as a line number. Of an indexed file: the kind of the remark; empty without any.
        files: Their number.
        bytes: Their size on disk.
    """

    outcome: Outcome
    reason: str
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class SizePart:
    """Disk space of a part of the index folder.

    Attributes:
        name: Name of the part, such as ``vectors and texts``.
        files: Number of its files.
    """

    name: str
    bytes: int
    files: int


@dataclass(frozen=True, slots=True)
class IndexStatistics:
    """Statistics of the current generation.

    Attributes:
        directory: Folder of the index.
        created: Commit time of the generation, ISO 8601.
        format_version: Version of the format on disk.
        embedding: Model of the vectors, as ``provider/model``.
        dimension: Components of a vector.
        configured: Configured model, likewise; the next indexing run switches to it.
        files, chunks, declarations, lines: Numbers over all indexed files.
        edges: Number of edges, including candidates.
        languages: Languages, most lines first.
        coverage: Groups of files, indexed ones first, then by number; at most 500.
        sizes: Parts of the index folder, largest first.
    """

    root: str
    directory: str
    generation: int
    created: str
    format_version: int
    embedding: str
    dimension: int
    configured: str
    files: int
    chunks: int
    declarations: int
    lines: int
    edges: int
    relations: Sequence[RelationCount]
    languages: Sequence[LanguageShare]
    coverage: Sequence[CoverageGroup]
    sizes: Sequence[SizePart]


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """Outcome of one candidate file.

    Attributes:
        reason: Reason for skipping, the error, or the remark on an indexed file.
        bytes: Size on disk.
    """

    path: str
    outcome: Outcome
    reason: str
    language: str
    bytes: int
    lines: int
    chunks: int


@dataclass(frozen=True, slots=True)
class CoveragePage:
    """A page of files with their outcomes, by path.

    Attributes:
        total: Number of all matching files.
    """

    root: str
    generation: int
    files: Sequence[FileOutcome]
    total: int
