"""What replies say where the dataclasses of `coderag.schema` do not say it alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from coderag.schema.graph import GraphCycle, GraphNeighbour, Hotspot, OutlineEntry
from coderag.schema.search import SearchHit
from coderag.schema.vocabulary import Evidence
from coderag.workspace.jobs import JobView
from coderag.workspace.workspace import KnownRepository, RepositoryHit, RepositoryVerdict


@dataclass(frozen=True, slots=True)
class HealthReply:
    """That the server works, and which version of CodeRAG it is."""

    status: str
    version: str


@dataclass(frozen=True, slots=True)
class RepositoriesReply:
    """The repositories that were opened or indexed on this machine, the last used first."""

    repositories: Sequence[KnownRepository]


@dataclass(frozen=True, slots=True)
class ForgottenReply:
    """Whether there was what is forgotten now."""

    known: bool


@dataclass(frozen=True, slots=True)
class SearchReply:
    """Results of one repository, best first, and how well they answer the question.

    Attributes:
        repository: Its name.
        next_offset: `offset` of the next page; None if there is none.
        evidence, confidence, not_indexed: As of `coderag.schema.search.SearchHits`.
    """

    query: str
    root: str
    repository: str
    hits: Sequence[SearchHit]
    evidence: Evidence
    confidence: float
    not_indexed: Sequence[str]
    next_offset: int | None = None


@dataclass(frozen=True, slots=True)
class WorkspaceReply:
    """Results of several repositories, best first; a repository that cannot be asked says so in its verdict.

    Attributes:
        next_offset: `offset` of the next page; None if there is none.
    """

    query: str
    hits: Sequence[RepositoryHit]
    verdicts: Sequence[RepositoryVerdict]
    next_offset: int | None = None


@dataclass(frozen=True, slots=True)
class DefinitionReply:
    """Where a name is declared, the best match first; no hits if it is not."""

    name: str
    root: str
    hits: Sequence[SearchHit]


@dataclass(frozen=True, slots=True)
class NeighboursReply:
    """What the code graph answers about a declaration, the nearest and surest first.

    Attributes:
        results: The first of them.
        total: Number of all.
    """

    question: str
    root: str
    results: Sequence[GraphNeighbour]
    total: int


@dataclass(frozen=True, slots=True)
class CyclesReply:
    """Groups of what needs one another, the smallest first; `total` is the number of all."""

    level: str
    root: str
    results: Sequence[GraphCycle]
    total: int


@dataclass(frozen=True, slots=True)
class HotspotsReply:
    """What much depends on, most central first."""

    root: str
    results: Sequence[Hotspot]


@dataclass(frozen=True, slots=True)
class OutlineReply:
    """What a file or declaration declares, nested, in order."""

    path: str
    root: str
    results: Sequence[OutlineEntry]


@dataclass(frozen=True, slots=True)
class JobReply(JobView):
    """How a run of indexing stands.

    Attributes:
        progress: How far it is; None before it has begun.
        report: What it did; None before it is done.
        error, hint: What went wrong, and what can be done about it; empty if nothing did.
        type: Class of that error.
        retryable: Whether another run may succeed without any change.
    """

    type: str = ""
    retryable: bool = False


@dataclass(frozen=True, slots=True)
class JobsReply:
    """Runs of indexing, the last begun first."""

    jobs: Sequence[JobReply]
