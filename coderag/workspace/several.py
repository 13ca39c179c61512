"""A question to several repositories at once (docs/repositories.md says why the results are in this order)."""

import threading
import time
from collections.abc import Callable, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import Final, NamedTuple

from coderag.errors import CodeRAGError, RetrievalError
from coderag.schema.search import SearchHits
from coderag.workspace.results import RepositoryHit, RepositoryVerdict

LIMIT_S: Final = 30.0
"""One that has not answered by then is told as an error."""

_AT_ONCE: Final = 4
_TIERS: Final = {"found": 0, "weak": 1, "unknown": 1, "not_found": 2}


class Reply(NamedTuple):
    """What a repository answered.

    Attributes:
        name: Of the repository.
        root: Its folder.
        top_k: How many results it was asked for.
    """

    name: str
    root: str
    found: SearchHits
    top_k: int = 0


def ask_several(
    places: Sequence[str | Path], ask: Callable[[str | Path], Reply], *, limit_s: float = LIMIT_S
) -> tuple[list[Reply], list[RepositoryVerdict]]:
    """Ask repositories side by side; return what was answered, and a verdict on each, in their order.

    Args:
        places: Folders or names of the repositories.
        ask: Asks one; may raise `CodeRAGError`.
        limit_s: Seconds to wait for all of them.
    """
    outcomes: list[Reply | CodeRAGError | None] = [None] * len(places)
    turns = threading.Semaphore(_AT_ONCE)

    def run(position: int) -> None:
        with turns:
            try:
                outcomes[position] = ask(places[position])
            except CodeRAGError as error:
                outcomes[position] = error

    threads = [threading.Thread(target=run, args=(position,), daemon=True) for position in range(len(places))]
    for thread in threads:
        thread.start()
    until = time.monotonic() + limit_s
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    late = RetrievalError(f"no answer within {limit_s:g} s")
    done = [outcome or late for outcome in outcomes]
    verdicts = [_verdict(place, outcome) for place, outcome in zip(places, done, strict=True)]
    return [outcome for outcome in done if isinstance(outcome, Reply)], verdicts


def merged(replies: Sequence[Reply], top_k: int) -> list[RepositoryHit]:
    """Return the best results of all, best first.

    Scores of different repositories are not comparable. What is: the verdict, then the rank within the repository, then
    the repository's confidence. So those that clearly have an answer come first and take turns, the surest begins.
    """
    hits: list[RepositoryHit] = []
    for tier in sorted(set(_TIERS.values())):
        group = [reply for reply in replies if _TIERS[reply.found.evidence] == tier]
        group.sort(key=lambda reply: -reply.found.confidence)
        columns = [[RepositoryHit(reply.name, reply.root, hit) for hit in reply.found] for reply in group]
        hits += [hit for hit in chain.from_iterable(zip_longest(*columns)) if hit is not None]
    return hits[:top_k]


def _verdict(place: str | Path, outcome: Reply | CodeRAGError) -> RepositoryVerdict:
    if isinstance(outcome, Reply):
        found = outcome.found
        return RepositoryVerdict(outcome.name, outcome.root, found.evidence, found.confidence, found.not_indexed)
    told = f"{outcome} ({outcome.hint})" if outcome.hint else str(outcome)
    return RepositoryVerdict(str(place), str(place), "unknown", 0.0, error=told)
