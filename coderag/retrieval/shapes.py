"""What a list of results is for, by intent: declarations that explain something, one by name, or places."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coderag.config.sections import SearchSettings
from coderag.schema.query import Candidate
from coderag.schema.vocabulary import Intent
from coderag.stores.corpus import Corpus

FloatArray = NDArray[np.float32]


class Scored(NamedTuple):
    """A candidate and its score.

    Attributes:
        score: Higher is better.
        own: What of the score is the chunk's; the rest is that of its file.
        row: Of the chunk.
    """

    score: float
    own: float
    row: int
    candidate: Candidate

    def as_further(self, number: int, decay: float) -> float:
        """Return the score of what would be the result `number` of its file, from 0: the file's part counts less each time."""
        return self.own + (self.score - self.own) * decay**number


@dataclass(frozen=True, slots=True)
class Shape:
    """How results are chosen for an intent.

    Attributes:
        chunk_share: Weight of the chunk's own score against its file's, 0 to 1.
        same_file_decay: What the file's part of a score is multiplied with for each further result of it; the chunk's own part
            counts in full, so that a chunk which answers by itself is shown.
        length: Weight of the logarithm of a chunk's lines: of two that match alike, the longer one does the work.
        function: What a function or method has more than other chunks: it says how, a class's head or a constant what.
        max_per_file: Results of one file, at most; None takes the setting.
        wants_definition: Whether the declaration of a name is an answer, or only what the question is about.
    """

    chunk_share: float
    same_file_decay: float
    length: float = 0.033
    function: float = 0.0
    max_per_file: int | None = None
    wants_definition: bool = True

    def chunk_scores(self, corpus: Corpus, settings: SearchSettings, rows: Sequence[int] | slice) -> FloatArray:
        """Return what the signals ``length`` and ``function`` add to the own score of some chunks: float32 (n_rows,)."""
        lengths, functions = corpus.log_line_counts[rows], corpus.function_flags[rows]
        scores = np.zeros_like(lengths)
        for name, weight, values in (("length", self.length, lengths), ("function", self.function, functions)):
            if weight and name not in settings.disabled_signals:
                scores += np.float32(weight * settings.weights.get(name, 1.0)) * values
        return scores


REPORT: Final = Shape(chunk_share=0.6, same_file_decay=0.9, max_per_file=5)

_DEFINITION: Final = Shape(chunk_share=0.3, same_file_decay=0.4)
_OVERVIEW: Final = Shape(chunk_share=0.3, same_file_decay=0.45, length=0.12, function=0.3)
_PLACES: Final = Shape(chunk_share=0.6, same_file_decay=0.75, max_per_file=10, wants_definition=False)

SHAPES: Final[Mapping[Intent, Shape]] = MappingProxyType(
    {
        "find_definition": _DEFINITION,
        "find_usage": _PLACES,
        "hierarchy": _PLACES,
        "find_tests": _PLACES,
        "find_similar": _PLACES,
    }
)
"""Intents that ask for a name or for places; the others ask for an overview. Figures: ``docs/ranking.md``."""


def shape_of(intent: Intent) -> Shape:
    """Return how results are chosen for a question of an intent."""
    return SHAPES.get(intent, _OVERVIEW)
