"""Plan of an indexing run with its costs. Imports nothing of the project."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated quantity: for most repositories it is between the two bounds."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class FileTotals:
    """Number of files and their bytes on disk."""

    files: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Files excluded for one reason.

    Attributes:
        reason: The reason; for a pattern, its file and the pattern itself.
        files, folders: Number of each; a folder counts once.
        example: Path of an example, a folder's with a trailing ``/``.
    """

    reason: str
    files: int
    folders: int
    example: str


@dataclass(frozen=True, slots=True)
class EmbeddingPlan:
    """Requests to a provider's embedding model.

    Attributes:
        texts: Number of texts: one per embedded chunk and one per file.
        tokens: Tokens of all texts as counted by OpenAI's ``cl100k_base``; other models differ.
        price_per_million_tokens: Price of the settings; None without one.
        cost: Cost in the currency of the price; None without a price.
        cached: Number of further texts of unchanged files whose vectors are cached.
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
    """Plan of an indexing run, estimated from the names, sizes and times of files.

    Generated, minified or binary files are included unless the last generation has recorded them.

    Attributes:
        root: Folder of the repository.
        directory: Folder of the index.
        generation: The last generation; 0 for none.
        rebuild: Reason for a full rebuild; empty for an incremental run.
        reembed: Reason for recomputing all vectors; empty if only those of changed files are computed.
        total: Files that the index would hold.
        to_read: Files that are read: `new` and `changed` ones.
        new, changed, unchanged, removed: Number of files compared to the last generation. A changed one differs in
            size, time or inode, or was written just before the last run; it is kept if its content is equal.
        languages: Files by language, most bytes first.
        folders: The ten folders with the most bytes, including subfolders; a folder is skipped if one subfolder has
            almost all of its bytes.
        excluded: Exclusions by reason, most frequent first.
        failed: ``(path, error)`` of inaccessible files and folders.
        processes: Number of parser processes.
        chunks: Chunks that the index would hold.
        seconds: Duration on this machine, without the time of an embedding server.
        memory: Peak memory of all processes together in bytes.
        embedding: Requests to a provider; None for the embedded model.
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
        """Return whether the index would stay unchanged."""
        return bool(self.generation) and not (self.rebuild or self.reembed or self.to_read.files or self.removed)
