"""The data that parts of CodeRAG hand to one another. Imports nothing of the project.

Lines are 1-based and inclusive, bytes 0-based and half-open over the file's UTF-8 text, paths relative to the repository's
root with ``/`` between their parts. A *chunk* is the unit of retrieval: a LlamaIndex ``TextNode`` whose metadata is a
`ChunkMetadata`.
"""

from collections.abc import Iterable, Mapping, Sequence
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

VALUES: Final = frozenset({"variable", "constant", "field", "key"})
"""Kinds of declarations that hold a value: who reads and writes them, the code graph does not know."""

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

MODULE_OF: Final = "module"
"""Resolver of an import by which a file says that another one is a module of its own: ``mod name;`` in Rust."""

Evidence = Literal["found", "weak", "not_found", "unknown"]
"""How well results answer a question; ``unknown``: not well, and files that it may be about are not in the index."""


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
        summarised, to_summarise: Chunks with a sentence of a language model, and all that are to have one.
        summarised_by: How many of those sentences each model wrote, as far as that is still known.
        restricted: What of the repository's settings is not used, as nobody marked it trusted: file, line, setting, reason.
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
    summarised: int = 0
    to_summarise: int = 0
    summarised_by: Mapping[str, int] = field(default_factory=dict)
    restricted: Sequence[str] = ()

    @property
    def other_model(self) -> bool:
        """Whether the settings name another embedding model than that of the vectors."""
        return self.configured not in ("", self.embedding)

    @property
    def fresh(self) -> bool:
        """Whether indexing would leave the index as it is."""
        return not (self.added or self.changed or self.removed or self.other_model)


@dataclass(frozen=True, slots=True)
class Filters:
    """Which chunks may be results. Empty means any; several values of one kind are alternatives.

    Attributes:
        kinds: Of the chunk, or of a declaration in it.
        paths: Glob patterns over the whole path (``*`` within a folder, ``**`` across), or folder prefixes; what matches a
            pattern that begins with ``!`` is left out.
        complexity: Cyclomatic complexity of the chunk: at least so much, or ``(least, most)``, both included.
        changed_since: A revision of git: only files that differ from it on disk, untracked ones included.
    """

    languages: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    complexity: int | tuple[int, int] = 0
    changed_since: str = ""

    def __bool__(self) -> bool:
        chosen = self.languages or self.kinds or self.paths or self.roles
        return bool(chosen or self.complexity or self.changed_since)


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
        duplicates: Other places that have the same text but for white space, as ``path:start-end``.
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
    duplicates: Sequence[str] = ()

    @property
    def location(self) -> str:
        """The place as ``path:start-end``."""
        return f"{self.path}:{self.start_line}-{self.end_line}"


class SearchHits(list[SearchHit]):
    """Results, best first, and how well they answer the question.

    Attributes:
        evidence: The verdict.
        confidence: Probability that the repository answers the question, were half of all questions answerable.
        not_indexed: Files that the question may be about and that are not in the index, as ``path: reason``.
    """

    def __init__(
        self,
        hits: Iterable[SearchHit] = (),
        *,
        evidence: Evidence = "found",
        confidence: float = 1.0,
        not_indexed: Sequence[str] = (),
    ) -> None:
        super().__init__(hits)
        self.evidence = evidence
        self.confidence = confidence
        self.not_indexed = not_indexed


Detail = Literal["full", "elided", "signature", "line"]

ContextFormat = Literal["markdown", "xml", "json"]
"""How the text of a context is written."""


@dataclass(frozen=True, slots=True)
class ContextItem:
    """One piece of an assembled context.

    Attributes:
        detail: How much of the chunk is shown: all, an elided body, signature with docstring, or one line.
        relation: How it is related to a primary result; None for a primary result.
        related_to: ``qualified_name`` or place of that primary result.
        name: Qualified name.
        kind: Of the declaration.
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
    name: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Omission:
    """A result that did not fit the budget; ``fetch`` is the command that shows exactly its lines."""

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
    """Code for a question within a token budget.

    Attributes:
        text: In ``format``; it has exactly ``tokens`` tokens.
        shown: Keys of all code that this context and those before it showed, to be given to the next one.
        shown_before: Places of results that were left out because earlier contexts showed them.
        confidence, not_indexed: As of `SearchHits`.
    """

    query: str
    intent: Intent
    text: str
    sections: Sequence[ContextSection]
    tokens: int
    token_budget: int
    omitted: Sequence[Omission]
    evidence: Evidence
    format: ContextFormat = "markdown"
    shown: Sequence[str] = ()
    shown_before: Sequence[str] = ()
    confidence: float = 1.0
    not_indexed: Sequence[str] = field(default_factory=list)


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
        """The place as ``path:10-42``, of one line as ``path:10``."""
        return location_of(self.path, self.start_line, self.end_line)


def location_of(path: str, start_line: int, end_line: int) -> str:
    """Return lines of a file as ``path:10-42``, one line as ``path:10``."""
    return f"{path}:{start_line}" if start_line == end_line else f"{path}:{start_line}-{end_line}"


AnswerShape = Literal["explanation", "definition", "usages", "flow", "comparison", "not_found"]
"""How an answer is built: ``usages`` lists places, ``flow`` has a diagram, ``not_found`` says what was looked for."""

ClaimStatus = Literal["verified", "unsupported", "uncited"]
"""``unsupported``: what it names or quotes is not in the lines that it cites; ``uncited``: it cites nothing."""


@dataclass(frozen=True, slots=True)
class AnswerClaim:
    """A statement of an answer.

    Attributes:
        text: As the writer put it.
        citations: Positions in the answer's ``citations``, from 0.
        reason: Why it is not verified; empty if it is.
        shown: Whether it stands in the answer's text; what was not verified is left out, or marked.
    """

    text: str
    citations: Sequence[int]
    status: ClaimStatus
    reason: str = ""
    shown: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer in Markdown, its claims and their citations.

    Attributes:
        verified: Number of claims that hold; ``total`` is the number of all that were made.
        generator: ``extractive``, or the provider and model of the LLM.
        confidence, not_indexed: As of `SearchHits`.
        missing: What was asked for and not found, a sentence each.
        flagged: Places of evidence whose text addresses a language model, as ``path:start-end: what it does``.
        redacted: Number of secrets that the language model was not shown.
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
    confidence: float = 1.0
    not_indexed: Sequence[str] = field(default_factory=list)
    shape: AnswerShape = "explanation"
    claims: Sequence[AnswerClaim] = ()
    missing: Sequence[str] = ()
    flagged: Sequence[str] = ()
    redacted: int = 0


@dataclass(frozen=True, slots=True)
class AnswerEvent:
    """A step of an answer that is being written.

    Attributes:
        kind: ``stage``: a node of the query graph has ended, ``text`` is its name. ``draft``: the language model's words as
            they come, not checked yet. ``text``: the next part of the checked answer, which replaces the drafts since the
            last one; all of them joined are the answer's text. ``answer``: the whole answer, which comes last.
    """

    kind: Literal["stage", "draft", "text", "answer"]
    text: str = ""
    answer: Answer | None = None


@dataclass(frozen=True, slots=True)
class ModelPrompt:
    """What a language model is asked.

    Attributes:
        system: Rules, in the role ``system``; empty if there are none.
        user: The task with its data.
    """

    user: str
    system: str = ""

    @property
    def text(self) -> str:
        """All of it, to count or compare."""
        return f"{self.system}\n\n{self.user}" if self.system else self.user


@dataclass(frozen=True, slots=True)
class Completion:
    """The whole reply of a language model.

    Attributes:
        input_tokens, output_tokens: As the server counted them, else as CodeRAG does.
        cut: Whether the reply reached the limit of its length and just ends there.
    """

    text: str
    input_tokens: int
    output_tokens: int
    cut: bool = False


class CutOff(str):
    """The last piece of a streamed reply that reached the limit of its length; it has no text."""

    __slots__ = ()
