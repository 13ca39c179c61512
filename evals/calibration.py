"""`python -m evals.calibration`: fit the verdict model and measure it by leave-one-repository-out cross-validation.

Three kinds of questions are asked of each repository: answerable questions of its golden set, near misses (unanswerable
questions written for it), and foreign questions, written for another repository. Fixture repositories are tiny, so their
answerable and foreign questions are kinds of their own. Prints the tables of ``evals/figures/verdict.md`` and the
weights of ``coderag/retrieval/calibration.toml``.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from coderag import CodeRAG
from coderag.errors import IngestionError
from coderag.retrieval.verdict.judgement import Calibration
from coderag.schema.vocabulary import Evidence

from .golden import load_golden
from .sources import check_out_project, load_sources
from .statistics import estimate

Kind = Literal["answerable", "near miss", "foreign", "answerable tiny", "foreign tiny"]
KINDS: tuple[Kind, ...] = get_args(Kind)

DATASETS = Path(__file__).parent / "datasets"
PROJECT_GROUPS = ("projects", "everyday", "declarations")
FIXTURES = Path(__file__).parents[1] / "tests" / "fixtures" / "repos"
FEATURE_SETS = {
    "embedded": ("words_in_files", "likeness", "smallness"),
    "other": ("words_in_files", "words_in_results", "unknown_words", "smallness"),
}
WEAK_SHARE, NOT_FOUND_SHARE = 0.13, 0.025
"""Shares of answerable questions whose verdict may be weaker than found, and not found."""

_FOREIGN_OFFSETS = (1, 6)  # each question is also asked of the repositories at these offsets in the sorted list
_SHRINKAGE = 1e-3
_WEIGHTS: Mapping[Kind, float] = {
    "answerable": 1.0,
    "near miss": 0.5,
    "foreign": 0.5,
    "answerable tiny": 0.5,
    "foreign tiny": 0.5,
}

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """Features of one question asked of one repository.

    Attributes:
        repository: The repository that was asked; ``written_for`` is the one whose golden set has the question.
        looked_up: Whether the symbol table or the code graph had the answer. Its verdict is then found, whatever the features.
    """

    repository: str
    written_for: str
    kind: Kind
    features: Mapping[str, float]
    looked_up: bool


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    options = _build_parser().parse_args(arguments)
    questions = list(ask_all(options.trees, options.clones, options.repo, options.leave_out))
    print(format_verdict_table("words alone", questions, [_apply_word_thresholds(question) for question in questions]))
    for name, features in FEATURE_SETS.items():
        print(
            format_verdict_table(
                f"{name}, each repository with the weights of the others",
                questions,
                predict_held_out(questions, features),
            )
        )
    for name, features in FEATURE_SETS.items():
        print(_format_toml(name, fit(questions, features)))
    return 0


def ask_all(trees: Path, clones: Path | None, repo: Path, left_out: Sequence[str] = ()) -> Iterator[AskedQuestion]:
    """Ask every question of its repository, and the answerable ones of two others; yield their features."""
    folders = {"coderag": repo}
    for group in PROJECT_GROUPS:
        for name, source in load_sources(DATASETS / group / "sources.toml").items():
            if name in left_out or not (DATASETS / group / f"{name}.jsonl").exists():
                continue
            try:
                folders[f"{group}/{name}"] = check_out_project(name, source, trees, clones)
            except IngestionError as error:
                print(f"skipped: {error}", file=sys.stderr)
    yield from _ask_group(folders, trees)
    tiny = {f"fixtures/{path.stem}": FIXTURES / path.stem for path in sorted((DATASETS / "fixtures").glob("*.jsonl"))}
    yield from _ask_group({name: folder for name, folder in tiny.items() if folder.is_dir()}, trees)


def _ask_group(folders: Mapping[str, Path], trees: Path) -> Iterator[AskedQuestion]:
    names = sorted(folders)
    for position, name in enumerate(names):
        rag = CodeRAG(
            folders[name], project=name.rpartition("/")[2], storage={"directory": str(trees / "calibration" / name)}
        )
        rag.index()
        print(name, file=sys.stderr, flush=True)
        for origin in (name, *(names[(position - step) % len(names)] for step in _FOREIGN_OFFSETS)):
            yield from _ask(rag, name, origin)


def _ask(rag: CodeRAG, repository: str, origin: str) -> Iterator[AskedQuestion]:
    tiny = origin.startswith("fixtures/")
    for question in load_golden(DATASETS / f"{origin}.jsonl").questions:
        if question.unanswerable and (origin != repository or tiny):
            continue
        judgement = asyncio.run(rag.aquery({"query": question.question}))["judgement"]
        kind: Kind = "near miss" if question.unanswerable else "answerable tiny" if tiny else "answerable"
        if origin != repository:
            kind = "foreign tiny" if tiny else "foreign"
        yield AskedQuestion(repository, origin, kind, judgement["features"], judgement["confidence"] == 1.0)


def fit(questions: Sequence[AskedQuestion], features: Sequence[str]) -> Calibration:
    """Fit the logistic model over some features, weighted by kind of question, and its thresholds.

    Raises:
        ValueError: Every answerable question was looked up, so none is left to fit with.
    """
    fitted = [question for question in questions if not question.looked_up]
    values = np.asarray([[question.features[name] for name in features] for question in fitted], np.float64)
    answerable = np.asarray([question.kind.startswith("answerable") for question in fitted])
    if not answerable.any():
        raise ValueError("no answerable question to fit with")
    counts = {kind: sum(question.kind == kind for question in fitted) for kind in KINDS}
    weights = np.asarray([_WEIGHTS[question.kind] / counts[question.kind] for question in fitted])
    scale = values.std(axis=0) + 1e-9
    solution = minimize(
        _make_loss(values / scale, answerable.astype(float), weights), np.zeros(len(features) + 1), jac=True
    ).x
    rounded = dict(zip(features, np.round(solution[:-1] / scale, 2).tolist(), strict=True))
    model = Calibration(round(float(solution[-1]), 2), rounded, weak_below=0.0, not_found_below=0.0)
    sure = [
        1.0 if question.looked_up else model.compute_probability(question.features)
        for question in questions
        if question.kind == "answerable"
    ]
    weak, not_found = np.quantile(sure, (WEAK_SHARE, NOT_FOUND_SHARE)).tolist()
    return Calibration(model.bias, rounded, weak_below=round(weak, 3), not_found_below=round(not_found, 3))


def _make_loss(
    values: FloatArray, labels: FloatArray, weights: FloatArray
) -> Callable[[FloatArray], tuple[float, FloatArray]]:
    """Return the weighted logistic loss with L2 shrinkage, and its gradient; the last coefficient is the bias."""
    with_bias = np.column_stack([values, np.ones(len(values))])
    shrunk = np.append(np.ones(values.shape[1]), 0.0) * _SHRINKAGE

    def compute_loss(coefficients: FloatArray) -> tuple[float, FloatArray]:
        logits = with_bias @ coefficients
        losses = np.logaddexp(0, logits) - labels * logits
        gradient = with_bias.T @ (weights * (1 / (1 + np.exp(-logits)) - labels)) + 2 * shrunk * coefficients
        return float(weights @ losses + shrunk @ coefficients**2), gradient

    return compute_loss


def predict_held_out(questions: Sequence[AskedQuestion], features: Sequence[str]) -> list[Evidence]:
    """Return the verdict on each question by a model fitted without its repository and the one it was written for."""
    models: dict[tuple[str, str], Calibration] = {}
    outcomes: list[Evidence] = []
    for question in questions:
        pair = (question.repository, question.written_for)
        if pair not in models:
            training = [
                candidate for candidate in questions if not {candidate.repository, candidate.written_for} & set(pair)
            ]
            models[pair] = fit(training, features)
        outcomes.append(
            "found"
            if question.looked_up
            else models[pair].classify(models[pair].compute_probability(question.features))
        )
    return outcomes


def _apply_word_thresholds(question: AskedQuestion) -> Evidence:
    """Return the verdict of the former rule: thresholds on the share of the question's words in the results' files."""
    words = question.features["words_in_files"]
    if question.looked_up or words >= 0.5:
        return "found"
    return "weak" if words >= 0.2 else "not_found"


def format_verdict_table(title: str, questions: Sequence[AskedQuestion], verdicts: Sequence[Evidence]) -> str:
    """Return a Markdown table of the share of each verdict by kind of question, with 95 % intervals."""
    lines = [f"{title}\n", "| questions | found | weak | not found |", "|---|---|---|---|"]
    for kind in KINDS:
        own = [verdict for question, verdict in zip(questions, verdicts, strict=True) if question.kind == kind]
        shares = [estimate([float(verdict == wanted) for verdict in own]) for wanted in ("found", "weak", "not_found")]
        cells = (f"{share.mean:.0%} ({share.low:.0%} to {share.high:.0%})" for share in shares)
        lines.append(f"| {len(own)} {kind} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _format_toml(name: str, model: Calibration) -> str:
    values = {"weak_below": model.weak_below, "not_found_below": model.not_found_below, "bias": model.bias}
    return "\n".join([f"[{name}]", *(f"{key} = {value}" for key, value in {**values, **model.weights}.items())]) + "\n"


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals.calibration", description=__doc__)
    add = parser.add_argument
    add("--clones", type=Path, help="folder of git clones (default: download the revisions)")
    add("--trees", type=Path, default=Path(tempfile.gettempdir()) / "coderag-projects",
        help="folder for the projects' files and indexes (%(default)s)")  # fmt: skip
    add("--leave-out", nargs="*", default=[], help="projects that must not be looked at")
    add("--repo", type=Path, default=Path(__file__).parents[1],
        help="checkout of this repository without evals/datasets, which holds the questions (%(default)s)")  # fmt: skip
    return parser


if __name__ == "__main__":
    sys.exit(main())
