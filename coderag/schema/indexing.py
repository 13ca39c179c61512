"""Progress, outcome and status of indexing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class IndexReport:
    """Report of an indexing run.

    Attributes:
        files: Number of files by outcome in the whole repository.
        added, changed, removed, renamed, unchanged: Number of files compared to the last generation.
        skipped: Skipped files by reason.
        failed: ``(path, error)`` of files that could not be read or parsed.
        seconds: Wall clock by stage.
        worker_seconds: Total time of the worker processes by stage.
        elapsed_s: Wall clock of the run.
        searchable_s: Seconds until the chunks could be searched, before the code graph was linked; 0 if both were
            committed at once.
        bytes_read, lines_read: Size of the files that were added or changed.
        embedded: Number of chunks embedded in this run.
        repaired: Damage of the last generation, for which the index was built anew; empty if there was none.
        reembedded: Reason for reembedding all chunks, such as a change of the model; empty for an incremental run.
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
    searchable_s: float = 0.0
    bytes_read: int = 0
    lines_read: int = 0
    embedded: int = 0
    reembedded: str = ""
    repaired: str = ""


@dataclass(frozen=True, slots=True)
class IndexProgress:
    """Progress of an indexing run. ``total`` is 0 while unknown.

    Attributes:
        stage: ``chunk`` counts files, ``embed`` embedded texts. During ``link``, which only a large first index has, the
            chunks can be searched already.
    """

    stage: Literal["scan", "chunk", "embed", "commit", "link"]
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """Status of the index and of changes on disk.

    Attributes:
        created: Commit time of this generation, ISO 8601.
        embedding: Model of its vectors, as ``provider/model``.
        configured: Configured model, likewise; the next indexing run switches to it.
        languages: Indexed files by language.
        edges: Edges of the code graph, including candidates, as in `IndexReport`.
        linked: Languages for which the code graph resolves imports, types and receivers; for others it binds names only
            within a file and its imports.
        outcomes: Files by outcome; ``skipped`` and ``failed`` have the reasons.
        notes: ``(path, note)`` of indexed files with remarks, such as syntax errors.
        added, changed, removed: Paths that differ on disk from this generation.
        summarised, to_summarise: Chunks with a summary of a language model, and all that should have one.
        summarised_by: Number of summaries by model, as far as recorded.
        restricted: Ignored settings of an untrusted repository: file, line, setting, reason.
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
        """Return whether the configured embedding model differs from that of the vectors."""
        return self.configured not in ("", self.embedding)

    @property
    def fresh(self) -> bool:
        """Return whether indexing would leave the index unchanged."""
        return not (self.added or self.changed or self.removed or self.other_model)
