"""Precision and recall of one graph, as text or JSON."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .compare import Recalled, Verdict, by_line, describe, judge, judge_bases, recall_calls
from .exported import Edge, ExportedGraph
from .shares import Share
from .truth import Site, Truth


def measure(
    graph: ExportedGraph, truth: Truth, edges: Sequence[Edge], judges: Iterable[Site], examples: int
) -> dict[str, Any]:
    """Return all figures of a graph.

    Args:
        graph: The graph under test.
        truth: The calls that it should have.
        edges: Those of its calls that are judged.
        judges: What the tools say about the lines of these.
        examples: How many wrong edges and how many missed calls to list.
    """
    lines = by_line(judges)
    verdicts = [(edge, judge(edge, lines, graph)) for edge in edges]
    recalled = recall_calls(graph, truth.sites)
    bases_precision, bases_recall = judge_bases(graph, truth.hierarchy)
    wrong = [_edge(edge) for edge, verdict in verdicts if verdict == "wrong"]
    missed = [_call(row) for row in recalled if _direct(row) and not row.found_overridden]
    return {
        "truth": truth.summary(),
        "precision": {"calls": _verdicts(verdicts), **_by_resolver(verdicts), "bases": _share(bases_precision)},
        "recall": {**_recall(recalled), "bases": _share(bases_recall)},
        "callee_not_in_graph": sum(not row.in_graph for row in recalled),
        "wrong": wrong[:examples],
        "missed": missed[:examples],
    }


def as_text(figures: Mapping[str, Any]) -> str:
    """Return the figures as lines for a reader."""
    lines = [f"{name}: {value}" for name, value in figures["truth"].items()]
    if "precision" in figures:
        lines += ["", "precision (95 %)", *_rows(figures["precision"]), "", "recall (95 %)", *_rows(figures["recall"])]
        lines += ["", f"calls whose callee the graph does not have: {figures['callee_not_in_graph']}"]
        lines += [f"wrong: {row}" for row in figures["wrong"]] + [f"missed: {row}" for row in figures["missed"]]
    return "\n".join(lines)


def _direct(row: Recalled) -> bool:
    """Whether a call counts in the first line: it names its callee, and the graph has that."""
    return row.in_graph and row.target.kind in ("call", "new")


def _recall(rows: Sequence[Recalled]) -> dict[str, Any]:
    direct = [row for row in rows if _direct(row)]
    groups = {"calls": direct, "calls outside tests": [row for row in direct if not row.in_tests]}
    for kind in sorted({row.target.kind for row in rows}):
        groups[f"of kind {kind}"] = [row for row in rows if row.in_graph and row.target.kind == kind]
    shares: dict[str, Any] = {}
    for name, members in groups.items():
        shares[name] = _share(Share(sum(row.found for row in members), len(members)))
        overridden = Share(sum(row.found_overridden for row in members), len(members))
        if overridden.part != shares[name]["part"]:
            shares[f"{name}, or of the overridden method"] = _share(overridden)
    return shares


def _by_resolver(verdicts: Iterable[tuple[Edge, Verdict]]) -> dict[str, Any]:
    groups: dict[str, list[tuple[Edge, Verdict]]] = defaultdict(list)
    for edge, verdict in verdicts:
        groups[f"calls by {edge.resolver}"].append((edge, verdict))
    return {name: _verdicts(rows) for name, rows in sorted(groups.items())}


def _verdicts(rows: Iterable[tuple[Edge, Verdict]]) -> dict[str, Any]:
    counts = Counter(verdict for _, verdict in rows)
    return {**_share(Share(counts["right"], counts["right"] + counts["wrong"])), "undecided": counts["undecided"]}


def _share(share: Share) -> dict[str, Any]:
    return {"part": share.part, "total": share.total, "value": share.value, "interval": share.interval}


def _rows(figures: Mapping[str, Mapping[str, Any]]) -> list[str]:
    width = max(map(len, figures))
    return [
        f"  {name:{width}}  {Share(row['part'], row['total'])}"
        + (f", {row['undecided']} undecided" if row.get("undecided") else "")
        for name, row in figures.items()
    ]


def _edge(edge: Edge) -> str:
    return (
        f"{edge.path}:{edge.line} -> {edge.target.path}:{edge.target.start_line} {edge.target.name} ({edge.resolver})"
    )


def _call(row: Recalled) -> str:
    return f"{row.site.path}:{row.site.line} {row.site.name} -> {describe(row.target.place)}"
