"""Indexing of many repositories: what is to be indexed, how it ended, and how far a run is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

RepositoryState = Literal["indexed", "unchanged", "failed"]


@dataclass(frozen=True, slots=True)
class ClusterRepository:
    """A repository of a list.

    Attributes:
        name: Its name in the store.
        address: Git address, or an absolute folder.
        revision: Branch, tag or commit; empty is the default branch. A folder is indexed as it is.
    """

    name: str
    address: str
    revision: str = ""

    @property
    def is_folder(self) -> bool:
        """Return whether the address is a folder of this machine."""
        return self.address.startswith("/") or self.address[1:3] in (":\\", ":/")


@dataclass(frozen=True, slots=True)
class RepositoryResult:
    """Result of a repository.

    Attributes:
        commit: Indexed commit; empty for a folder.
        lines, chunks: Size of its index.
        seconds: Time of the last attempt, fetching included.
        error, hint: Why it failed, and advice; empty otherwise.
        is_retryable: Whether another attempt may succeed.
        attempts: Attempts that were made.
    """

    name: str
    state: RepositoryState
    commit: str = ""
    lines: int = 0
    chunks: int = 0
    seconds: float = 0.0
    error: str = ""
    hint: str = ""
    is_retryable: bool = False
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """Plan of a run: its work and an estimate of its time.

    Attributes:
        repositories: Number of repositories.
        unchanged: Those whose published index is of the current commit.
        known: Those that were indexed before, whose time is known.
        new: Those that were never indexed; they are assumed to be like the median of the others.
        seconds: Estimated time of the run.
        processes: Repositories at the same time.
        price: Estimated price, in the currency of the price of an hour; 0 without one.
    """

    repositories: int
    unchanged: int
    known: int
    new: int
    seconds: float
    processes: int
    price: float = 0.0


@dataclass(frozen=True, slots=True)
class ClusterProgress:
    """Progress of a run.

    Attributes:
        total: Number of repositories.
        done: Those that are indexed or unchanged.
        failed: Those that have failed for good.
        running: Those that are being indexed.
        lines: Lines that were indexed.
        last: The repository that ended last; empty at first.
    """

    total: int
    done: int = 0
    failed: int = 0
    running: int = 0
    lines: int = 0
    last: str = ""


@dataclass(frozen=True, slots=True)
class ClusterReport:
    """Report of a run.

    Attributes:
        results: Result of each repository, in the order of the list.
        elapsed_s: Wall clock of the run.
    """

    results: Sequence[RepositoryResult]
    elapsed_s: float

    def count(self, state: RepositoryState) -> int:
        """Count the repositories that ended so."""
        return sum(result.state == state for result in self.results)
