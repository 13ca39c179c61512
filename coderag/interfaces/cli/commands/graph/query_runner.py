"""Graph queries, with output as text, JSON or diagram."""

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

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
from coderag.retrieval.mentions.wording import describe_mentions, list_caveats, list_unused_notes
from coderag.schema.graph_queries import query_graph
from coderag.schema.mentions import (
    DEFAULT_MAX_MENTIONS,
    DEFAULT_MAX_UNUSED,
    MENTION_QUERIES,
    Mentions,
    UnusedReport,
    has_resolved,
)
from coderag.schema.text_matches import MAX_COUNTED_MATCHES
from coderag.schema.vocabulary import CycleLevel
from coderag.system.file_checks import is_existing_folder

if TYPE_CHECKING:
    from coderag.schema.engine import CodeGraphQueries, Engine
    from coderag.schema.graph import GraphNeighbour
    from coderag.schema.mentions import MentionQuery


_ResultT = TypeVar("_ResultT")
_AnyT = TypeVar("_AnyT")

_MAX_JSON_MENTIONS: Final = 200
_COMPLETED_QUERIES: Final = frozenset({"callers", "references", "impact", "tests"})
"""Queries whose results are completed by the number of lines that no edge explains."""


@dataclass(frozen=True, slots=True)
class _ResultView(Generic[_ResultT]):
    """Presentation of one type of results.

    Attributes:
        request: The request in JSON output.
        empty_text: Note if there are no results.
        draw: Draws the results up to a limit.
        fields: Further fields of JSON output.
    """

    request: Mapping[str, object]
    title: str
    empty_text: str
    make_entries: Callable[[Sequence[_ResultT]], list[entries.GraphEntry]]
    draw: Callable[[Sequence[_ResultT], int], Drawing] | None = None
    fields: Mapping[str, object] = field(default_factory=dict)


def run_query(query: QueryCommand, name: str, view: GraphViewOptions, *, depth: int = 0) -> None:
    """Query the neighbours of a declaration.

    Raises:
        UnknownNameError: No declaration has the name.
        AmbiguousNameError: Several declarations have it.
    """
    rag, results, result_view = _query_with_candidates(
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
    if query.name not in MENTION_QUERIES:
        _show_results(rag, results, view, result_view)
        return
    is_resolved = has_resolved(results)
    limit = 0 if is_resolved else view.limit or (_MAX_JSON_MENTIONS if view.output.as_json else DEFAULT_MAX_MENTIONS)
    mention_query = cast("MentionQuery", query.name)
    mentions = ask_indexed(
        rag, lambda engine: engine.mentions(name, mention_query, limit=limit), view.output, may_index=view.may_index
    )
    fields = {
        "mentions": mentions.lines,
        "mention_count": mentions.unlinked if is_resolved else mentions.total,
        "tier": mentions.tier,
        "reason": mentions.reason,
    }
    _show_results(rag, results, view, replace(result_view, fields=fields, empty_text=""))
    if is_resolved:
        if mentions.unlinked and query.name in _COMPLETED_QUERIES:
            view.output.note(_format_unlinked(name, mentions))
        return
    if not view.output.as_json and view.diagram is None:
        title = f"lines that mention {name} ({mentions.total:,})"
        print_entries(title, entries.make_mention_entries(mentions.lines), rag.root, view.output)
    view.output.note(f"{result_view.empty_text}; {describe_mentions(mentions, mention_query)}")
    for caveat in list_caveats(mentions, mention_query):
        view.output.note(caveat)
    if mentions.total > len(mentions.lines) and not view.output.as_json:
        view.output.note(f"left out: {mentions.total - len(mentions.lines):,} (raise --limit)")


def show_mentions(name: str, view: GraphViewOptions) -> None:
    """Show the lines that mention a name, with those that an edge explains."""
    limit = view.limit or MAX_COUNTED_MATCHES
    rag = open_engine(view.repo, view.output)
    mentions = ask_indexed(
        rag, lambda engine: engine.mentions(name, limit=limit), view.output, may_index=view.may_index
    )
    if view.output.as_json:
        view.output.write_json({"question": "mentions", "root": rag.root, **_get_fields(mentions)})
    else:
        title = f"lines that mention {name} ({mentions.total:,})"
        print_entries(title, entries.make_mention_entries(mentions.lines), rag.root, view.output)
    if mentions.total > len(mentions.lines):
        view.output.note(f"left out: {mentions.total - len(mentions.lines):,} (raise --limit)")
    if not mentions.total:
        view.output.note(f"{name}: {describe_mentions(mentions)}")
    for caveat in list_caveats(mentions):
        view.output.note(caveat)


def show_unused(path: str, view: GraphViewOptions) -> None:
    """Show declarations that nothing is known to use."""
    path = path.replace(os.sep, "/")
    rag = open_engine(view.repo, view.output)
    report = ask_indexed(
        rag,
        lambda engine: engine.unused(path, limit=view.limit or DEFAULT_MAX_UNUSED),
        view.output,
        may_index=view.may_index,
    )
    where = f" in {report.path}" if report.path else ""
    if view.output.as_json:
        view.output.write_json({"question": "unused", "root": rag.root, **_get_fields(report)})
    else:
        title = f"declarations without a known use{where} ({report.total:,})"
        print_entries(title, entries.make_unused_entries(report.results), rag.root, view.output)
    if report.total > len(report.results):
        view.output.note(f"left out: {report.total - len(report.results):,} (raise --limit)")
    for note in list_unused_notes(report):
        view.output.note(note)


def show_path(start: str, end: str, view: GraphViewOptions) -> None:
    """Show the shortest path between two declarations. Raises as `run_query`, and if both names are equal."""
    if start == end:
        hint = "`coderag graph cycles --level symbols` lists recursive call cycles."
        raise InvalidQueryError(f"a path from {start} to itself has no steps", hint=hint)
    rag, results, result_view = _query_with_candidates(
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
    _show_results(rag, results, view, result_view)


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
    if is_existing_folder(find_root(view.repo) / file):  # otherwise its path may match a declaration, or its first file
        raise InvalidQueryError(
            f"{file} is a folder", hint="Name a file in it; `coderag graph imports` takes a folder."
        )
    rag, (results, path) = _query_graph(lambda graph: (graph.outline(file), graph.find_file(file)), view)
    result_view = _ResultView(
        {"question": "outline", "path": path},
        f"outline of {path}",
        f"{file} has no declarations" if file == path else f"{file} ({path}) has no declarations inside",
        partial(entries.make_outline_entries, path),
        partial(draw_outline, path),
    )
    _show_results(rag, results, view, result_view)


def _query_with_candidates(
    query: "Callable[[CodeGraphQueries, bool], Sequence[GraphNeighbour]]",
    view: GraphViewOptions,
    result_view: "_ResultView[GraphNeighbour]",
) -> "tuple[Engine, Sequence[GraphNeighbour], _ResultView[GraphNeighbour]]":
    """Query results; if there is none, count uncertain candidates."""
    rag, results = _query_graph(lambda graph: query(graph, view.candidates), view)
    if not results and not view.candidates:
        _, uncertain = _query_graph(lambda graph: query(graph, True), view)
        if uncertain:
            result_view = replace(
                result_view,
                empty_text=f"{result_view.empty_text}; uncertain: {len(uncertain):,} (--candidates lists them)",
            )
    return rag, results, replace(result_view, request={**result_view.request, "candidates": view.candidates})


def _query_graph(query: "Callable[[CodeGraphQueries], _AnyT]", view: GraphViewOptions) -> "tuple[Engine, _AnyT]":
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
            view.output.write_json(
                {**result_view.request, "root": rag.root, "results": page, "left_out": left_out, **result_view.fields}
            )
        else:
            print_entries(
                f"{result_view.title} ({len(results):,})", result_view.make_entries(page), rag.root, view.output
            )
    if left_out:
        view.output.note(f"left out: {left_out:,} (raise --limit)")
    if not results and result_view.empty_text:
        view.output.note(result_view.empty_text)


def _format_unlinked(name: str, mentions: Mentions) -> str:
    """Format the number of lines that no edge explains, with the command that lists them."""
    lines = "1 more line mentions" if mentions.unlinked == 1 else f"{mentions.unlinked:,} more lines mention"
    return f"{lines} it without an edge: `coderag graph mentions {shlex.quote(name)}`"


def _get_fields(record: Mentions | UnusedReport) -> dict[str, Any]:
    """Return the fields of a dataclass by name, without copying their values."""
    return {item.name: getattr(record, item.name) for item in fields(record)}
