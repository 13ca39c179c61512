"""Federated search over several repositories (docs/repositories.md explains the order of results)."""

import threading
import time
from collections.abc import Callable, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from coderag.engine.query_input import build_query_input
from coderag.errors import CodeRAGError, RetrievalError
from coderag.retrieval.filters import to_filter_values
from coderag.schema.search import Filters, SearchHits
from coderag.workspace.results import RepositoryHit, RepositoryVerdict, WorkspaceHits

if TYPE_CHECKING:
    from coderag.workspace.repository import OpenRepository

TIMEOUT_S: Final = 30.0
"""Seconds after which a repository without a reply is reported as an error."""

_MAX_PARALLEL: Final = 4
_TIERS: Final = {"found": 0, "weak": 1, "unknown": 1, "not_found": 2}


class RepositoryReply(NamedTuple):
    """Reply of a repository.

    Attributes:
        name: Name of the repository.
        root: Its folder.
        top_k: Requested number of results.
    """

    name: str
    root: str
    hits: SearchHits
    top_k: int = 0


def search_repositories(
    query: str,
    places: Sequence[str | Path],
    open_repository: "Callable[[str | Path], OpenRepository]",
    *,
    top_k: int | None,
    filters: Filters | None,
) -> WorkspaceHits:
    """Search several repositories. The error of one is in its verdict and does not affect the others.

    Args:
        query: The query.
        places: Folders or names of the repositories, each once.
        open_repository: Opens one; may raise `CodeRAGError`.
        top_k: Maximum number of results; None takes the largest of the repositories' settings.
        filters: Filters of the search.

    Raises:
        InvalidQueryError: The query is empty or too long.
    """
    build_query_input(query, "search", top_k=top_k, filters=to_filter_values(filters) if filters else None)

    def ask(place: str | Path) -> RepositoryReply:
        with open_repository(place).keep_open() as repository:
            hits = repository.engine.search(query, top_k=top_k, filters=filters)
            default_top_k = repository.engine.settings.search.top_k
            return RepositoryReply(repository.name, repository.place, hits, top_k or default_top_k)

    replies, verdicts = query_repositories(places, ask)
    return WorkspaceHits(merge_hits(replies, max((reply.top_k for reply in replies), default=0)), verdicts)


def query_repositories(
    places: Sequence[str | Path], ask: Callable[[str | Path], RepositoryReply], *, timeout_s: float = TIMEOUT_S
) -> tuple[list[RepositoryReply], list[RepositoryVerdict]]:
    """Query repositories in parallel; return their replies and a verdict for each, in their order.

    Args:
        places: Folders or names of the repositories.
        ask: Queries one repository; may raise `CodeRAGError`.
        timeout_s: Total timeout in seconds.
    """
    outcomes: list[RepositoryReply | CodeRAGError | None] = [None] * len(places)
    slots = threading.Semaphore(_MAX_PARALLEL)

    def run(position: int) -> None:
        with slots:
            try:
                outcomes[position] = ask(places[position])
            except CodeRAGError as error:
                outcomes[position] = error

    threads = [threading.Thread(target=run, args=(position,), daemon=True) for position in range(len(places))]
    for thread in threads:
        thread.start()
    until = time.monotonic() + timeout_s
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    timeout_error = RetrievalError(f"no answer within {timeout_s:g} s")
    completed = [outcome or timeout_error for outcome in outcomes]
    verdicts = [_build_verdict(place, outcome) for place, outcome in zip(places, completed, strict=True)]
    return [outcome for outcome in completed if isinstance(outcome, RepositoryReply)], verdicts


def merge_hits(replies: Sequence[RepositoryReply], top_k: int) -> list[RepositoryHit]:
    """Merge the results of all repositories, best first.

    Scores of different repositories are not comparable; verdicts, ranks and confidences are. Repositories with the best
    verdict come first and are interleaved by rank, the most confident one leading.
    """
    hits: list[RepositoryHit] = []
    for tier in sorted(set(_TIERS.values())):
        group = [reply for reply in replies if _TIERS[reply.hits.evidence] == tier]
        group.sort(key=lambda reply: -reply.hits.confidence)
        columns = [[RepositoryHit(reply.name, reply.root, hit) for hit in reply.hits] for reply in group]
        hits += [hit for hit in chain.from_iterable(zip_longest(*columns)) if hit is not None]
    return hits[:top_k]


def _build_verdict(place: str | Path, outcome: RepositoryReply | CodeRAGError) -> RepositoryVerdict:
    if isinstance(outcome, RepositoryReply):
        hits = outcome.hits
        return RepositoryVerdict(
            outcome.name, outcome.root, hits.evidence, hits.confidence, hits.not_indexed, notes=hits.notes
        )
    message = f"{outcome} ({outcome.hint})" if outcome.hint else str(outcome)
    return RepositoryVerdict(str(place), str(place), "unknown", 0.0, error=message)
