"""Graph queries, with output as text, JSON or diagram."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from coderag.codegraph.drawing import (
    DEFAULT_MAX_NODES,
    Drawing,
    draw_cycles,
    draw_neighbours,
    draw_outline,
    to_dot,
    to_mermaid,
)
from coderag.config.repository_root import find_root
from coderag.errors import AmbiguousNameError, InvalidQueryError
from coderag.interfaces.cli.commands.graph import entries
from coderag.interfaces.cli.commands.graph.entry_printer import print_entries
from coderag.interfaces.cli.commands.graph.options import GraphViewOptions
from coderag.interfaces.cli.commands.graph.query_commands import QueryCommand
from coderag.interfaces.cli.indexed_engine import ask_indexed, open_engine
from coderag.interfaces.cli.output.report import MAX_LISTED
from coderag.schema.graph_queries import query_graph
from coderag.schema.vocabulary import CycleLevel

if TYPE_CHECKING:
    from coderag.schema.engine import CodeGraphQueries, Engine
    from coderag.schema.graph import GraphNeighbour


_ResultT = TypeVar("_ResultT")


@dataclass(frozen=True, slots=True)
class _ResultView(Generic[_ResultT]):
    """Presentation of one type of results.

    Attributes:
        request: The request in JSON output.
        empty_text: Note if there are no results.
        draw: Draws the results up to a limit.
    """

    request: Mapping[str, object]
    title: str
    empty_text: str
    make_entries: Callable[[Sequence[_ResultT]], list[entries.GraphEntry]]
    draw: Callable[[Sequence[_ResultT], int], Drawing] | None = None


def run_query(query: QueryCommand, name: str, view: GraphViewOptions, *, depth: int = 0) -> None:
    """Query the neighbours of a declaration.

    Raises:
        UnknownNameError: No declaration has the name.
        AmbiguousNameError: Several declarations have it.
    """
    _show_with_candidates(
        lambda graph, candidates: query_graph(graph, query.name, name, depth, candidates=candidates),
        view,
        _ResultView(
            {"question": query.name, "name": name, **({"depth": depth} if depth else {})},
            query.title.format(name=name),
            query.empty_text.format(name=name),
            partial(entries.make_neighbour_entries, name),
            partial(draw_neighbours, name),
        ),
    )


def show_path(start: str, end: str, view: GraphViewOptions) -> None:
    """Show the shortest path between two declarations. Raises as `run_query`, and if both names are equal."""
    if start == end:
        hint = "`coderag graph cycles --level symbols` lists recursive call cycles."
        raise InvalidQueryError(f"a path from {start} to itself has no steps", hint=hint)
    _show_with_candidates(
        lambda graph, candidates: graph.path(start, end, candidates=candidates),
        view,
        _ResultView(
            {"question": "path", "from": start, "to": end},
            f"path from {start} to {end}",
            f"no path is known from {start} to {end}",
            entries.make_path_entries,
            partial(draw_neighbours, start),
        ),
    )


def show_cycles(level: CycleLevel, view: GraphViewOptions) -> None:
    """Show dependency cycles."""
    rag, results = _query_graph(lambda graph: graph.cycles(level), view)
    result_view = _ResultView(
        {"question": "cycles", "level": level},
        f"cycles of {level}",
        f"no cycles of {level} are known",
        partial(entries.make_cycle_entries, level),
        lambda results, _: draw_cycles(results, view.limit),  # the limit counts cycles, not the boxes in them
    )
    _show_results(rag, results, view, result_view)


def show_hotspots(kind: str | None, limit: int, view: GraphViewOptions) -> None:
    """Show the most depended-on declarations, most central first."""
    rag, results = _query_graph(lambda graph: graph.hotspots(limit, kind), view)
    request = {"question": "hotspots", "kind": kind}
    empty_text = f"nothing of the kind {kind} is indexed" if kind else "nothing is indexed"
    _show_results(rag, results, view, _ResultView(request, "hotspots", empty_text, entries.make_hotspot_entries))


def show_outline(file: str, view: GraphViewOptions) -> None:
    """Show the declarations of a file. Raises as `run_query`, and if it is a folder."""
    file = file.replace(os.sep, "/").removeprefix("./")
    if (find_root(view.repo) / file).is_dir():  # otherwise its path may match a declaration, or its first file
        raise InvalidQueryError(
            f"{file} is a folder", hint="Name a file in it; `coderag graph imports` takes a folder."
        )
    rag, results = _query_graph(lambda graph: graph.outline(file), view)
    result_view = _ResultView(
        {"question": "outline", "path": file},
        f"outline of {file}",
        f"{file} has no declarations",
        partial(entries.make_outline_entries, file),
        partial(draw_outline, file),
    )
    _show_results(rag, results, view, result_view)


def _show_with_candidates(
    query: "Callable[[CodeGraphQueries, bool], Sequence[GraphNeighbour]]",
    view: GraphViewOptions,
    result_view: "_ResultView[GraphNeighbour]",
) -> None:
    """Query and show results; if there is none, count uncertain candidates."""
    rag, results = _query_graph(lambda graph: query(graph, view.candidates), view)
    if not results and not view.candidates:
        _, uncertain = _query_graph(lambda graph: query(graph, True), view)
        if uncertain:
            result_view = replace(
                result_view,
                empty_text=f"{result_view.empty_text}; uncertain: {len(uncertain):,} (--candidates lists them)",
            )
    _show_results(
        rag, results, view, replace(result_view, request={**result_view.request, "candidates": view.candidates})
    )


def _query_graph(
    query: "Callable[[CodeGraphQueries], Sequence[_ResultT]]", view: GraphViewOptions
) -> "tuple[Engine, Sequence[_ResultT]]":
    rag = open_engine(view.repo, view.output)
    try:
        results = ask_indexed(rag, lambda engine: query(engine.graph), view.output, may_index=view.may_index)
    except AmbiguousNameError as error:
        for candidate in error.candidates[:MAX_LISTED]:
            location = f"{candidate.path}:{candidate.start_line}" if candidate.path else "outside the repository"
            view.output.note(f"  {candidate.name}  ({candidate.kind}, {location})")
        if len(error.candidates) > MAX_LISTED:
            view.output.note(f"  ... and {len(error.candidates) - MAX_LISTED:,} more")
        raise
    return rag, results


def _show_results(
    rag: "Engine", results: Sequence[_ResultT], view: GraphViewOptions, result_view: _ResultView[_ResultT]
) -> None:
    if view.diagram and result_view.draw:
        drawing = result_view.draw(results, view.limit or DEFAULT_MAX_NODES)
        view.output.write(to_mermaid(drawing) if view.diagram == "mermaid" else to_dot(drawing))
        left_out = drawing.n_omitted
    else:
        page = results[: view.limit]
        left_out = len(results) - len(page)
        if view.output.as_json:
            view.output.write_json({**result_view.request, "root": rag.root, "results": page, "left_out": left_out})
        else:
            print_entries(
                f"{result_view.title} ({len(results):,})", result_view.make_entries(page), rag.root, view.output
            )
    if left_out:
        view.output.note(f"left out: {left_out:,} (raise --limit)")
    if not results:
        view.output.note(result_view.empty_text)
