"""Questions from tests: what the name or docstring of a test says is checked, and the code that the test calls."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from coderag.codegraph.symbol_graph import GraphNode, SymbolGraph
from coderag.text.tokenizer import split_identifier, tokenize_text

from ..golden import Question, Target  # noqa: TID252  # installed, it has another name
from ..repository import Repository  # noqa: TID252
from .mined import LIMIT, NAMES_ANSWER, Mined, Progress
from .outline import LONGEST_TYPE, docstrings
from .wording import fault_of_words, is_test_name, names_answer, question_of_test

_CALLS: Final = ("calls", "instantiates")
_FUNCTIONS: Final = ("function", "method")
_FEW = 2  # called declarations that may all be meant
_MOST = 8  # more, and the test is of a whole flow
_SURE = 0.7


@dataclass(frozen=True, slots=True)
class _Test:
    node: GraphNode
    docstring: str


def mine_tests(repository: Repository, *, limit: int = LIMIT, progress: Progress | None = None) -> Mined:
    """Return questions from the tests of an indexed repository.

    The answers are the declarations that the test calls, by the code graph; of more than two, those whose name is in what
    the test says, and the others are right as well. Tests without a function of their own, as those that JavaScript
    passes to ``it``, are not found.

    Args:
        repository: The repository.
        limit: Number of questions, at most, taken evenly from all test files.
        progress: Told how many tests were looked at.
    """
    mined = Mined("tests")
    symbols = repository.rag.graph.symbols
    tests = _evenly(list(_tests(symbols, repository)))
    mined.take((_question(test, symbols) for test in tests), limit, progress)
    return mined


def _tests(symbols: SymbolGraph, repository: Repository) -> Iterator[_Test]:
    documented: dict[str, dict[str, str]] = {}
    for kind in _FUNCTIONS:
        for id_ in symbols.find_by_kind(kind).tolist():
            if symbols.roles[id_] == "test" and is_test_name(symbols.names[id_].as_py()):
                node = symbols.get_node(id_)
                if node.path not in documented:
                    documented[node.path] = docstrings(node.path, "\n".join(repository.lines(node.path)))
                yield _Test(node, documented[node.path].get(node.qualified_name, ""))


def _evenly(tests: Sequence[_Test]) -> list[_Test]:
    """Return the tests file by file in turns, so that the first hundred are not those of two files."""
    turns: dict[str, int] = {}
    placed = []
    for test in sorted(tests, key=lambda test: test.node.id):
        turns[test.node.path] = turns.get(test.node.path, 0) + 1
        placed.append((turns[test.node.path], test.node.id, test))
    return [test for _, _, test in sorted(placed, key=lambda entry: entry[:2])]


def _question(test: _Test, symbols: SymbolGraph) -> Question | str:
    node = test.node
    text = question_of_test(node.name, test.docstring)
    if fault := fault_of_words(text):
        return fault
    called = _called(node.id, symbols)
    if not called:
        return "no call of source code is known"
    if len(called) > _MOST:
        return f"more than {_MOST} declarations called"
    terms = set(tokenize_text(text))
    meant = [one for one in called if terms.intersection(tokenize_text(" ".join(split_identifier(one.name))))]
    meant = called if len(called) <= _FEW else meant
    if not meant:
        return "which of the called declarations is meant is not said"
    names = [one.name for one in meant]
    tags = ["test", *([NAMES_ANSWER] if names_answer(text, names, [one.path for one in meant]) else [])]
    place = f"{node.path}::{node.qualified_name}"
    return Question(
        id=f"test-{hashlib.sha256(place.encode('utf-8', 'replace')).hexdigest()[:12]}",
        question=text,
        answers=tuple(map(_target, meant)),
        also=tuple(_target(one) for one in called if one not in meant),
        tags=tuple(tags),
        origin=f"test {place}, what it calls",
    )


def _called(test: int, symbols: SymbolGraph) -> list[GraphNode]:
    """Return the declarations in source code that a test calls, or anything inside of it does, in the order of lines."""
    inside = [test, *symbols.find_descendants(test)]
    edges = [edge for node in inside for edge in symbols.find_edges(node, "out", _CALLS, _SURE)]
    targets = dict.fromkeys(edge.target for edge in sorted(edges, key=lambda edge: edge.line))
    called = (symbols.get_node(target) for target in targets)
    return [node for node in called if node.role == "source" and node.start_line and _is_short(node)]


def _is_short(node: GraphNode) -> bool:
    return node.kind in _FUNCTIONS or node.end_line - node.start_line < LONGEST_TYPE


def _target(node: GraphNode) -> Target:
    return Target(path=node.path, start_line=node.start_line, end_line=node.end_line, symbol=node.qualified_name)
