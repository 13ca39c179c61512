"""Fit the weights of declaration features on labelled declarations, and write them to ``weights.toml``.

The weights of file features are set by hand there, so that the order of files stays good; the fit adds to them. The weights
maximise the likelihood of the labelled declarations under a softmax over the candidates of each question, with an L2 penalty.
Quality is measured by cross-validation over repositories, so that none is in both the training and the test part. Source of the
loss: ListNet (Cao et al., Learning to Rank, ICML 2007), with one top position.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from coderag import CodeRAG
from coderag.nodes.analyze import read_question
from coderag.question.analysis import meant_terms
from coderag.retrieval.hybrid import propose_candidates, run_channels
from coderag.retrieval.literals import build_literal_candidates, find_literal_matches
from coderag.retrieval.query_context import QueryContext
from coderag.retrieval.ranking.declaration_ranker import OTHER_ROLE, Profile, load_weights
from coderag.retrieval.ranking.features import (
    DECLARATION_FEATURES,
    FILE_FEATURES,
    compute_doubt,
    compute_features,
    compute_role_shares,
)
from coderag.schema.query import Analysis
from coderag.stores.corpus import Corpus
from evals.golden import Question, Target, load_golden
from evals.sources import check_out_project, load_sources

KINDS = (
    "function", "method", "class", "interface", "struct", "trait", "enum", "type_alias", "impl", "namespace", "constant",
    "variable", "field", "macro", "key", "module", "section", "block",
)  # fmt: skip
ROLES = ("test", "docs", "example", "config", "generated", "vendored", OTHER_ROLE)
GRAPH_KINDS = frozenset({"callers", "impact", "implementations", "language"})
"""Kinds of questions that the code graph answers, or that are in another language: they say nothing about the ranker."""

FIXED_FEATURES = ("literal", "frames", "frame_files", "mentioned_path")
"""Features whose weights stay as they are: few labelled questions have a literal or a place, and all that do show it."""

FITTED_FEATURES = tuple(name for name in DECLARATION_FEATURES if name not in FIXED_FEATURES)
WEIGHTS = Path("coderag/retrieval/ranking/weights.toml")
_HEADER = "# Weights of the ranker by profile, fitted by tools/ranking; docs/ranking.md describes the fit."
_REPORT_HEADER = "# A report has the weights of a question, and evidence that only a report has."
_MIN_OVERLAP = 0.5  # of the lines of both together, for a chunk to be a labelled declaration
_MIN_PART = 0.8  # of the chunk's lines
_PENALTY, _FOLDS = 3.0, 8
FloatMatrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Example:
    """Candidates of a question.

    Attributes:
        values: float64 (n_rows, n_columns), declaration features, then one column a kind and a role.
        offsets: float64 (n_rows,), weighted file features.
        is_answer: bool (n_rows,).
        weight: Weight of the question in the fit.
        is_report: Whether it is a report: its profile has the fitted weights, and only its probability is fitted.
    """

    repository: str
    kind: str
    values: FloatMatrix
    offsets: NDArray[np.float64]
    is_answer: NDArray[np.bool_]
    weight: float
    is_report: bool = False


class Label(NamedTuple):
    """Labelled answers of a question, its kind, and its weight in the fit."""

    repository: str
    kind: str
    answers: Sequence[Target]
    weight: float


def list_columns() -> list[str]:
    """Return the names of the columns."""
    return [*FITTED_FEATURES, *(f"kinds.{kind}" for kind in KINDS), *(f"roles.{role}" for role in ROLES)]


def build_examples(rag: CodeRAG, name: str, questions: Sequence[Question], weight: float) -> Iterator[Example]:
    """Yield the examples of a repository; questions of the graph and without a candidate that answers are left out."""
    context = rag._open()  # a tool of this package
    for question in questions:
        kind = question.tags[0] if question.tags else ""
        if question.unanswerable or kind in GRAPH_KINDS:
            continue
        analysis = read_question(question.question, context)
        yield _build_example(context, analysis, Label(name, kind, question.answers, weight))


def _build_example(context: QueryContext, analysis: Analysis, label: Label) -> Example:
    corpus, settings = context.corpus, context.settings
    vector = context.embedder.embed_query(analysis["text"], meant_terms(analysis))
    literals = build_literal_candidates(corpus, find_literal_matches(corpus, analysis))
    channels = run_channels(corpus, analysis, vector, None, settings)
    scores, rows = propose_candidates(
        corpus, analysis["question"], analysis, vector, channels, literals, settings, top_k=settings.top_k
    )
    features = compute_features(scores, DECLARATION_FEATURES, rows)
    file_features = compute_features(scores, FILE_FEATURES, rows)
    by_hand = load_weights("report" if analysis["report"] else "question")
    offsets = scores.breadth * sum(weight * file_features[feature] for feature, weight in by_hand.file.items())
    offsets += sum(by_hand.declaration.get(feature, 0.0) * features[feature] for feature in FIXED_FEATURES)
    kinds, roles = corpus.get_column("kind"), [corpus.file_roles[file] for file in corpus.chunk_files[rows]]
    shares = compute_role_shares(analysis, ROLES[:-1])
    is_limited = 0.0 in shares.values()
    columns: list[NDArray[Any]] = [features[feature] for feature in FITTED_FEATURES]
    doubt = compute_doubt(scores, rows)
    columns += [doubt * np.array([kinds[row] == kind_name for row in rows.tolist()]) for kind_name in KINDS]
    columns += [shares[role] * np.array([file_role == role for file_role in roles]) for role in ROLES[:-1]]
    columns.append(is_limited * np.array([bool(shares.get(file_role, 1.0)) for file_role in roles]))
    return Example(
        label.repository,
        label.kind,
        np.stack(columns, 1).astype(np.float64),
        np.asarray(offsets, np.float64),
        _find_answers(corpus, rows, label.answers),
        label.weight,
        analysis["report"] is not None,
    )


def _find_answers(corpus: Corpus, rows: NDArray[np.int64], answers: Sequence[Target]) -> NDArray[np.bool_]:
    return np.array([any(_is_answer(corpus, row, target) for target in answers) for row in rows.tolist()], bool)


def _is_answer(corpus: Corpus, row: int, target: Target) -> bool:
    if corpus.get_value("path", row) != target.path or target.start_line is None or target.end_line is None:
        return False
    start, end = int(corpus.start_lines[row]), int(corpus.end_lines[row])
    shared = min(end, target.end_line) - max(start, target.start_line) + 1
    if shared <= 0:
        return False
    together = max(end, target.end_line) - min(start, target.start_line) + 1
    is_part = shared >= _MIN_PART * (end - start + 1)  # of a long declaration in several chunks
    name = target.symbol.split(".")[-1]
    return (
        is_part or shared >= _MIN_OVERLAP * together or name in {member["name"] for member in corpus.chunk_symbols[row]}
    )


def fit_weights(examples: Sequence[Example]) -> NDArray[np.float64]:
    """Fit one weight a column."""
    usable = [example for example in examples if example.is_answer.any() and not example.is_answer.all()]
    values = np.concatenate([example.values for example in usable])
    starts = np.cumsum([0, *(len(example.values) for example in usable[:-1])])
    segments = np.repeat(np.arange(len(usable)), [len(example.values) for example in usable])
    is_answer = np.concatenate([example.is_answer for example in usable])
    offsets = np.concatenate([example.offsets for example in usable])
    importance = np.array([example.weight for example in usable])
    spread = values.std(0) + 1e-6
    scaled = (values - values.mean(0)) / spread

    def compute_loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        sums = scaled @ weights + offsets
        exponentials = np.exp(sums - np.maximum.reduceat(sums, starts)[segments])
        totals = np.add.reduceat(exponentials, starts)
        answers = np.add.reduceat(exponentials * is_answer, starts)
        loss = float((importance * (np.log(totals) - np.log(answers))).sum() + _PENALTY * weights @ weights)
        residuals = importance[segments] * (
            exponentials / totals[segments] - exponentials * is_answer / answers[segments]
        )
        return loss, scaled.T @ residuals + 2 * _PENALTY * weights

    fitted = minimize(compute_loss, np.zeros(values.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 500})
    weights: NDArray[np.float64] = np.where(values.std(0) > 0, fitted.x / spread, 0.0)
    return weights


def predict_held_out(examples: Sequence[Example]) -> list[NDArray[np.float64]]:
    """Predict the sums of each example by weights that were fitted on other repositories."""
    repositories = sorted({example.repository for example in examples})
    np.random.default_rng(0).shuffle(repositories)
    sums: list[NDArray[np.float64]] = [np.zeros(0)] * len(examples)
    for fold in range(_FOLDS):
        held_out = set(repositories[fold::_FOLDS])
        weights = fit_weights([example for example in examples if example.repository not in held_out])
        for position, example in enumerate(examples):
            if example.repository in held_out:
                sums[position] = example.values @ weights + example.offsets
    return sums


def print_ablation(examples: Sequence[Example]) -> None:
    """Print the hits without each feature, by weights that were fitted without it."""
    names = [*FITTED_FEATURES, "kinds", "roles"]
    columns = [column.partition(".")[0] for column in list_columns()]
    for name in names:
        keeps = np.array([column != name for column in columns])
        reduced = [replace(example, values=example.values * keeps) for example in examples]
        print_hits(f"without {name}", reduced, predict_held_out(reduced))
    reduced = [replace(example, offsets=np.zeros_like(example.offsets)) for example in examples]
    print_hits("without files", reduced, predict_held_out(reduced))


def fit_probability(examples: Sequence[Example], sums: Sequence[NDArray[np.float64]]) -> tuple[float, float]:
    """Fit the probability that a candidate answers: scale and bias of its sum (Platt, 1999)."""
    values, labels = np.concatenate(sums), np.concatenate([example.is_answer for example in examples])
    balance = np.where(labels, 1.0, labels.sum() / max((~labels).sum(), 1) * 4)

    def compute_loss(parameters: NDArray[np.float64]) -> float:
        logits = parameters[0] * values + parameters[1]
        return float((balance * np.logaddexp(0, np.where(labels, -logits, logits))).sum())

    scale, bias = minimize(compute_loss, np.array([1.0, -float(np.percentile(values, 95))]), method="Nelder-Mead").x
    return float(scale), float(bias)


def _fit_sums(examples: Sequence[Example], weights: NDArray[np.float64]) -> tuple[float, float]:
    return fit_probability(examples, [example.values @ weights + example.offsets for example in examples])


def print_hits(label: str, examples: Sequence[Example], sums: Sequence[NDArray[np.float64]]) -> None:
    """Print the share of questions with an answer among the first 1, 5 and 10 candidates."""
    if not examples:
        return
    ranks = []
    for example, values in zip(examples, sums, strict=True):
        positions = np.flatnonzero(example.is_answer[np.argsort(-values, kind="stable")])
        ranks.append(positions[0] + 1 if len(positions) else 1 << 30)
    shares = "  ".join(f"@{rank} {np.mean(np.array(ranks) <= rank):.3f}" for rank in (1, 5, 10))
    print(f"{label:24} {len(ranks):4} questions  {shares}")


def write_weights(weights: NDArray[np.float64], probabilities: Mapping[Profile, tuple[float, float]]) -> None:
    """Write ``weights.toml``, rounded to three digits; those set by hand stay as they are.

    Args:
        weights: Weight of each column.
        probabilities: Scale and bias of the sums, by profile.
    """
    questions, reports = load_weights("question"), load_weights("report")
    by_hand = [f"{name} = {weight:g}" for name, weight in questions.file.items()]
    tables: dict[str, list[str]] = {"declaration": [], "file": by_hand, "kinds": [], "roles": []}
    for column, weight in zip(list_columns(), weights.tolist(), strict=True):
        table, _, name = column.rpartition(".")
        tables[table or "declaration"].append(f"{name} = {weight:.3f}")
    fixed = {name: f"{name} = {reports.declaration[name]:g}" for name in FIXED_FEATURES}
    tables["declaration"] += [fixed[name] for name in fixed if name in questions.declaration]
    lines = [_HEADER]
    for table, entries in tables.items():
        lines += ["", f"[question.{table}]", *entries]
    lines += [
        "",
        *_format_probability("question", *probabilities["question"]),
        "",
        _REPORT_HEADER,
        "[report.declaration]",
    ]
    lines += [fixed[name] for name in fixed if name not in questions.declaration]
    lines += ["", *_format_probability("report", *probabilities["report"])]
    WEIGHTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _format_probability(profile: Profile, scale: float, bias: float) -> list[str]:
    return [f"[{profile}.probability]", f"scale = {scale:.3f}", f"bias = {bias:.3f}"]


def main() -> None:
    """Fit, report and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "sets", nargs="+", type=Path, help="folders of golden sets with a sources.toml, as folder[=weight]"
    )
    parser.add_argument("--trees", type=Path, required=True, help="folder of the projects' files")
    parser.add_argument("--indexes", type=Path, required=True, help="folder of their indexes")
    parser.add_argument("--clones", type=Path, help="folder of git clones")
    parser.add_argument("--leave-out", nargs="*", default=[], help="repositories that must not be looked at")
    parser.add_argument("--ablate", action="store_true", help="measure what each feature is worth")
    parser.add_argument("--write", action="store_true", help="write the weights")
    arguments = parser.parse_args()
    examples: list[Example] = []
    for entry in arguments.sets:
        folder, _, weight = str(entry).partition("=")
        for name, source in load_sources(Path(folder) / "sources.toml").items():
            golden = Path(folder) / f"{name}.jsonl"
            if name in arguments.leave_out or not golden.exists():
                continue
            root = check_out_project(name, source, arguments.trees, arguments.clones)
            rag = CodeRAG(root, storage={"directory": str((arguments.indexes / name).absolute())})
            rag.index()
            examples += build_examples(rag, name, load_golden(golden).questions, float(weight or 1))
    reports = [example for example in examples if example.is_report]
    examples = [example for example in examples if not example.is_report]
    sums = predict_held_out(examples)
    print_hits("all", examples, sums)
    for kind in sorted({example.kind for example in examples}):
        part = [position for position, example in enumerate(examples) if example.kind == kind]
        print_hits(kind, [examples[position] for position in part], [sums[position] for position in part])
    weights = fit_weights(examples)
    effects = weights * np.concatenate([example.values for example in examples]).std(0)
    for position in np.argsort(-np.abs(effects)):
        print(f"{list_columns()[position]:20} weight {weights[position]:+.3f}  effect {effects[position]:+.3f}")
    probabilities: dict[Profile, tuple[float, float]] = {"question": _fit_sums(examples, weights)}
    probabilities["report"] = _fit_sums(reports, weights) if reports else probabilities["question"]
    print_hits("reports", reports, [report.values @ weights + report.offsets for report in reports])
    for profile, (scale, bias) in probabilities.items():
        print(f"probability of a {profile}: scale {scale:.3f}, bias {bias:.3f}")
    if arguments.ablate:
        print_ablation(examples)
    if arguments.write:
        write_weights(weights, probabilities)
        load_weights.cache_clear()


if __name__ == "__main__":
    main()
