"""Users of pytest fixtures, which tests name as parameters: the code graph has no edge for them."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import PurePosixPath
from typing import Final

from coderag.codegraph.declaration_groups import FUNCTION_KINDS
from coderag.codegraph.graph import CodeGraph
from coderag.retrieval.mentions.indexed_files import IndexedFiles, MatchingFile
from coderag.retrieval.mentions.name_pattern import NamePattern
from coderag.stores.graph_tables import FILE_KIND

_FIXTURE: Final = re.compile(r"^\s*@(?:[\w.]+\.)?fixture\b(?P<arguments>.*)")
_SHARED_FILE: Final = "conftest.py"
_USER_WEIGHT: Final = 0.9
_AUTOUSE_WEIGHT: Final = 0.3
_MAX_DECORATOR_LINES: Final = 12
_MAX_HEAD_LINES: Final = 10


class FixtureUsers:
    """Fixtures of the indexed tests in Python, and the functions that take them.

    Args:
        graph: The code graph.
        files: The indexed files.
    """

    def __init__(self, graph: CodeGraph, files: IndexedFiles) -> None:
        self._graph = graph
        self._files = files

    def find(self, node: int) -> Iterator[tuple[int, float]]:
        """Yield the tests and fixtures that take a fixture, each with a weight; nothing for other nodes."""
        if node not in self._fixtures:
            return
        name = self._graph.symbols.names[node].as_py()
        scope = self._find_scope(node)
        users = set[int]()
        for file in self._files.find_files(NamePattern((name,))):
            if file.record.language == "python" and file.record.path.startswith(scope):
                users.update(self._find_takers(file))
        yield from ((user, _USER_WEIGHT) for user in users - {node})
        if self._fixtures[node]:
            yield from ((test, _AUTOUSE_WEIGHT) for test in self._find_scope_tests(scope) if test not in users)

    def _find_scope(self, node: int) -> str:
        """Return the beginning of the paths in which a fixture is visible: a folder for a shared one."""
        path = PurePosixPath(self._graph.symbols.paths[node])
        if path.name != _SHARED_FILE:
            return str(path)
        return "" if str(path.parent) == "." else f"{path.parent}/"

    @cached_property
    def _fixtures(self) -> dict[int, bool]:
        """Nodes of all fixtures, with whether they apply to every test in their scope."""
        fixtures: dict[int, bool] = {}
        for file in self._files.find_files(NamePattern(("fixture",))):
            if file.record.language != "python":
                continue
            for line, _, _ in file.spans:
                decorator = _FIXTURE.match(file.lines[line - 1])
                node = self._find_decorated(file.record.path, line) if decorator else None
                if decorator and node is not None:
                    text = "".join(file.lines[line - 1 : line + 3])
                    fixtures[node] = "autouse=True" in text.replace(" ", "").partition("def")[0]
        return fixtures

    def _find_decorated(self, path: str, line: int) -> int | None:
        """Return the declaration below a decorator; None if there is none nearby."""
        symbols = self._graph.symbols
        file = symbols.find_file(path)
        nodes = (
            [] if file is None else [node for node in symbols.get_file_nodes(file) if symbols.kinds[node] != FILE_KIND]
        )
        below = [node for node in nodes if line < symbols.start_lines[node] <= line + _MAX_DECORATOR_LINES]
        return min(below, key=lambda node: int(symbols.start_lines[node]), default=None)

    def _find_takers(self, file: MatchingFile) -> Iterator[int]:
        """Yield the functions of a file that take a fixture: as a parameter, by a mark, or by its name as a text."""
        symbols, path = self._graph.symbols, file.record.path
        for line, start, _ in file.spans:
            text = file.lines[line - 1]
            inner = symbols.find_innermost(path, line)
            is_quoted = text[max(start - 1, 0) : start] in ("'", '"')
            if inner is not None and symbols.kinds[inner] in FUNCTION_KINDS:
                if is_quoted or self._is_parameter(file.lines, inner, line, start):
                    yield inner
            elif is_quoted and (decorated := self._find_decorated(path, line)) is not None:
                members = self._graph.declaration_groups.find_members([decorated])
                yield from (node for node in (decorated, *members) if symbols.kinds[node] in FUNCTION_KINDS)
            elif is_quoted and inner is not None:  # `pytestmark` of a module
                yield from self._find_scope_tests(path)

    def _is_parameter(self, lines: Sequence[str], node: int, line: int, column: int) -> bool:
        """Return whether a place is between the parentheses of a function's head."""
        first = int(self._graph.symbols.start_lines[node])
        if not first <= line <= first + _MAX_HEAD_LINES:
            return False
        before = "\n".join([*lines[first - 1 : line - 1], lines[line - 1][:column]])
        return before.count("(") > before.count(")")

    def _find_scope_tests(self, scope: str) -> Iterator[int]:
        symbols = self._graph.symbols
        for file in symbols.files.tolist():
            if symbols.languages[file] == "python" and symbols.paths[file].startswith(scope):
                yield from (
                    node
                    for node in symbols.get_file_nodes(file)
                    if symbols.kinds[node] in FUNCTION_KINDS and symbols.names[node].as_py().startswith("test")
                )
