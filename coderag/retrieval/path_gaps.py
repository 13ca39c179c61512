"""Search on both sides of a gap between two declarations: where known calls end, and what reaches the other side."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from coderag.codegraph.graph import CodeGraph
from coderag.retrieval.mentions.indexed_files import IndexedFiles
from coderag.retrieval.mentions.mention_search import MentionSearch
from coderag.schema.graph import GraphDeclaration, GraphNeighbour
from coderag.schema.path_gaps import Handoff, HandoffKind, PathGap
from coderag.stores.protocols import IndexSnapshot

_DEPTH_OUT, _DEPTH_IN = 3, 2
_MAX_DECLARATIONS: Final = 60  # read on each side
_MAX_LINES: Final = 400  # of a declaration
_MAX_LINE_CHARS: Final = 400
_MAX_LAST, _MAX_HANDOFFS, _MAX_CALLERS, _MAX_MENTIONS = 3, 5, 6, 3
_MIN_NAME_CHARS: Final = 3
_MAX_SHARED_LINES: Final = 12  # a name on more lines of the other side tells little

_KINDS: Final[Sequence[tuple[HandoffKind, re.Pattern[str]]]] = (
    (
        "queue or channel",
        re.compile(
            r"\w\s*<-\s*\S|\.(?:put|put_nowait|enqueue|offer|try_send|send_nowait|lpush|rpush|sendall?)\w*\s*\(|\.push(?:_back)?\s*\("
        ),
    ),
    (
        "event",
        re.compile(
            r"\.(?:emit|dispatchEvent|dispatch|trigger|notify\w*|[Bb]roadcast|[Ss]ignal|set_result|publish|fire)\s*\(|\.set\(\s*\)"
        ),
    ),
    (
        "task or timer",
        re.compile(
            r"\bgo\s+(?:func\b|[\w.]+\()|\b(?:create_task|ensure_future|spawn\w*|submit|call_soon\w*|call_later|run_in_executor|setTimeout|setInterval"
            r"|setImmediate|nextTick|queueMicrotask|Thread|Process|AfterFunc|schedule\w*)\s*\(|\.start\(\s*\)"
        ),
    ),
    (
        "callback",
        re.compile(
            r"\.(?:on|once|addListener|addEventListener|subscribe|register\w*|add_\w*(?:handler|callback|hook|listener)\w*|connect|then|signal)\s*\("
        ),
    ),
    ("dynamic call", re.compile(r"\b(?:getattr|import_module|eval|exec|invoke\w*|apply)\s*\(|\]\s*\(|\.call\s*\(")),
    (
        "network",
        re.compile(r"\b(?:fetch|urlopen|request|sendto|connect)\s*\(|\b(?:http|https|requests|axios|grpc)\.\w+\s*\("),
    ),
)
_TELLING_KINDS: Final = frozenset[HandoffKind]({"value", "queue or channel", "event"})
"""Kinds of lines that always hand over; the others may only look like it."""

_COMMENT: Final = re.compile(r"\s*(?://|#(?!\[)|/?\*(?!\w)|--|\"\"\"|''')")
_ASSIGNED: Final = re.compile(
    r"(?:\.|->|@)(\w+)\s*(?:[-+|&]?=(?!=|>)(?!\s*(?:nil|None|null|undefined|nullptr)\b)|\+\+)"
)
_MEMBERS: Final = re.compile(r"(?:\.|->|::|@)\s*(\w+)\b(?!\s*\()")
_TEXTS: Final = re.compile(r"[\"'`]([\w.:/ -]{3,60})[\"'`]")


class _Place(NamedTuple):
    """Declaration on one side, with its distance from the end of that side."""

    path: str
    start_line: int
    end_line: int
    symbol: str
    depth: int


class _Line(NamedTuple):
    place: _Place
    number: int
    text: str


class PathGapSearch:
    """Search for what is known around a gap.

    Args:
        graph: The code graph.
        snapshot: The snapshot of the index that the graph belongs to.
    """

    def __init__(self, graph: CodeGraph, snapshot: IndexSnapshot) -> None:
        self._graph = graph
        self._files = IndexedFiles(snapshot)
        self._mentions = MentionSearch(graph, snapshot)

    def find(self, start: str, end: str) -> PathGap:
        """Find how far known calls lead from a declaration, where they end, and what reaches another one.

        Raises:
            UnknownNameError: No declaration has one of the names.
            AmbiguousNameError: Several declarations have one of the names.
        """
        reached = [step for step in self._graph.callees(start, _DEPTH_OUT) if step.path]
        callers = [step for step in self._graph.callers(end, _DEPTH_IN) if step.path]
        starts, ends = self._find_declarations(start), self._find_declarations(end)
        near_side = list(self._iterate_lines([*_to_places(starts), *map(_to_place, _keep_code(reached))]))
        far_side = list(self._iterate_lines([*_to_places(ends), *map(_to_place, _keep_code(callers))]))
        handoffs = _find_handoffs(near_side, far_side, {declared.qualified_name for declared in ends})
        nearest = [caller for caller in callers if caller.depth == 1]
        mentions = () if nearest else self._mentions.find(end, "callers", limit=_MAX_MENTIONS).lines
        return PathGap(
            start,
            end,
            len({(step.path, step.start_line) for step in reached}),
            _list_last(reached),
            handoffs[:_MAX_HANDOFFS],
            sorted(nearest, key=lambda caller: caller.role == "test")[:_MAX_CALLERS],
            mentions,
            self._graph.path(end, start),
        )

    def _find_declarations(self, name: str) -> list[GraphDeclaration]:
        resolver = self._graph.symbol_resolver
        return [resolver.to_declaration(node) for node in resolver.resolve(name)]

    def _iterate_lines(self, places: Iterable[_Place]) -> Iterator[_Line]:
        """Yield the lines of code of some declarations, each line once, without comments."""
        seen: set[tuple[str, int]] = set()
        for place in list(dict.fromkeys(places))[:_MAX_DECLARATIONS]:
            lines = self._files.read_lines(place.path)[place.start_line - 1 : place.end_line][:_MAX_LINES]
            for number, text in enumerate(lines, place.start_line):
                if (place.path, number) not in seen and text.strip() and not _COMMENT.match(text):
                    seen.add((place.path, number))
                    yield _Line(place, number, text[:_MAX_LINE_CHARS])


def _to_places(declarations: Iterable[GraphDeclaration]) -> list[_Place]:
    return [
        _Place(declared.path, declared.start_line, declared.end_line, declared.qualified_name, 0)
        for declared in declarations
    ]


def _to_place(step: GraphNeighbour) -> _Place:
    return _Place(step.path, step.start_line, step.end_line, step.qualified_name, step.depth)


def _keep_code(steps: Iterable[GraphNeighbour]) -> Iterator[GraphNeighbour]:
    """Yield the steps that are no tests and no files as a whole."""
    return (step for step in steps if step.role != "test" and step.kind != "file")


def _list_last(reached: Sequence[GraphNeighbour]) -> list[GraphNeighbour]:
    """List the declarations farthest from the start, of code that is no test."""
    steps = list(_keep_code(reached))
    depth = max((step.depth for step in steps), default=0)
    last = {(step.path, step.start_line): step for step in reversed(steps) if step.depth == depth}
    return list(last.values())[::-1][:_MAX_LAST]


def _find_handoffs(near_side: Sequence[_Line], far_side: Sequence[_Line], ends: set[str]) -> list[Handoff]:
    """Find the lines that may hand over to the other side, those that share a name with it first."""
    own_names = {line.place.symbol.rpartition(".")[2] for line in near_side}
    far_lines: dict[str, list[_Line]] = {}
    for line in far_side:
        for name in _list_names(line.text):
            far_lines.setdefault(name, []).append(line)
    end_names = {end.rpartition(".")[2] for end in ends}
    best: dict[tuple[str, str], tuple[tuple[bool, bool, int, int], Handoff]] = {}
    for position, line in enumerate(near_side):
        handoff = _build_handoff(line, far_lines, end_names - own_names)
        if handoff is None:
            continue
        is_rare = len(far_lines.get(handoff.shared, ())) <= _MAX_SHARED_LINES
        is_linked = bool(handoff.shared) and is_rare
        rank = (not is_linked, handoff.kind not in _TELLING_KINDS, handoff.depth, position)
        key = (handoff.shared, handoff.symbol) if handoff.shared else (handoff.kind, "")
        if key not in best or rank < best[key][0]:
            best[key] = rank, handoff
    return [handoff for _, handoff in sorted(best.values(), key=lambda entry: entry[0])]


def _build_handoff(line: _Line, far_lines: Mapping[str, Sequence[_Line]], end_names: set[str]) -> Handoff | None:
    text, place = line.text.strip(), line.place
    handoff = Handoff(place.path, line.number, text, place.symbol, "value", place.depth)
    for name in end_names:
        if len(name) >= _MIN_NAME_CHARS and re.search(rf"(?<![\w]){re.escape(name)}\b(?!\s*\()", text):
            return replace(handoff, shared=name)
    kind = next((kind for kind, pattern in _KINDS if pattern.search(text)), None)
    assigned = [name for name in _ASSIGNED.findall(text) if name in far_lines]
    if kind is None and not assigned:
        return None
    names = assigned if kind is None else [name for name in _list_names(text) if name in far_lines]
    shared = min(names, key=lambda name: len(far_lines[name]), default="")
    handoff = replace(handoff, kind=kind or "field", shared=shared)
    if not shared:
        return handoff
    other = far_lines[shared][0]
    return replace(handoff, other_path=other.place.path, other_line=other.number)


def _list_names(text: str) -> list[str]:
    """List the members and the texts on a line, by which code far from it may be reached."""
    names = [*_MEMBERS.findall(text), *_TEXTS.findall(text)]
    return [name for name in dict.fromkeys(names) if len(name) >= _MIN_NAME_CHARS]
