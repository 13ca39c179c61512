"""Precision and recall of one graph, as text or JSON."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .comparison import (
    EdgeJudgment,
    RecalledCall,
    find_recalled_calls,
    format_place,
    group_by_line,
    judge_edge,
    measure_bases,
)
from .exported_graph import ExportedEdge, ExportedGraph
from .ground_truth import CallSite, GroundTruth
from .proportions import Proportion


def measure_graph(
    graph: ExportedGraph,
    truth: GroundTruth,
    edges: Sequence[ExportedEdge],
    judge_sites: Iterable[CallSite],
    max_examples: int,
) -> dict[str, Any]:
    """Return all figures of a graph.

    Args:
        graph: The graph under test.
        truth: The calls that it should have.
        edges: The calls that are judged.
        judge_sites: Call sites on the lines of these edges, according to the tools.
        max_examples: Maximum number of wrong edges and of missed calls to list.
    """
    sites_by_line = group_by_line(judge_sites)
    judgments = [(edge, judge_edge(edge, sites_by_line, graph)) for edge in edges]
    recalled_calls = find_recalled_calls(graph, truth.sites)
    bases_precision, bases_recall = measure_bases(graph, truth.hierarchy)
    wrong = [_format_edge(edge) for edge, judgment in judgments if judgment == "wrong"]
    missed = [_format_call(row) for row in recalled_calls if _is_direct(row) and not row.is_override_found]
    return {
        "truth": truth.summarize(),
        "precision": {
            "calls": _build_precision(judgments),
            **_build_resolver_precision(judgments),
            "bases": _build_proportion(bases_precision),
        },
        "recall": {**_build_recall(recalled_calls), "bases": _build_proportion(bases_recall)},
        "callee_not_in_graph": sum(not row.is_in_graph for row in recalled_calls),
        "wrong": wrong[:max_examples],
        "missed": missed[:max_examples],
    }


def format_text(figures: Mapping[str, Any]) -> str:
    """Return the figures as lines for a reader."""
    lines = [f"{name}: {value}" for name, value in figures["truth"].items()]
    if "precision" in figures:
        lines += [
            "",
            "precision (95 %)",
            *_format_rows(figures["precision"]),
            "",
            "recall (95 %)",
            *_format_rows(figures["recall"]),
        ]
        lines += ["", f"calls with a callee outside the graph: {figures['callee_not_in_graph']}"]
        lines += [f"wrong: {row}" for row in figures["wrong"]] + [f"missed: {row}" for row in figures["missed"]]
    return "\n".join(lines)


def _is_direct(row: RecalledCall) -> bool:
    """Return whether a call counts in the first line: it names its callee, which is in the graph."""
    return row.is_in_graph and row.target.kind in ("call", "new")


def _build_recall(rows: Sequence[RecalledCall]) -> dict[str, Any]:
    direct = [row for row in rows if _is_direct(row)]
    groups = {"calls": direct, "calls outside tests": [row for row in direct if not row.is_in_tests]}
    for kind in sorted({row.target.kind for row in rows}):
        groups[f"of kind {kind}"] = [row for row in rows if row.is_in_graph and row.target.kind == kind]
    proportions: dict[str, Any] = {}
    for name, members in groups.items():
        proportions[name] = _build_proportion(Proportion(sum(row.is_found for row in members), len(members)))
        overridden = Proportion(sum(row.is_override_found for row in members), len(members))
        if overridden.part != proportions[name]["part"]:
            proportions[f"{name}, or of the overridden method"] = _build_proportion(overridden)
    return proportions


def _build_resolver_precision(judgments: Iterable[tuple[ExportedEdge, EdgeJudgment]]) -> dict[str, Any]:
    groups: dict[str, list[tuple[ExportedEdge, EdgeJudgment]]] = defaultdict(list)
    for edge, judgment in judgments:
        groups[f"calls by {edge.resolver}"].append((edge, judgment))
    return {name: _build_precision(rows) for name, rows in sorted(groups.items())}


def _build_precision(rows: Iterable[tuple[ExportedEdge, EdgeJudgment]]) -> dict[str, Any]:
    counts = Counter(judgment for _, judgment in rows)
    return {
        **_build_proportion(Proportion(counts["right"], counts["right"] + counts["wrong"])),
        "undecided": counts["undecided"],
    }


def _build_proportion(proportion: Proportion) -> dict[str, Any]:
    return {
        "part": proportion.part,
        "total": proportion.total,
        "value": proportion.value,
        "interval": proportion.interval,
    }


def _format_rows(figures: Mapping[str, Mapping[str, Any]]) -> list[str]:
    width = max(map(len, figures))
    return [
        f"  {name:{width}}  {Proportion(row['part'], row['total'])}"
        + (f", {row['undecided']} undecided" if row.get("undecided") else "")
        for name, row in figures.items()
    ]


def _format_edge(edge: ExportedEdge) -> str:
    return (
        f"{edge.path}:{edge.line} -> {edge.target.path}:{edge.target.start_line} {edge.target.name} ({edge.resolver})"
    )


def _format_call(row: RecalledCall) -> str:
    return f"{row.site.path}:{row.site.line} {row.site.name} -> {format_place(row.target.place)}"
