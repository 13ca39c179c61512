"""Reply types beyond the dataclasses of `coderag.schema`."""

from collections.abc import Sequence
from dataclasses import dataclass

from coderag.schema.graph import GraphCycle, GraphNeighbour, Hotspot, OutlineEntry
from coderag.schema.mentions import LinkTier, Mentions, NameMention, UnusedReport
from coderag.schema.search import SearchHit
from coderag.schema.vocabulary import Evidence
from coderag.workspace.jobs import JobView
from coderag.workspace.workspace import KnownRepository, RepositoryHit, RepositoryVerdict


@dataclass(frozen=True, slots=True)
class HealthReply:
    """Health and version of the server."""

    status: str
    version: str


@dataclass(frozen=True, slots=True)
class RepositoriesReply:
    """Repositories opened or indexed on this machine, last used first."""

    repositories: Sequence[KnownRepository]


@dataclass(frozen=True, slots=True)
class ForgottenReply:
    """Reply to a removal: `known` tells whether the entry existed."""

    known: bool


@dataclass(frozen=True, slots=True)
class SearchReply:
    """Results of one repository, best first, with the verdict.

    Attributes:
        repository: Name of the repository.
        next_offset: `offset` of the next page; None if there is none.
        evidence, confidence, not_indexed, notes: As of `coderag.schema.search.SearchHits`.
    """

    query: str
    root: str
    repository: str
    hits: Sequence[SearchHit]
    evidence: Evidence
    confidence: float
    not_indexed: Sequence[str]
    notes: Sequence[str] = ()
    next_offset: int | None = None


@dataclass(frozen=True, slots=True)
class WorkspaceReply:
    """Results of several repositories, best first; the verdict of a failed repository has its error.

    Attributes:
        next_offset: `offset` of the next page; None if there is none.
    """

    query: str
    hits: Sequence[RepositoryHit]
    verdicts: Sequence[RepositoryVerdict]
    next_offset: int | None = None


@dataclass(frozen=True, slots=True)
class DefinitionReply:
    """Declarations of a name, best match first; no hits if there are none."""

    name: str
    root: str
    hits: Sequence[SearchHit]


@dataclass(frozen=True, slots=True)
class NeighboursReply:
    """Neighbours of a declaration in the code graph, nearest and most certain first.

    Attributes:
        results: The first neighbours.
        total: Number of all neighbours.
        mentions: First lines that mention the name, if no neighbour is more than a candidate.
        mention_count: Number of lines that mention the name: all of them without a resolved neighbour, else those of code
            that no edge explains. None if the relation has none, or if none were asked for.
        tier: How names of the declaration's language are resolved; empty without `mention_count`.
        reason: Why an edge may be missing.
    """

    question: str
    root: str
    results: Sequence[GraphNeighbour]
    total: int
    mentions: Sequence[NameMention] = ()
    mention_count: int | None = None
    tier: LinkTier | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class MentionsReply(Mentions):
    """Lines that mention a name."""

    root: str = ""


@dataclass(frozen=True, slots=True)
class UnusedReply(UnusedReport):
    """Declarations without a known use."""

    root: str = ""


@dataclass(frozen=True, slots=True)
class CyclesReply:
    """Cycles, smallest first; `total` is the number of all."""

    level: str
    root: str
    results: Sequence[GraphCycle]
    total: int


@dataclass(frozen=True, slots=True)
class HotspotsReply:
    """Hotspots, most central first."""

    root: str
    results: Sequence[Hotspot]


@dataclass(frozen=True, slots=True)
class OutlineReply:
    """Declarations in a file or declaration, nested, in order."""

    path: str
    root: str
    results: Sequence[OutlineEntry]


@dataclass(frozen=True, slots=True)
class JobReply(JobView):
    """State of an indexing job.

    Attributes:
        progress: Its progress; None before it starts.
        report: Its report; None before it is done.
        error, hint: The error and advice; empty without an error.
        type: Class of the error.
        retryable: Whether another run may succeed.
    """

    type: str = ""
    retryable: bool = False


@dataclass(frozen=True, slots=True)
class JobsReply:
    """Indexing jobs, newest first."""

    jobs: Sequence[JobReply]
