"""Agents that ask CodeRAG: results page by page, places that are then read, or one context of a given size."""

from collections.abc import Iterator, Sequence, Set

from coderag.schema import SearchHit
from coderag.settings import MOST_RESULTS

from ..coderag_engine import CoderagEngine  # noqa: TID252  # installed, it has another name
from ..repository import Repository  # noqa: TID252  # installed, it has another name
from .reading import numbered
from .spending import Line, Place, written

_PAGE = 10  # results of one reply


class SearchReader:
    """An agent that takes results with their code, ten at a time."""

    name = "coderag search"

    def __init__(self, repository: Repository) -> None:
        self._repository = repository

    def lines(self, question: str) -> Iterator[Line]:
        """Yield the lines that are paid for, until there are no more results."""
        for hit in self._repository.rag.search(question, top_k=MOST_RESULTS):
            yield written(_heading(hit))
            yield written(f"```{hit.language}")
            for number, text in enumerate(hit.text.rstrip("\n").split("\n"), hit.start_line):
                yield written(text, (str(hit.path), number))
            yield written("```")


class PlaceReader:
    """An agent that takes results without their code, ten at a time, and reads the lines of each."""

    name = "coderag search, read places"

    def __init__(self, repository: Repository) -> None:
        self._repository = repository

    def lines(self, question: str) -> Iterator[Line]:
        """Yield the lines that are paid for, until there are no more results."""
        hits: Sequence[SearchHit] = self._repository.rag.search(question, top_k=MOST_RESULTS)
        read: set[Place] = set()
        for start in range(0, len(hits), _PAGE):
            page = hits[start : start + _PAGE]
            for hit in page:
                yield written(f"{_heading(hit)}: {' '.join((hit.summary or hit.signature).split())}")
            for hit in page:
                yield from numbered(self._repository, str(hit.path), range(hit.start_line, hit.end_line + 1), read)


class ContextAsker:
    """An agent that asks for one context of a given size."""

    name = "coderag context"

    def __init__(self, repository: Repository) -> None:
        self._engine = CoderagEngine(repository)

    def recall(self, question: str, wanted: Set[Place], budgets: Sequence[int]) -> list[float]:
        """Return the share of the wanted lines that the context of each size shows."""
        shown = self._engine.look(question, budgets).shown
        return [
            len(wanted & {(one.path, number) for one in shown[budget] for number in one.lines}) / len(wanted)
            for budget in budgets
        ]


def _heading(hit: SearchHit) -> str:
    return f"{hit.location} {hit.kind} {hit.qualified_name}".rstrip()
