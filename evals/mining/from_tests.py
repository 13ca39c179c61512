"""Golden questions from tests: the name or docstring is the question, the called declarations are the answers."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from coderag.codegraph.symbol_graph import GraphNode, SymbolGraph
from coderag.text.tokenizer import split_identifier, tokenize_text

from ..golden import Question, Target  # noqa: TID252  # installed, it has another name
from ..repository import Repository  # noqa: TID252
from .mined import DEFAULT_LIMIT, NAMES_ANSWER, MiningResult, Progress
from .outline import MAX_TYPE_LINES, extract_docstrings
from .wording import extract_test_question, find_length_fault, has_answer_name, is_test_name

_CALLS: Final = ("calls", "instantiates")
_FUNCTIONS: Final = ("function", "method")
_MAX_ANSWERS = 2  # with so few calls, all are answers
_MAX_CALLED = 8  # a test with more calls covers a whole flow
_MIN_CONFIDENCE = 0.7


@dataclass(frozen=True, slots=True)
class _Test:
    node: GraphNode
    docstring: str


def mine_tests(repository: Repository, *, limit: int = DEFAULT_LIMIT, progress: Progress | None = None) -> MiningResult:
    """Mine questions from the tests of an indexed repository.

    The answers are the declarations that the test calls, from the code graph. Of more than two, those that the text names
    are answers, and the rest are optional. Anonymous tests, such as callbacks of JavaScript's ``it``, are not mined.

    Args:
        repository: The indexed repository.
        limit: Maximum number of questions, spread evenly over the test files.
        progress: Called with the number of examined tests.
    """
    mined = MiningResult("tests")
    symbols = repository.rag.graph.symbols
    tests = _spread_over_files(list(_find_tests(symbols, repository)))
    mined.take((_build_question(test, symbols) for test in tests), limit, progress)
    return mined


def _find_tests(symbols: SymbolGraph, repository: Repository) -> Iterator[_Test]:
    documented: dict[str, dict[str, str]] = {}
    for kind in _FUNCTIONS:
        for id_ in symbols.find_by_kind(kind).tolist():
            if symbols.roles[id_] == "test" and is_test_name(symbols.names[id_].as_py()):
                node = symbols.get_node(id_)
                if node.path not in documented:
                    documented[node.path] = extract_docstrings(node.path, "\n".join(repository.read_lines(node.path)))
                yield _Test(node, documented[node.path].get(node.qualified_name, ""))


def _spread_over_files(tests: Sequence[_Test]) -> list[_Test]:
    """Order tests round-robin over files, so that the first hundred are not those of two files."""
    turns: dict[str, int] = {}
    placed = []
    for test in sorted(tests, key=lambda test: test.node.id):
        turns[test.node.path] = turns.get(test.node.path, 0) + 1
        placed.append((turns[test.node.path], test.node.id, test))
    return [test for _, _, test in sorted(placed, key=lambda entry: entry[:2])]


def _build_question(test: _Test, symbols: SymbolGraph) -> Question | str:
    node = test.node
    text = extract_test_question(node.name, test.docstring)
    if fault := find_length_fault(text):
        return fault
    called = _find_called(node.id, symbols)
    if not called:
        return "no call of source code is known"
    if len(called) > _MAX_CALLED:
        return f"more than {_MAX_CALLED} declarations called"
    terms = set(tokenize_text(text))
    targets = [
        declaration
        for declaration in called
        if terms.intersection(tokenize_text(" ".join(split_identifier(declaration.name))))
    ]
    targets = called if len(called) <= _MAX_ANSWERS else targets
    if not targets:
        return "which of the called declarations is meant is not said"
    names = [declaration.name for declaration in targets]
    tags = [
        "test",
        *([NAMES_ANSWER] if has_answer_name(text, names, [declaration.path for declaration in targets]) else []),
    ]
    place = f"{node.path}::{node.qualified_name}"
    return Question(
        id=f"test-{hashlib.sha256(place.encode('utf-8', 'replace')).hexdigest()[:12]}",
        question=text,
        answers=tuple(map(_to_target, targets)),
        also=tuple(_to_target(declaration) for declaration in called if declaration not in targets),
        tags=tuple(tags),
        origin=f"test {place}, what it calls",
    )


def _find_called(test: int, symbols: SymbolGraph) -> list[GraphNode]:
    """Return the source declarations that a test or a function inside it calls, in order of lines."""
    inside = [test, *symbols.find_descendants(test)]
    edges = [edge for node in inside for edge in symbols.find_edges(node, "out", _CALLS, _MIN_CONFIDENCE)]
    targets = dict.fromkeys(edge.target for edge in sorted(edges, key=lambda edge: edge.line))
    called = (symbols.get_node(target) for target in targets)
    return [node for node in called if node.role == "source" and node.start_line and _is_short(node)]


def _is_short(node: GraphNode) -> bool:
    return node.kind in _FUNCTIONS or node.end_line - node.start_line < MAX_TYPE_LINES


def _to_target(node: GraphNode) -> Target:
    return Target(path=node.path, start_line=node.start_line, end_line=node.end_line, symbol=node.qualified_name)
