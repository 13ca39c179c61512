"""Agents that query CodeRAG: by pages of results, by reading the results' lines, or by one context."""

from collections.abc import Iterator, Sequence, Set
from typing import Final

from coderag.interfaces.mcp.arguments import MAX_RANKED_RESULTS

from ..coderag_engine import CoderagEngine  # noqa: TID252  # installed, it has another name
from ..repository import Repository  # noqa: TID252  # installed, it has another name
from .calling import McpTools, ToolOutput
from .reading import number_lines
from .spending import Line, Place, compute_recall_by_budget

_MAX_CONTEXT_TOKENS: Final = 24_000  # limit of the tool
_MAX_SNIPPET_LINES: Final = 80  # most results fit


class SearchAgent:
    """Agent that reads pages of ten results with as much of their code as the tool gives."""

    name = "coderag_search"

    def __init__(self, tools: McpTools) -> None:
        self._tools = tools

    def stream_lines(self, question: str) -> Iterator[Line]:
        """Yield the lines that cost tokens, until there are no more results."""
        for page in _read_pages(self._tools, question, snippet_lines=_MAX_SNIPPET_LINES):
            yield from page.lines


class SearchAndReadAgent:
    """Agent that reads results with the tool's default snippets, and then the rest of each result's lines."""

    name = "coderag_search, read places"

    def __init__(self, tools: McpTools) -> None:
        self._tools = tools

    def stream_lines(self, question: str) -> Iterator[Line]:
        """Yield the lines that cost tokens, until there are no more results."""
        repository, read = self._tools.repository, set[Place]()
        for page in _read_pages(self._tools, question):
            yield from page.lines
            read |= {line.place for line in page.lines if line.place}
            for result in page.results:
                yield from number_lines(
                    repository, result["path"], range(result["start_line"], result["end_line"] + 1), read
                )


class McpContextAgent:
    """Agent that requests one context per budget, up to the limit of the tool."""

    name = "coderag_context"

    def __init__(self, tools: McpTools) -> None:
        self._tools = tools

    def measure_recall(self, question: str, wanted: Set[Place], budgets: Sequence[int]) -> list[float]:
        """Return the share of the wanted lines in the context of each budget."""
        sizes = {min(budget, _MAX_CONTEXT_TOKENS) for budget in budgets}
        lines_by_size = {
            size: self._tools.call("coderag_context", query=question, max_tokens=size).lines for size in sizes
        }
        # A reply may exceed its budget slightly; lines beyond the budget do not count.
        return [
            compute_recall_by_budget(lines_by_size[min(budget, _MAX_CONTEXT_TOKENS)], wanted, [budget])[0]
            for budget in budgets
        ]


class PythonContextAgent:
    """Program that requests one context per budget from the Python interface, which has no reply limit."""

    name = "coderag context in Python"

    def __init__(self, repository: Repository) -> None:
        self._engine = CoderagEngine(repository)

    def measure_recall(self, question: str, wanted: Set[Place], budgets: Sequence[int]) -> list[float]:
        """Return the share of the wanted lines in the context of each budget."""
        contexts = self._engine.build_contexts(question, budgets).lines
        return [
            len(wanted & {(entry.path, number) for entry in contexts[budget] for number in entry.lines}) / len(wanted)
            for budget in budgets
        ]


def _read_pages(tools: McpTools, question: str, **arguments: int) -> Iterator[ToolOutput]:
    """Yield the pages of a search."""
    offset = 0
    while offset < MAX_RANKED_RESULTS:
        page = tools.call("coderag_search", query=question, offset=offset, **arguments)
        yield page
        if not page.results:
            return
        offset += len(page.results)
