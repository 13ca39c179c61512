"""`python -m evals.items --repositories FOLDER`: rank the right pages and tickets for golden questions."""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final, get_args

from coderag.errors import CodeRAGError
from evals.graph.ground_truth import EvaluationError
from evals.statistics import estimate

from .documents import export_tree
from .measurement import ItemOutcome, ask, build_repository
from .questions import DocumentTree, ItemQuestion, Split, load_questions, load_trees

_LIMITS: Final = (1, 5, 10)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0, or 1 with one line on standard error."""
    options = _build_parser().parse_args(arguments)
    questions = [question for question in load_questions() if options.split in ("all", question.split)]
    try:
        with tempfile.TemporaryDirectory() as folder:
            report = _measure(Path(folder), options, questions, load_trees())
    except (EvaluationError, CodeRAGError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(json.dumps(report, indent=1) if options.json else _format_report(report))
    return 0


def _measure(
    folder: Path, options: argparse.Namespace, questions: Sequence[ItemQuestion], trees: Sequence[DocumentTree]
) -> dict[str, Any]:
    folders = {tree.name: folder / "trees" / tree.name for tree in trees}
    for tree in trees:
        export_tree(tree, _find_repository(options.repositories, tree), folders[tree.name])
    with build_repository(folder / "documents", trees, folders) as rag:
        n_items = rag.items.list_items(limit=1).total
        rag.items.search("warm up")  # opens the index before time is measured
        alone = [ask(rag.items, question, trees, is_alone=True) for question in questions]
        together = [ask(rag.items, question, trees, is_alone=False) for question in questions]
        rag.items.close()
    report = {
        "items": n_items,
        "own tree": _summarize(alone),
        "all trees of the kind": _summarize(together),
    }
    if options.examples:
        missed = [outcome for outcome in alone if not outcome.is_hit(5) and outcome.question.split == "tuning"]
        report["missed"] = [_format_missed(outcome) for outcome in missed[: options.examples]]
    return report


def _summarize(outcomes: Sequence[ItemOutcome]) -> dict[str, Any]:
    groups: dict[str, list[ItemOutcome]] = {"all": list(outcomes)}
    for outcome in outcomes:
        for name in (outcome.question.intent, outcome.question.split, outcome.question.collection):
            groups.setdefault(name, []).append(outcome)
    return {
        **{name: _summarize_group(group) for name, group in groups.items()},
        "median_ms": round(1000 * median(outcome.seconds for outcome in outcomes), 1),
    }


def _summarize_group(outcomes: Sequence[ItemOutcome]) -> dict[str, Any]:
    shares: dict[str, Any] = {"questions": len(outcomes)}
    for limit in _LIMITS:
        mean = estimate([float(outcome.is_hit(limit)) for outcome in outcomes])
        shares[f"first {limit}"] = [round(mean.mean, 3), round(mean.low, 3), round(mean.high, 3)]
    shares["found"] = round(sum(outcome.evidence == "found" for outcome in outcomes) / len(outcomes), 3)
    return shares


def _find_repository(folder: Path, tree: DocumentTree) -> Path:
    """Find the clone of a tree, bare or not, by the name of its project or of the tree."""
    names = (tree.name, tree.repository.rpartition("/")[2], tree.repository.replace("/", "+"))
    candidates = [path for name in names for path in (folder / name, folder / name / "repo") if path.is_dir()]
    repository = next((path for path in candidates if (path / ".git").exists() or (path / "HEAD").is_file()), None)
    if repository is None:
        raise EvaluationError(f"{folder} has no clone of {tree.repository}: name it {names[1]}")
    return repository


def _format_missed(outcome: ItemOutcome) -> str:
    question = outcome.question
    return f"{question.id} {question.question} (rank {outcome.rank or '> 10'}; first: {', '.join(outcome.first)})"


def _format_report(report: dict[str, Any]) -> str:
    lines = [f"{report['items']:,} items"]
    for name in ("own tree", "all trees of the kind"):
        lines.append(f"{name}, median {report[name]['median_ms']} ms a search:")
        for group, shares in report[name].items():
            if isinstance(shares, dict):
                figures = ", ".join(
                    f"{label} {value[0]:.3f} ({value[1]:.3f} to {value[2]:.3f})"
                    for label, value in shares.items()
                    if isinstance(value, list)
                )
                lines.append(f"  {group} ({shares['questions']}): {figures}; found {shares['found']:.2f}")
    return "\n".join([*lines, *report.get("missed", ())])


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals.items", description=__doc__)
    add = parser.add_argument
    add("--repositories", type=Path, required=True, help="folder with clones of the projects in sources.toml")
    add("--split", choices=("all", *get_args(Split)), default="all", help="half of the questions (%(default)s)")
    add("--examples", type=int, default=0, help="number of missed questions of the tuning half to list (%(default)s)")
    add("--json", action="store_true", help="print JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
