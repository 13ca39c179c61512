"""What indexing would do, and what it would cost. Imports nothing of the project."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


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
    def is_up_to_date(self) -> bool:
        """Whether the index would stay as it is."""
        return bool(self.generation) and not (self.rebuild or self.reembed or self.to_read.files or self.removed)
