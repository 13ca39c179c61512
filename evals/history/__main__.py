"""`python -m evals.history CLONES`: evaluate answers to questions about the history of code."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coderag.errors import CodeRAGError
from evals.graph.ground_truth import EvaluationError
from evals.graph.proportions import Proportion

from .measure import measure_questions, summarize_outcomes
from .questions import load_questions


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0, or 1 with one line on standard error."""
    parser = _build_parser()
    options = parser.parse_args(arguments)
    if options.clones is None:
        parser.print_help()
        return 0
    questions = [question for question in load_questions() if options.half in (question.half, "all")]
    try:
        report = summarize_outcomes(list(measure_questions(options.clones, questions)))
    except (EvaluationError, CodeRAGError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(json.dumps(report, indent=1) if options.json else _format_report(report))
    return 0


def _build_parser() -> argparse.ArgumentParser:
    questions = load_questions()
    repositories = dict.fromkeys((question.repository, question.revision) for question in questions)
    parser = argparse.ArgumentParser(
        prog="python -m evals.history",
        description=__doc__,
        epilog="\n".join(["repositories and revisions:", *(f"  {name} {revision}" for name, revision in repositories)]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("clones", nargs="?", type=Path, help="folder with a clone of each repository, which is indexed in place")
    add("--half", choices=("all", "dev", "held"), default="all",
        help="questions to ask: those for development, or those that nobody tunes on (%(default)s)")  # fmt: skip
    add("--json", action="store_true", help="print JSON")
    return parser


def _format_report(report: dict[str, Any]) -> str:
    rows = report["questions"]
    width = max(map(len, rows))
    lines = [f"{'':{width}}  right (95 %)"]
    lines += [f"{name:{width}}  {Proportion(row['right'], row['questions'])}" for name, row in rows.items()]
    seconds = report["seconds"]
    lines += ["", f"time of a question: median {seconds['median']} s, maximum {seconds['maximum']} s"]
    lines += [f"wrong: {row['id']} {row['question']}" for row in report["wrong"]]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
