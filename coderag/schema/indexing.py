"""Progress, outcome and status of indexing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal


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
