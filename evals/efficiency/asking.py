"""Agents that ask CodeRAG by the tools of its MCP server: results page by page, places that are then read, or one context."""

from collections.abc import Iterator, Sequence, Set
from typing import Final

from coderag.interfaces.mcp.arguments import MAX_RANKED_RESULTS

from ..coderag_engine import CoderagEngine  # noqa: TID252  # installed, it has another name
from ..repository import Repository  # noqa: TID252  # installed, it has another name
from .calling import Told, Tools
from .reading import numbered
from .spending import Line, Place, recall_by_budget

_MOST_TOKENS: Final = 24_000  # the tool makes no larger context
_LONGEST_SNIPPET: Final = 80  # lines; most results are shown whole


class SearchReader:
    """An agent that takes results with as much of their code as the tool gives, ten at a time."""

    name = "coderag_search"

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    def lines(self, question: str) -> Iterator[Line]:
        """Yield the lines that are paid for, until there are no more results."""
        for page in _pages(self._tools, question, snippet_lines=_LONGEST_SNIPPET):
            yield from page.lines


class PlaceReader:
    """An agent that takes results as the tool gives them unasked, with their first lines, and reads the rest of each."""

    name = "coderag_search, read places"

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    def lines(self, question: str) -> Iterator[Line]:
        """Yield the lines that are paid for, until there are no more results."""
        repository, read = self._tools.repository, set[Place]()
        for page in _pages(self._tools, question):
            yield from page.lines
            read |= {line.place for line in page.lines if line.place}
            for one in page.results:
                yield from numbered(repository, one["path"], range(one["start_line"], one["end_line"] + 1), read)


class ContextCaller:
    """An agent that asks for one context of a given size, up to the largest that the tool takes."""

    name = "coderag_context"

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    def recall(self, question: str, wanted: Set[Place], budgets: Sequence[int]) -> list[float]:
        """Return the share of the wanted lines that the context of each size shows."""
        sizes = {min(budget, _MOST_TOKENS) for budget in budgets}
        told = {size: self._tools.call("coderag_context", query=question, max_tokens=size).lines for size in sizes}
        # A reply may be somewhat larger than was asked for: what is beyond the budget is not seen.
        return [recall_by_budget(told[min(budget, _MOST_TOKENS)], wanted, [budget])[0] for budget in budgets]


class ContextAsker:
    """A program that asks for one context of a given size by the Python interface, which cuts none."""

    name = "coderag context in Python"

    def __init__(self, repository: Repository) -> None:
        self._engine = CoderagEngine(repository)

    def recall(self, question: str, wanted: Set[Place], budgets: Sequence[int]) -> list[float]:
        """Return the share of the wanted lines that the context of each size shows."""
        shown = self._engine.look(question, budgets).shown
        return [
            len(wanted & {(one.path, number) for one in shown[budget] for number in one.lines}) / len(wanted)
            for budget in budgets
        ]


def _pages(tools: Tools, question: str, **arguments: int) -> Iterator[Told]:
    """Yield the results of a search, ten at a time."""
    offset = 0
    while offset < MAX_RANKED_RESULTS:
        page = tools.call("coderag_search", query=question, offset=offset, **arguments)
        yield page
        if not page.results:
            return
        offset += len(page.results)
