"""Explanations of queries: ranking of each result and its use in the context."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from coderag.interfaces.cli.output.streams import Output, escape_controls, escape_line

if TYPE_CHECKING:
    from rich.console import Console

    from coderag.retrieval.explanation import ExplainedSnippet, Explanation

_MAX_TERMS = 12
_MIN_CONTRIBUTION = 0.005  # smaller ones are 0.00
_RELATIONS = {
    "contains": "part of",
    "contained_by": "around",
    "imports": "imported by the file of",
    "imported_by": "imports the file of",
    "test_for": "test of",
    "interface_of": "interface of",
    "sibling": "beside",
}
"""Descriptions of relations that "<relation> of" does not express."""

_MIN_TABLE_COLUMNS = 100
"""Terminal width from which tables are legible without broken paths."""

_BUDGET_STYLES = {"full": "green", "elided": "green", "signature": "yellow", "line": "yellow"}


def print_explanation(explanation: "Explanation", root: Path, output: Output) -> None:
    """Print query analysis, ranking of results, related code and timings."""
    if output.as_json:
        output.write_json(explanation, root=root)
        return
    if output.is_terminal and (console := output.make_console()).width >= _MIN_TABLE_COLUMNS:
        _print_tables(explanation, console)
        return
    blocks = [*_format_head(explanation), ""]
    for piece in (*explanation.results, *explanation.related):
        blocks.append(
            f"{_format_rank(piece)}  {escape_line(piece.location)}  {_format_title(piece)}  "
            f"{piece.score:.3f}  {_format_budget(piece)}"
        )
        blocks += [f"    {name}: {text}" for name, text in _explain_piece(piece).items()]
    output.write("\n".join([*blocks, "", *_format_trace(explanation)]))


def _format_head(explanation: "Explanation") -> list[str]:
    """Return lines on intent, terms, verdict and context size."""
    hidden = len(explanation.terms) - _MAX_TERMS
    terms = " ".join(explanation.terms[:_MAX_TERMS]) + (f" and {hidden} more" if hidden > 0 else "")
    features = ", ".join(f"{name.replace('_', ' ')} {value:.2f}" for name, value in explanation.features.items())
    lines = [
        f"intent: {explanation.intent} ({explanation.intent_confidence:.2f})",
        f"terms: {escape_controls(terms)}",
        f"evidence: {explanation.evidence.replace('_', ' ')} ({explanation.confidence:.2f}: {features})",
        f"context: {explanation.tokens:,} of {explanation.token_budget:,} tokens",
    ]
    if explanation.expanded_terms:
        lines.insert(2, f"added terms: {escape_controls(' '.join(explanation.expanded_terms))}")
    return lines + [f"not indexed: {escape_controls(file)}" for file in explanation.not_indexed]


def _format_trace(explanation: "Explanation") -> list[str]:
    return [
        f"{entry['node']}  {entry['ms']:.1f} ms  {escape_controls(_format_pairs(entry['detail']))}".rstrip()
        for entry in explanation.trace
    ]


def _format_pairs(detail: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {_format_value(value)}" for name, value in detail.items())


def _format_value(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, Sequence) and not isinstance(value, str) else str(value)


def _format_rank(piece: "ExplainedSnippet") -> str:
    return f"+{piece.rank}" if piece.relation else str(piece.rank)


def _format_title(piece: "ExplainedSnippet") -> str:
    return escape_controls(f"{piece.kind} {piece.name}").strip()


def _format_budget(piece: "ExplainedSnippet") -> str:
    return f"{piece.budget}, {piece.tokens:,} tokens" if piece.tokens else piece.budget


def _explain_piece(piece: "ExplainedSnippet") -> dict[str, str]:
    """Describe a piece by its relation, or by its channel ranks and features."""
    if piece.relation:
        steps = f"{piece.hop} step" + ("s" if piece.hop > 1 else "")
        relation = _RELATIONS.get(piece.relation, f"{piece.relation.replace('_', ' ')} of")
        return {"related": escape_controls(f"{relation} {piece.related_to}, {steps}")}
    channels = sorted(piece.channels, key=lambda name: piece.ranks.get(name, 1 << 30))
    reasons = {"channels": ", ".join(f"{name} {_format_channel_score(piece, name)}" for name in channels)}
    contributions = {name: value for name, value in piece.signals.items() if name != "reranker"}
    parts = sorted(contributions.items(), key=lambda entry: -abs(entry[1]))
    features = [f"{name} {value:+.2f}" for name, value in parts if abs(value) >= _MIN_CONTRIBUTION]
    if "reranker" in piece.signals:
        features.append(f"the model {piece.signals['reranker']:.2f}")
    if features:
        reasons["features"] = ", ".join(features)
    return reasons | {f"its {level} as a whole": escape_controls(text) for level, text in piece.overviews.items()}


def _format_channel_score(piece: "ExplainedSnippet", channel: str) -> str:
    score = f"{piece.channels[channel]:.2f}"
    return f"#{piece.ranks[channel]} ({score})" if channel in piece.ranks else score


def _print_tables(explanation: "Explanation", console: "Console") -> None:
    from rich.table import Table
    from rich.text import Text

    for line in _format_head(explanation):
        name, _, text = line.partition(": ")
        console.print(Text.assemble((f"{name}: ", "bold"), text))
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("result", overflow="fold", ratio=2)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("why", overflow="fold", ratio=3)
    table.add_column("in the context", no_wrap=True)
    for piece in (*explanation.results, *explanation.related):
        location = Text.assemble((escape_line(piece.location), "cyan"), "\n", (_format_title(piece), "dim"))
        reasons = Text("\n").join(
            Text.assemble((f"{name} ", "dim"), text) for name, text in _explain_piece(piece).items()
        )
        budget = Text(_format_budget(piece), _BUDGET_STYLES.get(piece.budget, "dim"))
        table.add_row(_format_rank(piece), location, f"{piece.score:.3f}", reasons, budget, end_section=False)
    console.print()
    console.print(table)
    console.print()
    for line in _format_trace(explanation):
        console.print(Text(line, "dim"), soft_wrap=True)
