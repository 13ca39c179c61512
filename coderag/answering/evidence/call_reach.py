"""What declarations lead to: the calls that they make, and so on from there, as far as they have to do with a question."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.evidence.index_reader import CALLABLE, Call, Declared, IndexReader
from coderag.schema.query import QueryState
from coderag.stores.snippets import Snippet
from coderag.text.tokenizer import tokenize_text

MOST_NODES: Final = 14
"""Declarations of a flow: a diagram with more is a map, no answer."""

_MOST_CALLS = 4  # of one declaration, beside those that lead to what was found
_SEEDS = 8  # results that a flow is made of
_DEPTH, _DEPTH_AHEAD = 4, 3
_DECAY = 0.7  # of what a declaration is worth, for each call on the way to it
_ENOUGH = 6  # declarations; more must have to do with the question
_OWN = 2.0  # what a beginning itself has to do with the question, against what it leads to
_TELLING = 4  # of what it leads to: what leads to much leads to something of any question
_LATER = 0.8  # for each better result
_CALLER_FACTOR = 0.8  # a result is a better beginning than what calls it
_MOST_REACHED = 150  # declarations, so many calls away, that are looked at
_LEAST_STEPS = 2  # one call is no flow
_LEAST = 0.02  # worth from which on a call has to do with the question

Steps = list[tuple[Call, CitedLines]]
"""Calls, each with its line."""


class Reach:
    """Follows calls for one question.

    Args:
        index: The open index.
        state: With the analysis.
        pieces: Results and related code, best first: what a flow should lead to.
    """

    def __init__(self, index: IndexReader, state: QueryState, pieces: Sequence[Snippet]) -> None:
        self._index = index
        self._worth = _Worth(index, state, pieces)
        seeds = [one for piece in pieces if piece.relation is None and (one := index.of_piece(piece))][:_SEEDS]
        about_tests = state["analysis"]["about_tests"]
        self._seeds = [one for one in seeds if one.kind in CALLABLE and (about_tests or one.role != "test")]

    def first(self, starts: Sequence[Declared]) -> Steps:
        """Return what the first of some declarations leads to that makes a few calls; empty if none does."""
        grown = (_grow(self._index, start, self._worth) for start in starts)
        return next((steps for steps in grown if len(steps) >= _LEAST_STEPS), [])

    def best(self) -> Steps:
        """Return what the result, or a caller of one, leads to that leads to most of the results."""
        index = self._index
        values: dict[Declared, float] = {}
        for place, seed in enumerate(self._seeds):
            values.setdefault(seed, _value(index, seed, self._worth) * _LATER**place)
        for place, seed in enumerate(self._seeds[: _SEEDS // 2]):
            for call in index.calls(index.called(seed), inwards=True)[:_MOST_CALLS]:
                if call.source not in values and call.source.kind in CALLABLE and call.source.role == seed.role:
                    values[call.source] = _CALLER_FACTOR * _value(index, call.source, self._worth) * _LATER**place
        return self.first(sorted(values, key=lambda one: -values[one])[:_SEEDS])


class _Worth:
    """How much a declaration has to do with a question: by its place among the results, and by its name."""

    def __init__(self, index: IndexReader, state: QueryState, pieces: Sequence[Snippet]) -> None:
        self._places: dict[tuple[str, str], float] = {}
        for place, piece in enumerate(piece for piece in pieces if piece.relation is None):
            self._places.setdefault((piece.path, piece.name), _DECAY ** (place / 3))
        for piece in pieces:
            self._places.setdefault((piece.path, piece.name), _DECAY**3)
        self._rarities = {term: index.corpus.idf(term) for term in state["analysis"]["terms"]}
        self._total = sum(self._rarities.values()) or 1.0

    def of(self, path: str, name: str) -> float:
        """Return it, 0 to 2."""
        terms = set(tokenize_text(name.rpartition(".")[2]))
        named = sum(rarity for term, rarity in self._rarities.items() if term in terms) / self._total
        return self._places.get((path, name), 0.0) + named


def _value(index: IndexReader, start: Declared, worth: _Worth) -> float:
    reached = index.graph.callees(start.key, _DEPTH_AHEAD)
    ahead = sorted(worth.of(one.path, one.qualified_name) * _DECAY**one.depth for one in reached if one.path)
    return _OWN * worth.of(start.path, start.name) + float(sum(ahead[-_TELLING:]))


def _grow(index: IndexReader, start: Declared, worth: _Worth) -> Steps:
    """Return the calls that a declaration leads to: those that have to do with the question, else its first ones."""
    ways = _reach(index, start)
    values: dict[int, float] = {}
    for call, depth in ways.values():
        value = worth.of(call.target.path, call.target.name) * _DECAY**depth
        node = call.target.node
        while node in ways:
            values[node] = max(values.get(node, 0.0), value)
            node = ways[node][0].source.node
    children: dict[int, list[Call]] = {}
    for call, _ in ways.values():
        children.setdefault(call.source.node, []).append(call)
    chosen: dict[int, Call] = {}
    waiting = [(call, 0) for call in children.get(start.node, ())]
    while waiting and len(chosen) + 1 < MOST_NODES:
        waiting.sort(key=lambda one: (-values[one[0].target.node] * _DECAY ** one[1], one[0].line))
        call, depth = waiting.pop(0)
        beside = sum(other.source.node == call.source.node for other in chosen.values())
        if values[call.target.node] <= _LEAST and (len(chosen) + 1 >= _ENOUGH or beside >= _MOST_CALLS):
            continue
        chosen[call.target.node] = call
        waiting += [(after, depth + 1) for after in children.get(call.target.node, ())]
    ordered = _in_order(start.node, chosen.values())
    return [(call, line) for call in ordered if (line := index.line(call.path, call.line))]


def _reach(index: IndexReader, start: Declared) -> dict[int, tuple[Call, int]]:
    """Return the call by which each declaration near a start is first reached, and how many calls away it is."""
    ways: dict[int, tuple[Call, int]] = {}
    seen, level = {start.node}, [start]
    for depth in range(1, _DEPTH + 1):
        acting = {actor: one for one in level for actor in index.acting(one.node)}
        level = []
        for call in index.calls(acting):
            target = call.target
            if target.node in seen or target.role != start.role or target.node in acting:
                continue
            seen.add(target.node)
            ways[target.node] = (replace(call, source=acting[call.source.node]), depth)
            level.append(target)
        level = level[:_MOST_REACHED]
    return ways


def _in_order(start: int, calls: Iterable[Call]) -> list[Call]:
    """Return calls as they are made: of each declaration by their lines, each followed by what it leads to."""
    after: dict[int, list[Call]] = {}
    for call in sorted(calls, key=lambda call: -call.line):
        after.setdefault(call.source.node, []).append(call)
    ordered: list[Call] = []
    waiting = after.get(start, [])
    while waiting:
        ordered.append(waiting.pop())
        waiting = [*waiting, *after.get(ordered[-1].target.node, ())]
    return ordered
