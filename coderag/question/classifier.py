"""Linear classifier of questions: what is asked, the relation and its direction, and the form of the answer.

``tools/question/train.py`` trains it on labelled wordings. Its features are words and the concepts of cues; names are masked.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coderag.question.cues import CueTable, load_wide_cues
from coderag.question.features import N_SHAPE_FEATURES, extract_features
from coderag.question.wording import Token
from coderag.schema.vocabulary import QuestionKind

HEADS: Final = ("kind", "relation", "form")
"""Questions to the classifier, each with labels of its own."""

NO_KIND: Final[QuestionKind] = "general"
"""Kind of a question that is not understood with enough confidence."""

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a question asks.

    Attributes:
        kind: Its kind; `NO_KIND` below the classifier's minimum confidence.
        confidence: Calibrated probability of the kind, 0 to 1.
        relation, direction: Relation that is asked for, seen from the subject; empty for kinds without one.
        form: Form of the answer that is asked for.
        form_confidence: Calibrated probability of the form, 0 to 1.
        probabilities: Calibrated probability of each kind.
    """

    kind: str
    confidence: float
    relation: str
    direction: str
    form: str
    form_confidence: float
    probabilities: Mapping[str, float]


class Classifier:
    """A linear model over binary features, normalised by their inverse document frequency.

    Args:
        arrays: ``features`` (UTF-8 text, one a line), ``weights`` (n_features,), ``matrix`` (n_features, n_labels) as int8
            with ``scales`` (n_labels,), ``labels`` (as ``head label`` lines), ``temperatures`` (one a head),
            ``min_confidence``, and ``kinds`` (lines ``kind relation`` that occur together).
        cues: The cues of the features.
    """

    def __init__(self, arrays: Mapping[str, NDArray[np.generic]], cues: CueTable) -> None:
        self._cues = cues
        self._rows = {name: row for row, name in enumerate(_read_lines(arrays["features"]))}
        self._weights = arrays["weights"].astype(np.float32)
        self._matrix = arrays["matrix"]
        self._scales = arrays["scales"].astype(np.float32)
        labels = [line.split(" ", 1) for line in _read_lines(arrays["labels"])]
        self._columns = {head: [at for at, label in enumerate(labels) if label[0] == head] for head in HEADS}
        self._labels = {head: [labels[at][1] for at in columns] for head, columns in self._columns.items()}
        self._temperatures = dict(zip(HEADS, arrays["temperatures"].astype(float).tolist(), strict=True))
        self._min_confidence = float(arrays["min_confidence"])
        self._relations: dict[str, set[str]] = {}
        for line in _read_lines(arrays["kinds"]):
            kind, relation = line.split(" ", 1)
            self._relations.setdefault(kind, set()).add(relation)

    def classify(self, tokens: Sequence[Token]) -> Reading:
        """Return what a question asks."""
        scores = self._score(tokens)
        kinds = self._compute_probabilities(scores, "kind")
        best = int(kinds.argmax())
        kind, confidence = self._labels["kind"][best], float(kinds[best])
        if confidence < self._min_confidence:
            kind = NO_KIND
        relation, direction = "", ""
        if possible := self._relations.get(kind):
            relation, _, direction = self._choose_relation(scores, possible).partition(":")
        forms = self._compute_probabilities(scores, "form")
        form = int(forms.argmax())
        probabilities = dict(zip(self._labels["kind"], kinds.tolist(), strict=True))
        return Reading(
            kind, confidence, relation, direction, self._labels["form"][form], float(forms[form]), probabilities
        )

    def _score(self, tokens: Sequence[Token]) -> FloatArray:
        """Return the score of each label, (n_labels,)."""
        features = extract_features(tokens, self._cues)
        rows = [row for feature in features if (row := self._rows.get(feature)) is not None]
        if len(rows) <= N_SHAPE_FEATURES:  # no word says anything
            return np.zeros(len(self._scales), np.float32)
        weights = self._weights[rows]
        length = float(np.sqrt(weights @ weights))
        total: FloatArray = (weights @ self._matrix[rows].astype(np.float32)) * self._scales / length
        return total

    def _compute_probabilities(self, scores: FloatArray, head: str) -> FloatArray:
        logits = scores[self._columns[head]] / self._temperatures[head]
        exponents = np.exp(logits - logits.max())
        probabilities: FloatArray = exponents / exponents.sum()
        return probabilities

    def _choose_relation(self, scores: FloatArray, possible: Collection[str]) -> str:
        columns = zip(self._labels["relation"], self._columns["relation"], strict=True)
        return max((float(scores[column]), label) for label, column in columns if label in possible)[1]


def _read_lines(array: NDArray[np.generic]) -> list[str]:
    return array.tobytes().decode("utf-8").split("\n")


@cache
def load_classifier() -> Classifier:
    """Load the packaged classifier, once per process."""
    with (resources.files("coderag.question") / "classifier.npz").open("rb") as file, np.load(file) as arrays:
        return Classifier(dict(arrays), load_wide_cues())
