"""Results of browsing a repository: folders, files, chunks with facets, and a declaration between its callers and callees."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from coderag.schema.graph import GraphDeclaration
from coderag.schema.vocabulary import Outcome

FileState = Literal["text", "binary", "too_large", "gone", "unreadable"]
"""State of a file on disk, as far as its text can be read."""

ChunkOrder = Literal["path", "complexity", "lines"]
"""Order of chunks: by path and line, or the most complex or longest first."""


@dataclass(frozen=True, slots=True)
class FolderTotals:
    """Counts of all files in a folder, at any depth.

    Attributes:
        files: Number of files, indexed or not.
        lines: Number of lines of the indexed files.
        skipped: Number of skipped files.
        failed: Number of files that could not be read or parsed.
        languages: Number of indexed files by language, the most frequent first.
    """

    files: int
    lines: int
    skipped: int
    failed: int
    languages: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """A folder with the counts of its files."""

    name: str
    path: str
    totals: FolderTotals


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file as the index knows it.

    Attributes:
        reason: Reason for skipping, or the error; empty if indexed.
    """

    name: str
    path: str
    outcome: Outcome
    reason: str
    language: str
    role: str
    lines: int
    size: int


@dataclass(frozen=True, slots=True)
class FolderListing:
    """One level of the tree: folders, then files, each by name.

    Attributes:
        path: Path of the folder; empty for the root.
        totals: Counts of the whole folder.
        total: Number of entries at this level.
        next_offset: `offset` of the next page; None if there is none.
    """

    root: str
    path: str
    totals: FolderTotals
    folders: Sequence[FolderEntry]
    files: Sequence[FileEntry]
    total: int
    next_offset: int | None = None


@dataclass(frozen=True, slots=True)
class PathMatches:
    """Files whose path matches what was typed, best first; `total` counts all."""

    root: str
    query: str
    files: Sequence[FileEntry]
    total: int


@dataclass(frozen=True, slots=True)
class FileView:
    """Lines of a file as it is on disk.

    Attributes:
        state: Whether it has a text; `text` is empty without one.
        start_line, end_line: Lines of `text`; 0 without any.
        total_lines: Number of lines of the file.
        next_line: First line after `text`; None at the end of the file.
        size: Bytes on disk.
        is_edited: Whether it differs from what the last index run read.
        outcome, reason, note: As the index recorded them.
    """

    root: str
    path: str
    state: FileState
    text: str
    start_line: int
    end_line: int
    total_lines: int
    next_line: int | None
    size: int
    language: str
    role: str
    encoding: str
    is_edited: bool
    outcome: Outcome
    reason: str
    note: str


@dataclass(frozen=True, slots=True)
class ChunkEntry:
    """A chunk with its metadata, without its text.

    Attributes:
        parent: Qualified name of the enclosing declaration.
        summary_source: ``docstring``, ``derived`` or ``llm``; empty without a summary.
        complexity: Cyclomatic complexity; 0 for text without code.
    """

    chunk_id: str
    path: str
    start_line: int
    end_line: int
    language: str
    kind: str
    name: str
    qualified_name: str
    signature: str
    parent: str
    role: str
    complexity: int
    summary: str
    summary_source: str


@dataclass(frozen=True, slots=True)
class FacetCount:
    """Number of chunks with one value of a facet."""

    value: str
    count: int


@dataclass(frozen=True, slots=True)
class ChunkListing:
    """Chunks of a folder or file with their facets.

    Attributes:
        total: Number of chunks that match.
        next_offset: `offset` of the next page; None if there is none.
        facets: Counts by facet: `language`, `kind`, `role`, `summary_source` and `complexity` (in ranges such as `6-10`).
            Those of one facet count what all other filters match.
    """

    root: str
    path: str
    chunks: Sequence[ChunkEntry]
    total: int
    facets: Mapping[str, Sequence[FacetCount]]
    next_offset: int | None = None


@dataclass(frozen=True, slots=True)
class CodeLink:
    """A use of a declaration at a line of code.

    Attributes:
        line: Line of the use.
        relation: Relation of the code to the declaration, such as `calls`.
        name: Last part of the declaration's name, as code spells it.
        target: The declaration.
        confidence: 0 to 1; below 0.5 it is one of several candidates.
    """

    line: int
    relation: str
    name: str
    target: GraphDeclaration
    confidence: float
    resolver: str


@dataclass(frozen=True, slots=True)
class CodeLinks:
    """Uses of declarations in lines of a file, by line; `total` counts all."""

    root: str
    path: str
    links: Sequence[CodeLink]
    total: int


@dataclass(frozen=True, slots=True)
class NamedDeclaration:
    """A declaration whose name matches what was typed."""

    declaration: GraphDeclaration
    language: str
    role: str


@dataclass(frozen=True, slots=True)
class NameMatches:
    """Declarations whose name matches what was typed, best first; `total` counts all."""

    root: str
    query: str
    symbols: Sequence[NamedDeclaration]
    total: int


@dataclass(frozen=True, slots=True)
class CallLine:
    """A line that calls a declaration."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Caller:
    """A declaration or file that calls another, with the lines of the calls.

    Attributes:
        relation: Relation of the caller to the declaration: `calls` or `instantiates`.
        lines: The first calls in it; `line_count` counts all.
        confidence: That of the surest call; below 0.5 the declaration is one of several candidates.
    """

    declaration: GraphDeclaration
    role: str
    language: str
    relation: str
    resolver: str
    confidence: float
    lines: Sequence[CallLine]
    line_count: int


@dataclass(frozen=True, slots=True)
class ReadingView:
    """A declaration between its callers and its callees.

    Attributes:
        enclosing: Declarations around it, the outermost first.
        variants: Other declarations of the same symbol: overloads, headers, parts of a type.
        text: Its lines as they are on disk, from `start_line` of the declaration.
        is_cut: Whether `text` ends before the declaration does.
        callers: The surest first, tests last; `caller_count` counts all.
        links: Uses of other declarations in it, by line; `link_count` counts all.
    """

    root: str
    declaration: GraphDeclaration
    language: str
    role: str
    enclosing: Sequence[GraphDeclaration]
    variants: Sequence[GraphDeclaration]
    text: str
    is_cut: bool
    callers: Sequence[Caller]
    caller_count: int
    links: Sequence[CodeLink]
    link_count: int
