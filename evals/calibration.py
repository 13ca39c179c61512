"""`python -m evals.calibration`: fit what tells found from weak and not found, and measure it on repositories left out.

Three kinds of questions: those of a repository's golden set that it answers, those that it does not (near misses, written for
it), and those that were written for another repository, which it hardly answers either; and the first and last of these for the
fixture repositories, which are tiny. Prints the table of
``docs/calibration.md`` and the weights of ``coderag/retrieval/calibration.toml``.
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
from .sources import lay_out, load_sources
from .statistics import estimate

Kind = Literal["answerable", "near miss", "foreign", "answerable tiny", "foreign tiny"]
KINDS: tuple[Kind, ...] = get_args(Kind)

DATASETS = Path(__file__).parent / "datasets"
FIXTURES = Path(__file__).parents[1] / "tests" / "fixtures" / "repos"
FEATURE_SETS = {
    "embedded": ("words_in_files", "likeness", "unknown_words", "smallness"),
    "other": ("words_in_files", "words_in_results", "unknown_words", "smallness"),
}
WEAK_SHARE, NOT_FOUND_SHARE = 0.13, 0.025
"""Shares of answerable questions that may be called less than found, and not found."""

_FOREIGN_STEPS = (1, 6)  # each question is also asked of the repositories so many further
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
class Asked:
    """A question that was asked.

    Attributes:
        repository: That was asked; ``written_for`` is the one whose golden set has the question.
        looked_up: Whether the symbol table or the code graph had the answer: found, whatever the features are.
    """

    repository: str
    written_for: str
    kind: Kind
    features: Mapping[str, float]
    looked_up: bool


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    options = _parser().parse_args(arguments)
    asked = list(ask_all(options.trees, options.clones, options.repo))
    print(verdict_table("words alone", asked, [_by_words(one) for one in asked]))
    for name, features in FEATURE_SETS.items():
        print(
            verdict_table(f"{name}, each repository with the weights of the others", asked, held_out(asked, features))
        )
    for name, features in FEATURE_SETS.items():
        print(_as_toml(name, fit(asked, features)))
    return 0


def ask_all(trees: Path, clones: Path | None, repo: Path) -> Iterator[Asked]:
    """Yield every question asked of its repository, and the answerable ones also of two others."""
    sources = load_sources(DATASETS / "projects" / "sources.toml")
    folders = {"coderag": repo}
    for name, source in sources.items():
        try:
            folders[name] = lay_out(name, source, trees, clones)
        except IngestionError as error:
            print(f"left out: {error}", file=sys.stderr)
    yield from _ask_group(folders, trees)
    tiny = {f"fixtures/{path.stem}": FIXTURES / path.stem for path in sorted((DATASETS / "fixtures").glob("*.jsonl"))}
    yield from _ask_group({name: folder for name, folder in tiny.items() if folder.is_dir()}, trees)


def _ask_group(folders: Mapping[str, Path], trees: Path) -> Iterator[Asked]:
    names = sorted(folders)
    for place, name in enumerate(names):
        rag = CodeRAG(
            folders[name], project=name.rpartition("/")[2], storage={"directory": str(trees / "calibration" / name)}
        )
        rag.index()
        print(name, file=sys.stderr, flush=True)
        for origin in (name, *(names[(place - step) % len(names)] for step in _FOREIGN_STEPS)):
            yield from _ask(rag, name, origin)


def _ask(rag: CodeRAG, repository: str, origin: str) -> Iterator[Asked]:
    tiny = origin.startswith("fixtures/")
    path = DATASETS / ("coderag.jsonl" if origin == "coderag" else f"{origin if tiny else f'projects/{origin}'}.jsonl")
    for question in load_golden(path).questions:
        if question.unanswerable and (origin != repository or tiny):
            continue
        judgement = asyncio.run(rag.aquery({"query": question.question}))["judgement"]
        kind: Kind = "near miss" if question.unanswerable else "answerable tiny" if tiny else "answerable"
        if origin != repository:
            kind = "foreign tiny" if tiny else "foreign"
        yield Asked(repository, origin, kind, judgement["features"], judgement["confidence"] == 1.0)


def fit(asked: Sequence[Asked], features: Sequence[str]) -> Calibration:
    """Return the logistic model over some features, each kind of question with its weight, and the thresholds.

    Raises:
        ValueError: There is no answerable question that was not simply looked up.
    """
    known = [one for one in asked if not one.looked_up]
    values = np.asarray([[one.features[name] for name in features] for one in known], np.float64)
    answerable = np.asarray([one.kind.startswith("answerable") for one in known])
    if not answerable.any():
        raise ValueError("no answerable question to fit with")
    counts = {kind: sum(one.kind == kind for one in known) for kind in KINDS}
    weights = np.asarray([_WEIGHTS[one.kind] / counts[one.kind] for one in known])
    scale = values.std(axis=0) + 1e-9
    found = minimize(_loss(values / scale, answerable.astype(float), weights), np.zeros(len(features) + 1), jac=True).x
    rounded = dict(zip(features, np.round(found[:-1] / scale, 2).tolist(), strict=True))
    model = Calibration(round(float(found[-1]), 2), rounded, weak_below=0.0, not_found_below=0.0)
    sure = [
        1.0 if one.looked_up else model.compute_probability(one.features) for one in asked if one.kind == "answerable"
    ]
    weak, not_found = np.quantile(sure, (WEAK_SHARE, NOT_FOUND_SHARE)).tolist()
    return Calibration(model.bias, rounded, weak_below=round(weak, 3), not_found_below=round(not_found, 3))


def _loss(
    values: FloatArray, labels: FloatArray, weights: FloatArray
) -> Callable[[FloatArray], tuple[float, FloatArray]]:
    """Return the weighted logistic loss with a little shrinkage, and its gradient; the last coefficient is the bias."""
    with_bias = np.column_stack([values, np.ones(len(values))])
    shrunk = np.append(np.ones(values.shape[1]), 0.0) * _SHRINKAGE

    def loss(coefficients: FloatArray) -> tuple[float, FloatArray]:
        logits = with_bias @ coefficients
        losses = np.logaddexp(0, logits) - labels * logits
        gradient = with_bias.T @ (weights * (1 / (1 + np.exp(-logits)) - labels)) + 2 * shrunk * coefficients
        return float(weights @ losses + shrunk @ coefficients**2), gradient

    return loss


def held_out(asked: Sequence[Asked], features: Sequence[str]) -> list[Evidence]:
    """Return the verdict on each question by a model that has seen neither its repository nor the one it was written for."""
    verdicts: dict[tuple[str, str], Calibration] = {}
    told: list[Evidence] = []
    for one in asked:
        pair = (one.repository, one.written_for)
        if pair not in verdicts:
            others = [other for other in asked if not {other.repository, other.written_for} & set(pair)]
            verdicts[pair] = fit(others, features)
        told.append(
            "found" if one.looked_up else verdicts[pair].classify(verdicts[pair].compute_probability(one.features))
        )
    return told


def _by_words(one: Asked) -> Evidence:
    """Return the verdict of the rule before: thresholds on the share of the words that the results' files have."""
    words = one.features["words_in_files"]
    if one.looked_up or words >= 0.5:
        return "found"
    return "weak" if words >= 0.2 else "not_found"


def verdict_table(title: str, asked: Sequence[Asked], verdicts: Sequence[Evidence]) -> str:
    """Return a Markdown table: for each kind of question the share of each verdict, with its interval of 95 %."""
    lines = [f"{title}\n", "| questions | found | weak | not found |", "|---|---|---|---|"]
    for kind in KINDS:
        own = [verdict for one, verdict in zip(asked, verdicts, strict=True) if one.kind == kind]
        shares = [estimate([float(verdict == wanted) for verdict in own]) for wanted in ("found", "weak", "not_found")]
        cells = (f"{share.mean:.0%} ({share.low:.0%} to {share.high:.0%})" for share in shares)
        lines.append(f"| {len(own)} {kind} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _as_toml(name: str, model: Calibration) -> str:
    values = {"weak_below": model.weak_below, "not_found_below": model.not_found_below, "bias": model.bias}
    return "\n".join([f"[{name}]", *(f"{key} = {value}" for key, value in {**values, **model.weights}.items())]) + "\n"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals.calibration", description=__doc__)
    add = parser.add_argument
    add("--clones", type=Path, help="folder of git clones; without it the revisions are downloaded")
    add("--trees", type=Path, default=Path(tempfile.gettempdir()) / "coderag-projects",
        help="folder for the projects' files and indexes (%(default)s)")  # fmt: skip
    add("--repo", type=Path, default=Path(__file__).parents[1],
        help="this repository without evals/datasets, which has its own questions (%(default)s)")  # fmt: skip
    return parser


if __name__ == "__main__":
    sys.exit(main())
