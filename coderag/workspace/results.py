"""Result types of a workspace: known repositories, events, federated results."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from coderag.schema.search import SearchHit
from coderag.schema.vocabulary import Evidence


@dataclass(frozen=True, slots=True)
class KnownRepository:
    """A repository that was indexed or opened on this machine.

    Attributes:
        name: Unique name.
        root: Its folder.
        used: Time of last use, ISO 8601; empty if it is not recorded.
        is_open: Whether it is open in this workspace.
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
    """A search hit with its repository."""

    repository: str
    root: str
    hit: SearchHit


@dataclass(frozen=True, slots=True)
class RepositoryVerdict:
    """Verdict of one repository in a federated search, or its error; ``notes`` as in `SearchHits`."""

    repository: str
    root: str
    evidence: Evidence
    confidence: float
    not_indexed: Sequence[str] = ()
    error: str = ""
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class WorkspaceHits:
    """Results of a federated search, best first."""

    hits: Sequence[RepositoryHit]
    verdicts: Sequence[RepositoryVerdict]


@dataclass(frozen=True, slots=True)
class RepositoryEvent:
    """An event of a repository: a new generation, a changed job, edits, or its closing."""

    kind: Literal["generation", "job", "edited", "closed"]
    root: str
