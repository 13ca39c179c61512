"""Train the classifier of questions, and measure it on families of wordings that it has not seen.

    python tools/question/train.py --report report.md      # cross-validation
    python tools/question/train.py --write                 # and the packaged model

Takes about five minutes on one CPU core. CodeRAG itself never runs it.
"""

import argparse
import hashlib
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar

from coderag.question.classifier import HEADS, NO_KIND, Classifier, Reading
from coderag.question.cues import load_wide_cues
from coderag.question.features import extract_features

sys.path.insert(0, str(Path(__file__).parent))
from wordings import TEST_FOLDER, Wording, group_wordings, load_wordings

ASSET = Path(__file__).parents[2] / "coderag" / "question" / "classifier.npz"
_FOLDS = 5
_PENALTY = 5e-6
_ITERATIONS = 80
_MIN_GROUPS = 2  # groups of wordings that have a feature
_CONCEPT_WEIGHT = 2.0
_CONCEPT_FEATURES = ("C:", "A:", "Z:")
_MAX_FEATURES = 36_000  # of the packaged model, the most telling ones
_MIN_CONFIDENCE = 0.3
_ROUTES: Mapping[str, str] = dict.fromkeys(("understand", "setting", "history", "general"), "search")
"""Kinds that are searched for by words and answered alike."""

_SAME_RELATIONS: Mapping[str, str] = {"instantiates": "calls", "reads": "uses", "writes": "uses"}
"""Relations that the code graph answers alike."""

_UNRELATED = frozenset({"impact", "path"})
"""Kinds whose answer does not depend on their relation."""

_LABELS: Mapping[str, Callable[[Wording], str]] = {
    "kind": lambda wording: wording.kind,
    "relation": lambda wording: "" if wording.relation == "none" else f"{wording.relation}:{wording.direction}",
    "form": lambda wording: wording.form,
}
FloatArray = NDArray[np.float32]


class Examples:
    """Wordings with their features, as they are asked and with all subjects masked."""

    def __init__(self, wordings: Sequence[Wording]) -> None:
        cues = load_wide_cues()
        self.wordings = wordings
        self.groups = group_wordings(wordings)
        self.features = [
            [extract_features(wording.read_tokens(), cues) for wording in wordings],
            [extract_features(wording.read_masked(), cues) for wording in wordings],
        ]

    def split(self, fold: int) -> tuple[list[int], list[int]]:
        """Return the positions of the training and of the test wordings of a fold."""
        folds = [int(hashlib.md5(str(group).encode()).hexdigest(), 16) % _FOLDS for group in self.groups]  # noqa: S324
        positions = range(len(folds))
        return [at for at in positions if folds[at] != fold], [at for at in positions if folds[at] == fold]


class Model:
    """A trained model: features with weights, and for each head its labels and matrix."""

    def __init__(self, examples: Examples, positions: Sequence[int]) -> None:
        self._examples = examples
        groups: dict[str, set[int]] = defaultdict(set)
        for features in examples.features:
            for at in positions:
                for feature in features[at]:
                    groups[feature].add(examples.groups[at])
        names = sorted(name for name, members in groups.items() if len(members) >= _MIN_GROUPS)
        total = len({examples.groups[at] for at in positions})
        self.weights = np.array([_weigh(name, total / len(groups[name])) for name in names], np.float32)
        self.rows = {name: row for row, name in enumerate(names)}
        self.labels: dict[str, list[str]] = {}
        self.matrices: dict[str, FloatArray] = {}
        for head, label in _LABELS.items():
            used = [at for at in positions if label(examples.wordings[at])]
            values = [label(examples.wordings[at]) for at in used]
            self.labels[head] = sorted(set(values))
            inputs = sp.vstack([self.encode(features, used) for features in examples.features]).tocsr()
            targets = np.array([self.labels[head].index(value) for value in values] * len(examples.features))
            self.matrices[head] = _fit(inputs, targets, len(self.labels[head]))

    def encode(self, features: Sequence[set[str]], positions: Sequence[int]) -> sp.csr_matrix:
        """Return the normalised features of some wordings, (n, n_features)."""
        indices: list[int] = []
        ends, values = [0], []
        for at in positions:
            rows = [self.rows[name] for name in features[at] if name in self.rows]
            weights = self.weights[rows]
            values.append(weights / max(float(np.sqrt(weights @ weights)), 1e-6))
            indices += rows
            ends.append(len(indices))
        return sp.csr_matrix((np.concatenate(values), indices, ends), shape=(len(positions), len(self.rows)))

    def pack(self, temperatures: Mapping[str, float]) -> dict[str, NDArray[np.generic]]:
        """Return the arrays of the packaged model: the most telling features, their scores as int8."""
        names = list(self.rows)
        stacked = np.hstack([self.matrices[head] for head in HEADS])
        telling = np.abs(stacked * self.weights[:, None]).max(1)
        chosen = np.sort(np.argsort(-telling)[:_MAX_FEATURES])
        scales = np.abs(stacked[chosen]).max(0) / 127
        pairs = Counter((_LABELS["kind"](item), _LABELS["relation"](item)) for item in self._examples.wordings)
        return {
            "features": _join(names[row] for row in chosen),
            "weights": self.weights[chosen].astype(np.float16),
            "matrix": np.round(stacked[chosen] / scales).astype(np.int8),
            "scales": scales.astype(np.float32),
            "labels": _join(f"{head} {label}" for head in HEADS for label in self.labels[head]),
            "temperatures": np.array([temperatures[head] for head in HEADS], np.float32),
            "min_confidence": np.array(_MIN_CONFIDENCE, np.float32),
            "kinds": _join(f"{kind} {relation}" for (kind, relation) in sorted(pairs) if relation),
        }


def _weigh(name: str, rarity: float) -> float:
    return float(np.log(rarity)) * (_CONCEPT_WEIGHT if name.startswith(_CONCEPT_FEATURES) else 1.0)


def _join(lines: "Sequence[str] | object") -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(lines).encode(), np.uint8)  # type: ignore[arg-type]


def _fit(inputs: sp.csr_matrix, targets: NDArray[np.int64], n_labels: int) -> FloatArray:
    """Return the weights of a multinomial logistic regression, (n_features, n_labels)."""
    n, n_features = inputs.shape
    transposed, rows = inputs.T.tocsr(), np.arange(n)

    def evaluate(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        matrix = flat.reshape(n_features, n_labels).astype(np.float32)
        scores = inputs @ matrix
        scores -= scores.max(1, keepdims=True)
        shares = np.exp(scores)
        shares /= shares.sum(1, keepdims=True)
        loss = -np.log(shares[rows, targets] + 1e-9).sum() / n + _PENALTY * float((matrix * matrix).sum())
        shares[rows, targets] -= 1
        return loss, (transposed @ (shares / n) + 2 * _PENALTY * matrix).ravel().astype(np.float64)

    start = np.zeros(n_features * n_labels)
    result = minimize(evaluate, start, jac=True, method="L-BFGS-B", options={"maxiter": _ITERATIONS})
    return result.x.reshape(n_features, n_labels).astype(np.float32)


def fit_temperature(scores: Sequence[tuple[FloatArray, int]]) -> float:
    """Return the temperature with the least loss on held-out scores, each with the position of its label."""

    def evaluate(logarithm: float) -> float:
        total = 0.0
        for row, target in scores:
            logits = row / np.exp(logarithm)
            total += float(np.log(np.exp(logits - logits.max()).sum()) + logits.max() - logits[target])
        return total

    return float(np.exp(minimize_scalar(evaluate, bounds=(-3, 3), method="bounded").x))


def validate(examples: Examples, folds: int) -> tuple[dict[int, Reading], dict[str, float]]:
    """Return what packed models read in wordings of unseen groups, and the temperature of each head."""
    readings: dict[int, Reading] = {}
    scores: dict[str, list[tuple[FloatArray, int]]] = {head: [] for head in HEADS}
    for fold in range(folds):
        training, test = examples.split(fold)
        model = Model(examples, training)
        inputs = model.encode(examples.features[0], test)
        for head, label in _LABELS.items():
            known = model.labels[head]
            held_out = inputs @ model.matrices[head]
            scores[head] += [
                (row, known.index(value))
                for row, at in zip(held_out, test, strict=True)
                if (value := label(examples.wordings[at])) in known
            ]
        classifier = Classifier(model.pack({head: fit_temperature(scores[head]) for head in HEADS}), load_wide_cues())
        readings |= {at: classifier.classify(examples.wordings[at].read_tokens()) for at in test}
    return readings, {head: fit_temperature(scores[head]) for head in HEADS}


def measure_final(examples: Examples, n_training: int, temperatures: Mapping[str, float]) -> dict[int, Reading]:
    """Return what a model trained on the first wordings reads in the others."""
    positions = range(len(examples.wordings))
    model = Model(examples, positions[:n_training])
    classifier = Classifier(model.pack(temperatures), load_wide_cues())
    return {at: classifier.classify(examples.wordings[at].read_tokens()) for at in positions[n_training:]}


def report(examples: Examples, readings: Mapping[int, Reading]) -> str:
    """Format the shares of wordings of unseen groups that are read rightly, by language and by kind."""
    lines = ["| wordings | n | kind | relation and direction | form | route |", "|---|---|---|---|---|---|"]
    wordings = examples.wordings
    sets = {"all": list(readings)}
    for language in sorted({wording.language for wording in wordings}):
        sets[language] = [at for at in readings if wordings[at].language == language]
    for kind in sorted({wording.kind for wording in wordings}):
        sets[f"en, {kind}"] = [at for at in readings if (wordings[at].language, wordings[at].kind) == ("en", kind)]
    for name, positions in sets.items():
        right = [readings[at].kind == wordings[at].kind for at in positions]
        forms = [readings[at].form == wordings[at].form for at in positions]
        related = [
            (readings[at].relation, readings[at].direction) == (wordings[at].relation, wordings[at].direction)
            for at in positions
            if wordings[at].relation != "none"
        ]
        routes = [_get_route(readings[at]) == _get_route(wordings[at]) for at in positions]
        shares = " | ".join(map(_share, (right, related, forms, routes)))
        lines.append(f"| {name} | {len(positions)} | {shares} |")
    sure = [at for at in readings if readings[at].confidence >= 0.7]
    right = [readings[at].kind == wordings[at].kind for at in sure]
    lines += ["", f"Of the {len(sure)} with a confidence of at least 0.7, {_share(right)} have the right kind."]
    wrong = Counter((wordings[at].kind, readings[at].kind) for at in readings if readings[at].kind != wordings[at].kind)
    lines += [
        "",
        "Most frequent mistakes: " + ", ".join(f"{a} as {b} {n}" for (a, b), n in wrong.most_common(12)) + ".",
    ]
    return "\n".join(lines) + "\n"


def _get_route(item: Reading | Wording) -> tuple[str, ...]:
    """Return what decides how a question is answered: kinds and relations that are answered alike are one."""
    if item.form in ("comparison", "overview", "unused"):
        return (item.form,)
    if item.kind in _ROUTES or item.kind in _UNRELATED:
        return (_ROUTES.get(item.kind, item.kind),)
    relation, direction = (value if value != "none" else "" for value in (item.relation, item.direction))
    return item.kind, _SAME_RELATIONS.get(relation, relation), direction


def _share(flags: Sequence[bool]) -> str:
    """Format a share with half of its 95 % interval."""
    if not flags:
        return ""
    share = sum(flags) / len(flags)
    return f"{100 * share:.1f} ± {196 * (share * (1 - share) / len(flags)) ** 0.5:.1f} %"


def main() -> None:
    """Run the trainer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folds", type=int, default=_FOLDS, help="folds of the cross-validation that are run")
    parser.add_argument("--report", type=Path, help="file for the figures; by default they are printed")
    parser.add_argument("--mistakes", type=Path, help="file for the wordings that are read wrongly")
    parser.add_argument("--final", action="store_true", help="measure on the families kept apart, instead of by folds")
    parser.add_argument("--write", action="store_true", help="write the packaged model, trained on all wordings")
    arguments = parser.parse_args()
    training = load_wordings()
    examples = Examples(training)
    readings, temperatures = validate(examples, arguments.folds)
    if arguments.final or arguments.write:
        examples = Examples([*training, *load_wordings(TEST_FOLDER)])
    if arguments.final:
        readings = measure_final(examples, len(training), temperatures)
    text = report(examples, readings)
    if arguments.report:
        arguments.report.write_text(text, "utf-8")
    else:
        sys.stdout.write(text)
    if arguments.mistakes:
        rows = ((examples.wordings[at], readings[at]) for at in sorted(readings))
        mistakes = [
            f"{item.language} {item.kind}/{item.relation}:{item.direction}/{item.form} -> "
            f"{read.kind}/{read.relation}:{read.direction}/{read.form} {read.confidence:.2f} {item.text}"
            for item, read in rows
            if read.kind != item.kind
        ]
        arguments.mistakes.write_text("\n".join(mistakes) + "\n", "utf-8")
    if arguments.write:
        model = Model(examples, range(len(examples.wordings)))
        np.savez_compressed(ASSET, allow_pickle=False, **model.pack(temperatures))
        sys.stdout.write(f"{ASSET.name}: {ASSET.stat().st_size:,} bytes; kinds below {NO_KIND} at {_MIN_CONFIDENCE}\n")


if __name__ == "__main__":
    main()
