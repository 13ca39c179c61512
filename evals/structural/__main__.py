"""`python -m evals.structural --on REPOSITORY TRUTH ...`: evaluate answers to structural questions."""

import argparse
import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from coderag import CodeRAG
from coderag.errors import CodeRAGError
from evals.graph.ground_truth import EvaluationError, GroundTruth

from .measurement import TOP_K, QuestionOutcome, ask, summarize_outcomes
from .outline import read_typescript_outline
from .python_outline import read_python_outline
from .questions import StructuralQuestion, make_questions
from .relations import KnownRelations


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0, or 1 with one line on standard error."""
    options = _build_parser().parse_args(arguments)
    try:
        outcomes = [outcome for repository, truth in options.on for outcome in _ask_all(repository, truth, options)]
        if not outcomes:
            raise EvaluationError("no questions: the truth covers no declaration of the repository")
    except (EvaluationError, CodeRAGError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    report = summarize_outcomes(outcomes, options.seed)
    missed = sorted(
        (outcome for outcome in outcomes if outcome.missed_answers),
        key=lambda outcome: (outcome.question.kind, outcome.recall),
    )
    report["missed"] = [_format_missed(outcome) for outcome in missed][: options.examples]
    print(json.dumps(report, indent=1) if options.json else _format_report(report))
    return 0


def _ask_all(repository: Path, truth_file: Path, options: argparse.Namespace) -> list[QuestionOutcome]:
    if not repository.is_dir():
        raise EvaluationError(f"{repository} is not a folder")
    rag = CodeRAG(repository)
    rag.index()
    questions = _build_questions(repository, GroundTruth.load(truth_file), options)
    search = partial(rag.search, top_k=TOP_K)
    search("who calls nothing")  # opens the index before time is measured
    return [ask(repository.name, search, question) for question in questions]


def _build_questions(repository: Path, truth: GroundTruth, options: argparse.Namespace) -> list[StructuralQuestion]:
    if truth.tool.startswith("typescript"):
        outline = read_typescript_outline(repository, options.tools)
    elif truth.tool.startswith("Python"):
        outline = read_python_outline(repository)
    else:
        raise EvaluationError(f"{truth.tool}: unsupported language; use a truth of Python or TypeScript")
    seed = f"{options.seed} {repository.name}"
    relations, files = KnownRelations(truth, outline), frozenset(truth.files)
    return make_questions(relations, outline, per_kind=options.per_kind, seed=seed, compiled=files)


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals.structural", description=__doc__)
    add = parser.add_argument
    add("--on", nargs=2, type=Path, action="append", required=True, metavar=("REPOSITORY", "TRUTH"),
        help="a repository, which is indexed, and the truth that `python -m evals.graph --keep` recorded")  # fmt: skip
    add("--tools", type=Path, help="folder in which npm installed typescript")
    add("--per-kind", type=int, default=12, help="questions of a kind about each repository (%(default)s)")
    add("--seed", type=int, default=0, help="seed for the choice of questions (%(default)s)")
    add("--examples", type=int, default=0, help="number of missed questions to list (%(default)s)")
    add("--json", action="store_true", help="print JSON")
    return parser


def _format_missed(outcome: QuestionOutcome) -> str:
    locations = ", ".join(f"{answer.path}:{min(answer.lines)}" for answer in outcome.missed_answers[:3])
    question = outcome.question
    return f"{question.kind} {outcome.n_correct}/{len(question.answers)} {outcome.repository}: {question.text} -> {locations}"


def _format_report(report: dict[str, Any]) -> str:
    rows = report["questions"]
    width = max(map(len, rows))
    lines = [f"{'':{width}}  {'n':>5}  recall@{TOP_K} (95 %)       precision (95 %)"]
    for name, row in rows.items():
        lines.append(
            f"{name:{width}}  {row['questions']:5}  {_format_share(row['recall'])}  {_format_share(row['precision'])}"
        )
    times = ", ".join(f"{name} {value} ms" for name, value in report["milliseconds"].items())
    return "\n".join([*lines, "", f"time of a question: {times}", *(f"missed: {row}" for row in report["missed"])])


def _format_share(share: dict[str, Any] | None) -> str:
    if share is None:
        return "-"
    low, high = share["interval"]
    return f"{share['mean']:.3f} ({low:.3f} to {high:.3f})"


if __name__ == "__main__":
    sys.exit(main())
