"""Steps of ``coderag eval compare``."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from coderag.interfaces.cli.commands.eval import harness as evals
from coderag.interfaces.cli.commands.eval.text_tables import format_question_count, format_text
from coderag.interfaces.cli.output.streams import Output, escape_controls
from coderag.interfaces.error_table import BELOW_THRESHOLD

if TYPE_CHECKING:
    from evals.comparison import Comparison, MetricChange, QuestionChange


def compare_files(before: Path, after: Path, output: Output, *, fail: bool) -> None:
    """Print the difference of two saved runs.

    Args:
        before, after: Files written by ``coderag eval run --out``.
        output: Destination.
        fail: Exit with `BELOW_THRESHOLD` if the second is worse.
    """
    comparison = evals.comparison.compare(evals.runs.load_run(before), evals.runs.load_run(after))
    if output.as_json:
        output.write_json(to_comparison_record(comparison))
    else:
        lines = [_format_verdict(comparison), *evals.tables.describe_signal_changes(comparison)]
        output.write(escape_controls(format_text([*lines, *evals.tables.build_comparison_tables(comparison)])))
    for warning in _list_warnings(comparison):
        output.note(f"warning: {warning}")
    if fail and comparison.is_regression:
        raise typer.Exit(BELOW_THRESHOLD)


def _format_verdict(comparison: "Comparison") -> str:
    worse = comparison.regressions
    if not comparison.is_regression:
        return f"no regression over {format_question_count(comparison.shared)}"
    if not worse:
        return f"not significantly worse over {format_question_count(comparison.shared)}, but something is missing"
    examples = ", ".join(f"{change.metric} {change.difference.mean:+.3f} ({change.where})" for change in worse[:5])
    more = f", and {len(worse) - 5} more" if len(worse) > 5 else ""
    return f"worse over {format_question_count(comparison.shared)}: {examples}{more}"


def _list_warnings(comparison: "Comparison") -> list[str]:
    warnings = []
    for ids, description in (
        (comparison.only_before, "only in the first run"),
        (comparison.only_after, "only in the second run"),
        (comparison.relabelled, "with other answers in the second run"),
    ):
        if ids:
            more = ", ..." if len(ids) > 5 else ""
            warnings.append(f"{format_question_count(len(ids))} {description}: {', '.join(ids[:5])}{more}")
    return warnings


def to_comparison_record(comparison: "Comparison") -> Mapping[str, object]:
    """Convert a comparison to its JSON record."""
    return {
        "regression": comparison.is_regression,
        "questions": comparison.shared,
        "only_before": comparison.only_before,
        "only_after": comparison.only_after,
        "relabelled": comparison.relabelled,
        "changes": [_to_change_record(entry) for entry in (*comparison.changes, *comparison.groups)],
        "settings": {name: {"before": old, "after": new} for name, (old, new) in comparison.settings.items()},
        "vanished": [asdict(entry) for entry in comparison.vanished],
        "appeared": [asdict(entry) for entry in comparison.appeared],
        "worse": [_to_moved_record(entry) for entry in comparison.worse],
        "better": [_to_moved_record(entry) for entry in comparison.better],
        "milliseconds": {"before": comparison.milliseconds[0], "after": comparison.milliseconds[1]},
    }


def _to_change_record(change: "MetricChange") -> dict[str, object]:
    return {
        "metric": change.metric,
        "by": change.by,
        "group": change.group,
        "before": change.before,
        "after": change.after,
        **asdict(change.difference),
    }


def _to_moved_record(moved: "QuestionChange") -> dict[str, object]:
    return {
        "id": moved.question.id,
        "question": moved.question.question,
        "change": moved.change,
        "rank_before": moved.rank_before,
        "rank_after": moved.rank_after,
    }
