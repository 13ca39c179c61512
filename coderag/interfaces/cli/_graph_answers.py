"""Ask the code graph, and print what it answers: for people, as JSON, or as a diagram."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

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
from coderag.interfaces.cli import _graph_entries as entries
from coderag.interfaces.cli._graph_options import Level, View
from coderag.interfaces.cli._graph_questions import Question
from coderag.interfaces.cli._graph_text import print_entries
from coderag.interfaces.cli._indexing import ask_indexed, open_warm
from coderag.interfaces.cli._report import LISTED
from coderag.schema.graph_queries import query_graph

if TYPE_CHECKING:
    from coderag.codegraph.graph import CodeGraph
    from coderag.interfaces.cli._app import Engine
    from coderag.schema.graph import GraphNeighbour
    from coderag.service.remote_graph import RemoteGraph

    _Graph: TypeAlias = CodeGraph | RemoteGraph

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class _Form(Generic[_Result]):
    """How results of one sort are shown.

    Attributes:
        asked: What was asked, as JSON says it.
        nothing: Said if there are no results.
        draw: Draws so many of the results, at most.
    """

    asked: Mapping[str, object]
    title: str
    nothing: str
    entries: Callable[[Sequence[_Result]], list[entries.Entry]]
    draw: Callable[[Sequence[_Result], int], Drawing] | None = None


def answer(question: Question, name: str, view: View, *, depth: int = 0) -> None:
    """Answer a question about one declaration.

    Raises:
        UnknownNameError: Nothing has the name.
        AmbiguousNameError: Several declarations have it.
    """
    _show_with_candidates(
        lambda graph, candidates: query_graph(graph, question.name, name, depth, candidates=candidates),
        view,
        _Form(
            {"question": question.name, "name": name, **({"depth": depth} if depth else {})},
            question.title.format(name=name),
            question.nothing.format(name=name),
            partial(entries.neighbour_entries, name),
            partial(draw_neighbours, name),
        ),
    )


def path(start: str, end: str, view: View) -> None:
    """Show the shortest path from one declaration to another. Raises as `answer`, and if both are the same name."""
    if start == end:
        hint = "`coderag graph cycles --level symbols` tells what calls itself by way of others."
        raise InvalidQueryError(f"a path from {start} to itself has no steps", hint=hint)
    _show_with_candidates(
        lambda graph, candidates: graph.path(start, end, candidates=candidates),
        view,
        _Form(
            {"question": "path", "from": start, "to": end},
            f"path from {start} to {end}",
            f"no path is known from {start} to {end}",
            entries.path_entries,
            partial(draw_neighbours, start),
        ),
    )


def cycles(level: Level, view: View) -> None:
    """Show what needs one another in circles."""
    rag, found = _ask(lambda graph: graph.cycles(level), view)
    form = _Form(
        {"question": "cycles", "level": level},
        f"cycles of {level}",
        f"no cycles of {level} are known",
        partial(entries.cycle_entries, level),
        lambda found, _: draw_cycles(found, view.limit),  # a limit is of cycles, not of the boxes in them
    )
    _show(rag, found, view, form)


def hotspots(kind: str | None, limit: int, view: View) -> None:
    """Show what much depends on, most central first."""
    rag, found = _ask(lambda graph: graph.hotspots(limit, kind), view)
    asked = {"question": "hotspots", "kind": kind}
    nothing = f"nothing of the kind {kind} is indexed" if kind else "nothing is indexed"
    _show(rag, found, view, _Form(asked, "hotspots", nothing, entries.hotspot_entries))


def outline(file: str, view: View) -> None:
    """Show the declarations of a file. Raises as `answer`, and if it is a folder."""
    file = file.replace(os.sep, "/").removeprefix("./")
    if (find_root(view.repo) / file).is_dir():  # else the words of its path may name a declaration, or its first file
        raise InvalidQueryError(
            f"{file} is a folder", hint="Name a file in it; `coderag graph imports` takes a folder."
        )
    rag, found = _ask(lambda graph: graph.outline(file), view)
    form = _Form(
        {"question": "outline", "path": file},
        f"outline of {file}",
        f"{file} declares nothing",
        partial(entries.outline_entries, file),
        partial(draw_outline, file),
    )
    _show(rag, found, view, form)


def _show_with_candidates(
    question: "Callable[[_Graph, bool], Sequence[GraphNeighbour]]",
    view: View,
    form: "_Form[GraphNeighbour]",
) -> None:
    """Ask and show; if nothing is sure, count what is uncertain."""
    rag, found = _ask(lambda graph: question(graph, view.candidates), view)
    if not found and not view.candidates:
        _, unsure = _ask(lambda graph: question(graph, True), view)
        if unsure:
            form = replace(form, nothing=f"{form.nothing}; uncertain: {len(unsure):,} (--candidates lists them)")
    _show(rag, found, view, replace(form, asked={**form.asked, "candidates": view.candidates}))


def _ask(question: "Callable[[_Graph], Sequence[_Result]]", view: View) -> "tuple[Engine, Sequence[_Result]]":
    rag = open_warm(view.repo, view.output)
    try:
        found = ask_indexed(rag, lambda engine: question(engine.graph), view.output, may_index=view.may_index)
    except AmbiguousNameError as error:
        for one in error.candidates[:LISTED]:
            place = f"{one.path}:{one.start_line}" if one.path else "outside the repository"
            view.output.note(f"  {one.name}  ({one.kind}, {place})")
        if len(error.candidates) > LISTED:
            view.output.note(f"  ... and {len(error.candidates) - LISTED:,} more")
        raise
    return rag, found


def _show(rag: "Engine", results: Sequence[_Result], view: View, form: _Form[_Result]) -> None:
    if view.diagram and form.draw:
        drawing = form.draw(results, view.limit or DEFAULT_MAX_NODES)
        view.output.write(to_mermaid(drawing) if view.diagram == "mermaid" else to_dot(drawing))
        left_out = drawing.n_omitted
    else:
        shown = results[: view.limit]
        left_out = len(results) - len(shown)
        if view.output.as_json:
            view.output.result({**form.asked, "root": rag.root, "results": shown, "left_out": left_out})
        else:
            print_entries(f"{form.title} ({len(results):,})", form.entries(shown), rag.root, view.output)
    if left_out:
        view.output.note(f"left out: {left_out:,} (--limit takes more)")
    if not results:
        view.output.note(form.nothing)
