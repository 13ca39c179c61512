"""Scores for names of the question that occur in code without a declaration: settings, keys, variables."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coderag.question.entities import names_in
from coderag.schema.query import Analysis
from coderag.schema.vocabulary import VALUE_KINDS, Intent
from coderag.stores.corpus import Corpus
from coderag.stores.symbol_table import EXACT_OTHER_SCOPE_QUALITY, SymbolMatch, split_qualified

FloatArray = NDArray[np.float32]

_OTHER_SCOPE_SHARE = 0.5  # weight of a dotted name declared only in another scope, such as a settings key
_MAX_TELLING_CHUNKS = 10  # chunks; beyond that each mention counts less


def literal_name_scores(corpus: Corpus, analysis: Analysis) -> FloatArray:
    """Score the chunks that mention an undeclared name of the question: float32 (n_chunks,), 0 to 1.

    Declared names do not count, and a chunk counts less the more chunks mention the name.
    """
    scores = np.zeros(corpus.n_chunks, np.float32)
    for name in names_in(analysis["entities"]):
        share = _compute_share(name, corpus.symbols.find(name), analysis["intent"])
        if share and len(rows := corpus.find_chunks_with_name(name)):
            scores[rows] = np.maximum(scores[rows], np.float32(share * min(1.0, _MAX_TELLING_CHUNKS / len(rows))))
    return scores


def _compute_share(name: str, declared: Sequence[SymbolMatch], intent: Intent) -> float:
    """Compute the weight of a mention, 0 to 1, from the declarations of its name."""
    if not declared:
        return 1.0
    if intent == "find_usage" and all(match.kind in VALUE_KINDS for match in declared):
        return 1.0
    is_other_scope = len(split_qualified(name)) > 1 and all(
        declaration.quality <= EXACT_OTHER_SCOPE_QUALITY for declaration in declared
    )
    return _OTHER_SCOPE_SHARE if is_other_scope else 0.0
