"""The data that parts of CodeRAG hand to one another. Imports nothing of the project.

Lines are 1-based and inclusive, bytes 0-based and half-open over the file's UTF-8 text, paths relative to the repository's
root with ``/`` between their parts. A *chunk* is the unit of retrieval: a LlamaIndex ``TextNode`` whose metadata is a
`ChunkMetadata`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final, Literal, TypedDict

Kind = Literal[
    "function", "method", "class", "interface", "struct", "trait", "enum", "union", "type_alias", "impl", "namespace",
    "constant", "variable", "field", "macro", "table", "resource", "rule", "key", "module", "section", "block",
]  # fmt: skip
"""What a chunk or symbol is. ``table`` is a table or view of a database, ``resource`` a block of infrastructure (Terraform),
``rule`` of a style sheet or a build (CSS, make), ``key`` an entry of structured data (YAML, TOML, JSON), ``module``
module-level code, ``section`` a part of a document, ``block`` plain lines."""

ChunkStrategy = Literal["declaration", "cast", "window"]
"""How files are cut into chunks: at declarations, at the joints of the syntax tree, or into overlapping windows."""

NAMED_BY_FILE: Final = frozenset({"module", "section", "block"})
"""Kinds of chunks that are no declarations; one without a name of its own has that of its file, see `module_of`."""

Role = Literal["source", "test", "docs", "config", "example", "generated", "vendored"]
"""What a file is for."""

Outcome = Literal["indexed", "skipped", "failed"]

Intent = Literal[
    "find_definition", "find_usage", "hierarchy", "understand_module", "find_similar", "find_tests", "documentation",
    "backlog", "general",
]  # fmt: skip

Relation = Literal[
    "contains",
    "contained_by",
    "sibling",
    "imports",
    "imported_by",
    "caller",
    "callee",
    "test_for",
    "interface_of",
    "base",
    "derived",
]
"""How a related chunk is related to a primary one, read as "this chunk is the … of it"."""

GraphRelation = Literal[
    "caller", "callee", "imports", "imported_by", "base", "derived", "interface_of", "implementation", "override",
    "overridden", "user", "used", "test_for", "tested", "documentation", "documented",
]  # fmt: skip
"""How a declaration is related to another in the code graph, read as "this one is the … of it"; a ``user`` names it as a
type, a decorator or a value."""

EdgeRelation = Literal[
    "imports", "calls", "instantiates", "references", "inherits", "implements", "overrides", "tests", "documents",
]  # fmt: skip
"""What an edge of the code graph says, read as "the source … the target". That a file defines a declaration and one contains
another follows from the nodes."""

RESOLVED: Final = 0.5
"""Confidence from which on an edge is one; below, its target is one of several candidates."""

Evidence = Literal["found", "weak", "not_found"]


def module_of(path: str) -> str:
    """Return what the code of a file is named that is in no declaration: its path without the last extension."""
    dot = path.rfind(".")
    return path[:dot] if path.rfind("/") + 1 < dot < len(path) - 1 else path


class SymbolRecord(TypedDict):
    """A declared name inside a chunk, with the lines of its declaration."""

    name: str
    qualified_name: str
    kind: str
    start_line: int
    end_line: int


class ChunkMetadata(TypedDict):
    """The metadata of a chunk (its ``TextNode.metadata``)."""

    path: str
    language: str
    kind: str
    name: str
    qualified_name: str
    signature: str
    docstring: str
    summary: str
    summary_source: str  # docstring | derived | llm
    parent: str  # qualified name of the enclosing declaration
    context: str  # header of the enclosing declaration, e.g. "class Session(Base):"
    symbols: list[SymbolRecord]
    imports: list[str]  # modules or paths imported by this chunk's text, as written
    calls: list[str]  # distinct names called, in order of first call
    bases: list[str]  # names of extended and implemented types
    complexity: int  # cyclomatic: 1 + branches; 0 for text without code
    role: str
    start_line: int
    end_line: int
    start_byte: int
    end_byte: int
    content_hash: str  # SHA-256 of the chunk's text


@dataclass(frozen=True, slots=True)
class FileRecord:
    """What became of one candidate file.

    Attributes:
        hash: SHA-256 of the bytes on disk; empty if they were never read.
        size: Bytes on disk.
        mtime_ns: Modification time in nanoseconds.
        ctime_ns, inode: Time of the last change of its status, and its number on disk; 0 where the system has none.
        reason: Why it was skipped, or the error; empty if indexed.
        note: What an indexed file's reader should know, such as a syntax error.
    """

    path: str
    outcome: Outcome
    reason: str = ""
    hash: str = ""
    size: int = 0
    mtime_ns: int = 0
    ctime_ns: int = 0
    inode: int = 0
    language: str = ""
    role: str = "source"
    encoding: str = ""
    chunks: int = 0
    symbols: int = 0
    lines: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What one run of indexing did.

    Attributes:
        files: Number of files by outcome, over the whole repository.
        added, changed, removed, renamed, unchanged: Files against the last generation.
        skipped: Skipped files by reason.
        failed: ``(path, error)`` of files that could not be read or parsed at all.
        seconds: Wall clock by stage.
        worker_seconds: Time of the worker processes by stage, added up over them.
        elapsed_s: Wall clock of the run.
        bytes_read, lines_read: Size of the files that were added or changed.
        embedded: Number of chunks that got their vectors in this run.
        reembedded: Why all chunks did, as after a change of the model; empty if only those of changed files did.
    """

    generation: int
    files: Mapping[str, int]
    chunks: int
    symbols: int
    edges: int
    lines: int
    added: int
    changed: int
    removed: int
    renamed: int
    unchanged: int
    skipped: Mapping[str, int] = field(default_factory=dict)
    failed: Sequence[tuple[str, str]] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    worker_seconds: Mapping[str, float] = field(default_factory=dict)
    elapsed_s: float = 0.0
    bytes_read: int = 0
    lines_read: int = 0
    embedded: int = 0
    reembedded: str = ""


@dataclass(frozen=True, slots=True)
class IndexProgress:
    """How far an indexing run is. ``total`` is 0 where it is not known yet.

    Attributes:
        stage: ``chunk`` counts files, ``embed`` the texts that have got their vectors.
    """

    stage: Literal["scan", "chunk", "embed", "commit"]
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """What is indexed, and what would have to be done to be up to date.

    Attributes:
        created: When this generation was committed, ISO 8601.
        embedding: The model of its vectors, as ``provider/model``.
        configured: The model that the settings name, likewise; another one takes the next run of indexing to switch to.
        languages: Indexed files by language.
        edges: Of the code graph, candidates among them, as in `IndexReport`.
        linked: Those languages of which the code graph follows imports, types and receivers; of the others it binds names
            only within a file and what it imports.
        outcomes: Files by outcome; ``skipped`` and ``failed`` say why.
        notes: ``(path, note)`` of indexed files with something to know, such as syntax errors.
        added, changed, removed: Paths that differ on disk from this generation.
    """

    root: str
    directory: str
    generation: int
    created: str
    embedding: str
    files: int
    chunks: int
    symbols: int
    lines: int
    languages: Mapping[str, int]
    outcomes: Mapping[str, int]
    skipped: Mapping[str, int]
    failed: Sequence[tuple[str, str]]
    notes: Sequence[tuple[str, str]]
    added: Sequence[str]
    changed: Sequence[str]
    removed: Sequence[str]
    configured: str = ""
    edges: int = 0
    linked: Sequence[str] = ()

    @property
    def other_model(self) -> bool:
        """Whether the settings name another embedding model than that of the vectors."""
        return self.configured not in ("", self.embedding)

    @property
    def fresh(self) -> bool:
        """Whether indexing would leave the index as it is."""
        return not (self.added or self.changed or self.removed or self.other_model)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A quantity that is not known exactly: for most repositories it is between the two bounds."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class FileTotals:
    """Some files together: how many there are, and their bytes on disk."""

    files: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Exclusion:
    """What is left out for one reason.

    Attributes:
        reason: For a pattern, the file that has it and the pattern itself.
        files, folders: Number of each; a folder counts once, whatever is in it.
        example: Path of one of them, a folder's with a trailing ``/``.
    """

    reason: str
    files: int
    folders: int
    example: str


@dataclass(frozen=True, slots=True)
class EmbeddingPlan:
    """What a provider's embedding model would be sent.

    Attributes:
        texts: Number of texts: one for each chunk that is embedded, and one for each of their files.
        tokens: Of all texts, counted as OpenAI's ``cl100k_base`` does; other models count otherwise.
        price_per_million_tokens: As the settings have it; None if they do not.
        cost: In the currency of the price; None without one.
        cached: Number of further texts, of files that have not changed, whose vectors are kept from an earlier run.
    """

    provider: str
    model: str
    texts: Estimate
    tokens: Estimate
    price_per_million_tokens: float | None = None
    cost: Estimate | None = None
    cached: int = 0


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """What indexing would do, told from the names, sizes and times of files.

    Files that turn out to be generated, minified or binary when they are read are still counted here, unless the last
    generation knows of them.

    Attributes:
        root: Of the repository.
        directory: Where the index is, or would be.
        generation: The last one; 0 if there is none.
        rebuild: Why every file is indexed anew; empty if only what changed is.
        reembed: Why all vectors are made anew; empty if only those of files that are read are.
        total: The files that the index would hold.
        to_read: Those of them that are read: `new` and `changed` ones.
        new, changed, unchanged, removed: Number of files against the last generation. A changed one differs in size, time
            or number on disk, or was written too shortly before the last run; it is kept if its content is the same.
        languages: Files by language, the most bytes first.
        folders: The ten folders with the most bytes, what is in their own folders included; a folder is left out if one
            folder in it has almost all of its bytes.
        excluded: What is left out, by reason, the most frequent first.
        failed: ``(path, error)`` of what cannot be looked at.
        processes: That would read and parse.
        chunks: That the index would hold.
        seconds: For the run on this machine, without the time of an embedding model's server.
        memory: Bytes that all processes together would take at most.
        embedding: None if the embedded model is used, which sends nothing.
    """

    root: str
    directory: str
    generation: int
    rebuild: str
    total: FileTotals
    to_read: FileTotals
    new: int
    changed: int
    unchanged: int
    removed: int
    languages: Mapping[str, FileTotals]
    folders: Mapping[str, FileTotals]
    excluded: Sequence[Exclusion]
    failed: Sequence[tuple[str, str]]
    processes: int
    chunks: Estimate
    seconds: Estimate
    memory: Estimate
    embedding: EmbeddingPlan | None = None
    reembed: str = ""

    @property
    def nothing_to_do(self) -> bool:
        """Whether the index would stay as it is."""
        return bool(self.generation) and not (self.rebuild or self.reembed or self.to_read.files or self.removed)


@dataclass(frozen=True, slots=True)
class Filters:
    """Which chunks may be results. Empty means any; several values of one kind are alternatives.

    Attributes:
        kinds: Of the chunk, or of a declaration in it.
        paths: Glob patterns over the whole path (``*`` within a folder, ``**`` across), or folder prefixes.
    """

    languages: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.languages or self.kinds or self.paths or self.roles)


@dataclass(frozen=True, slots=True)
class GraphNeighbour:
    """A declaration, file or external package at the other end of a relation.

    Attributes:
        path: Its file; empty for what is outside the repository, whose lines are 0.
        evidence: The file with the evidence, such as the call: that of the neighbour or of the declaration that it is
            reached from.
        line: The line of evidence, in that file.
        kind: One of `Kind`, or ``file`` or ``external``.
        resolver: Who resolved it.
        confidence: 0 to 1: of the least sure step from the declaration that was asked for; below `RESOLVED` it is one of
            several candidates.
        depth: Number of steps from the declaration that was asked for.
        via: Qualified name of what it is related to: the declaration one step nearer, or one that stands for it, such as
            the method that it overrides.
    """

    relation: GraphRelation
    path: str
    line: int
    start_line: int
    end_line: int
    qualified_name: str
    kind: str
    resolver: str
    confidence: float
    depth: int = 1
    via: str = ""
    evidence: str = ""
    role: str = ""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One result: a declaration or a part of a file.

    Attributes:
        score: Higher is better; comparable within one query only.
        text: The lines ``start_line`` to ``end_line`` as indexed.
        signals: What each named signal added to the score.
        channels: Score in each channel that found it, 0 to 1 of that channel's best.
    """

    chunk_id: str
    path: PurePosixPath
    start_line: int
    end_line: int
    kind: str
    name: str
    qualified_name: str
    signature: str
    summary: str
    language: str
    role: str
    score: float
    text: str
    signals: Mapping[str, float] = field(default_factory=dict)
    channels: Mapping[str, float] = field(default_factory=dict)

    @property
    def location(self) -> str:
        """The place as ``path:start-end``."""
        return f"{self.path}:{self.start_line}-{self.end_line}"


Detail = Literal["full", "elided", "signature", "line"]


@dataclass(frozen=True, slots=True)
class ContextItem:
    """One piece of an assembled context.

    Attributes:
        detail: How much of the chunk is shown: all, an elided body, signature with docstring, or one line.
        relation: How it is related to a primary result; None for a primary result.
        related_to: ``qualified_name`` or place of that primary result.
    """

    chunk_id: str
    path: str
    start_line: int
    end_line: int
    title: str
    text: str
    tokens: int
    detail: Detail
    language: str = ""
    relation: Relation | None = None
    related_to: str = ""


@dataclass(frozen=True, slots=True)
class Omission:
    """A result that did not fit the budget, and how to get it."""

    path: str
    start_line: int
    end_line: int
    title: str
    tokens: int
    fetch: str


@dataclass(frozen=True, slots=True)
class ContextSection:
    """A part of an assembled context: ``primary``, ``related`` or ``graph``."""

    name: Literal["primary", "related", "graph"]
    items: Sequence[ContextItem]
    tokens: int


@dataclass(frozen=True, slots=True)
class AssembledContext:
    """Code for a question within a token budget. ``text`` is Markdown and has exactly ``tokens`` tokens."""

    query: str
    intent: Intent
    text: str
    sections: Sequence[ContextSection]
    tokens: int
    token_budget: int
    omitted: Sequence[Omission]
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Citation:
    """A place that an answer relies on, checked against the bytes on disk.

    Attributes:
        hash: SHA-256 of the cited lines as indexed.
        verified: Whether the lines on disk still are those.
        reason: Why it is not verified; empty if it is.
        moved_from: The start line in the index, where the lines were found elsewhere in the file.
    """

    path: str
    start_line: int
    end_line: int
    hash: str
    verified: bool
    reason: str = ""
    moved_from: int | None = None

    @property
    def location(self) -> str:
        """The place as ``path:start-end``."""
        return f"{self.path}:{self.start_line}-{self.end_line}"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer in Markdown with its citations.

    Attributes:
        verified: Number of citations that hold; ``total`` is the number of all.
        generator: ``extractive``, or the provider and model of the LLM.
    """

    query: str
    intent: Intent
    text: str
    citations: Sequence[Citation]
    verified: int
    total: int
    evidence: Evidence
    hits: Sequence[SearchHit]
    generator: str = "extractive"
