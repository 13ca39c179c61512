"""What a workspace tells: known repositories, events, and results of several repositories."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from coderag.schema.search import SearchHit
from coderag.schema.vocabulary import Evidence


@dataclass(frozen=True, slots=True)
class KnownRepository:
    """A repository that was indexed or opened on this machine.

    Attributes:
        name: To call it by.
        root: Its folder.
        used: When it was last opened, ISO 8601.
        is_open: Whether this workspace has it open.
        is_indexed: Whether it has an index.
        is_there: Whether its folder still exists.
    """

    name: str
    root: str
    used: str
    is_open: bool
    is_indexed: bool
    is_there: bool = True


@dataclass(frozen=True, slots=True)
class RepositoryHit:
    """A result, and the repository that it is of."""

    repository: str
    root: str
    hit: SearchHit


@dataclass(frozen=True, slots=True)
class RepositoryVerdict:
    """How well one of several repositories answers a question; an error instead if it cannot be asked."""

    repository: str
    root: str
    evidence: Evidence
    confidence: float
    not_indexed: Sequence[str] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class WorkspaceHits:
    """Results of several repositories, best first."""

    hits: Sequence[RepositoryHit]
    verdicts: Sequence[RepositoryVerdict]


@dataclass(frozen=True, slots=True)
class RepositoryEvent:
    """Something that happened to a repository: another generation of its index, a job that changed, edits."""

    kind: Literal["generation", "job", "edited", "closed"]
    root: str
