"""What explains a query, for people: why each result is where it is, and what a context shows of it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from coderag.interfaces.cli._streams import Output, visible, visible_line

if TYPE_CHECKING:
    from rich.console import Console

    from coderag.retrieval.explanation import ExplainedSnippet, Explanation

_MOST_TERMS = 12
_NO_SUMMANDS = frozenset({"factor", "reranker"})
_RELATIONS = {
    "contains": "part of",
    "contained_by": "around",
    "imports": "imported by the file of",
    "imported_by": "imports the file of",
    "test_for": "test of",
    "interface_of": "interface of",
    "sibling": "beside",
}
"""How a piece belongs to a result, where "caller of" and the like do not say it."""

_NARROWEST_TABLE = 100
"""Columns of a terminal from which on the tables are legible and no path is broken."""

_BUDGET_STYLES = {"full": "green", "elided": "green", "signature": "yellow", "line": "yellow"}


def print_explanation(told: "Explanation", root: Path, output: Output) -> None:
    """Print how the question was understood, where each result comes from, what is related, and what took how long."""
    if output.as_json:
        output.result(told, root=root)
        return
    if output.for_people and (console := output.console()).width >= _NARROWEST_TABLE:
        _print_tables(told, console)
        return
    blocks = [*_head(told), ""]
    for piece in (*told.results, *told.related):
        blocks.append(
            f"{_rank(piece)}  {visible_line(piece.location)}  {_title(piece)}  {piece.score:.3f}  {_budget(piece)}"
        )
        blocks += [f"    {name}: {text}" for name, text in _reasons(piece).items()]
    output.write("\n".join([*blocks, "", *_steps(told)]))


def _head(told: "Explanation") -> list[str]:
    """Return a line each on the intent, the terms, the verdict and the size of the context."""
    more = len(told.terms) - _MOST_TERMS
    terms = " ".join(told.terms[:_MOST_TERMS]) + (f" and {more} more" if more > 0 else "")
    features = ", ".join(f"{name.replace('_', ' ')} {value:.2f}" for name, value in told.features.items())
    lines = [
        f"intent: {told.intent} ({told.intent_confidence:.2f})",
        f"terms: {visible(terms)}",
        f"evidence: {told.evidence.replace('_', ' ')} ({told.confidence:.2f}: {features})",
        f"context: {told.tokens:,} of {told.token_budget:,} tokens",
    ]
    if told.expanded_terms:
        lines.insert(2, f"added terms: {visible(' '.join(told.expanded_terms))}")
    return lines + [f"not indexed: {visible(file)}" for file in told.not_indexed]


def _steps(told: "Explanation") -> list[str]:
    return [
        f"{entry['node']}  {entry['ms']:.1f} ms  {visible(_pairs(entry['detail']))}".rstrip() for entry in told.trace
    ]


def _pairs(detail: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {_plain(value)}" for name, value in detail.items())


def _plain(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, Sequence) and not isinstance(value, str) else str(value)


def _rank(piece: "ExplainedSnippet") -> str:
    return f"+{piece.rank}" if piece.relation else str(piece.rank)


def _title(piece: "ExplainedSnippet") -> str:
    return visible(f"{piece.kind} {piece.name}").strip()


def _budget(piece: "ExplainedSnippet") -> str:
    return f"{piece.budget}, {piece.tokens:,} tokens" if piece.tokens else piece.budget


def _reasons(piece: "ExplainedSnippet") -> dict[str, str]:
    """Return in words what is known of a piece: its relation, or its places in the channels and its signals."""
    if piece.relation:
        steps = f"{piece.hop} step" + ("s" if piece.hop > 1 else "")
        relation = _RELATIONS.get(piece.relation, f"{piece.relation.replace('_', ' ')} of")
        return {"related": visible(f"{relation} {piece.related_to}, {steps}")}
    channels = sorted(piece.channels, key=lambda name: piece.ranks.get(name, 1 << 30))
    reasons = {"channels": ", ".join(f"{name} {_place(piece, name)}" for name in channels)}
    added = {
        "channels": piece.fused,
        **{name: piece.signals[name] for name in piece.signals if name not in _NO_SUMMANDS},
    }
    total = sum(added.values()) or 1.0
    parts = sorted(added.items(), key=lambda entry: -abs(entry[1]))
    shares = [f"{name} {value:+.2f} ({value / total:.0%})" for name, value in parts if value]
    if (factor := piece.signals.get("factor", 1.0)) != 1.0:
        shares.append(f"times {factor:.2f}")
    if "reranker" in piece.signals:
        shares.append(f"the model {piece.signals['reranker']:.2f}")
    if shares:
        reasons["file"] = ", ".join(shares)
    return reasons | {f"its {level} as a whole": visible(text) for level, text in piece.overviews.items()}


def _place(piece: "ExplainedSnippet", channel: str) -> str:
    score = f"{piece.channels[channel]:.2f}"
    return f"#{piece.ranks[channel]} ({score})" if channel in piece.ranks else score


def _print_tables(told: "Explanation", console: "Console") -> None:
    from rich.table import Table
    from rich.text import Text

    for line in _head(told):
        name, _, text = line.partition(": ")
        console.print(Text.assemble((f"{name}: ", "bold"), text))
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("result", overflow="fold", ratio=2)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("why", overflow="fold", ratio=3)
    table.add_column("in the context", no_wrap=True)
    for piece in (*told.results, *told.related):
        where = Text.assemble((visible_line(piece.location), "cyan"), "\n", (_title(piece), "dim"))
        why = Text("\n").join(Text.assemble((f"{name} ", "dim"), text) for name, text in _reasons(piece).items())
        budget = Text(_budget(piece), _BUDGET_STYLES.get(piece.budget, "dim"))
        table.add_row(_rank(piece), where, f"{piece.score:.3f}", why, budget, end_section=False)
    console.print()
    console.print(table)
    console.print()
    for line in _steps(told):
        console.print(Text(line, "dim"), soft_wrap=True)
