"""Users of module-level values, such as tables and constants: the code graph lacks reads by index or attribute."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from coderag.codegraph.declaration_groups import FUNCTION_KINDS
from coderag.codegraph.graph import CodeGraph
from coderag.retrieval.mentions.name_pattern import NamePattern

_VALUE_KINDS: Final = frozenset({"variable", "constant"})
_USER_WEIGHT: Final = 0.8
_MAX_FILES: Final = 50


class ValueUsers:
    """Functions and values that name a value, in its own file and in those that import it by name.

    Args:
        graph: The code graph.
        read_lines: Returns the lines of an indexed file.
    """

    def __init__(self, graph: CodeGraph, read_lines: Callable[[str], Sequence[str]]) -> None:
        self._graph = graph
        self._read_lines = read_lines

    def find(self, node: int) -> Iterator[tuple[int, float]]:
        """Yield the users of a value, each with a weight; nothing for other nodes."""
        symbols = self._graph.symbols
        own_file = symbols.find_containing_file(node)
        if symbols.kinds[node] not in _VALUE_KINDS or own_file is None:
            return
        importers = (symbols.find_containing_file(edge.source) for edge in symbols.find_edges(node, "in", ("imports",)))
        files = dict.fromkeys([own_file, *(file for file in importers if file is not None)])
        pattern = NamePattern((symbols.names[node].as_py(),))
        users = {user for file in list(files)[:_MAX_FILES] for user in self._find_in_file(symbols.paths[file], pattern)}
        yield from ((user, _USER_WEIGHT) for user in sorted(users - {node}))

    def _find_in_file(self, path: str, pattern: NamePattern) -> Iterator[int]:
        symbols = self._graph.symbols
        for line, text in enumerate(self._read_lines(path), 1):
            if any(pattern.find_spans(text, "")):
                inner = symbols.find_innermost(path, line)
                if inner is not None and symbols.kinds[inner] in FUNCTION_KINDS | _VALUE_KINDS:
                    yield inner
