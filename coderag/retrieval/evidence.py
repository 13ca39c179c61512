"""Judge whether the results answer the question: found, weak, or not found."""

from collections.abc import Sequence

import numpy as np

from coderag.schema import RESOLVED, Evidence
from coderag.state import Analysis, Candidate
from coderag.stores.corpus import Corpus

WEAK_BELOW = 0.5
"""Share of the question's words, each weighted by its rarity, that the best results must have between them."""

NOT_FOUND_BELOW = 0.2
"""Share below which nothing was found. Both were read off the development benchmark: ``docs/ranking.md``."""

_RESULTS = 5
_EXACT = 0.99
_ASKED_OF_GRAPH = frozenset({"find_usage", "hierarchy", "find_tests"})


def judge(corpus: Corpus, analysis: Analysis, results: Sequence[Candidate]) -> Evidence:
    """Return how well the results answer the question.

    Args:
        corpus: The open index.
        analysis: What the question asks for.
        results: Ranked results, best first.
    """
    if not results:
        return "not_found"
    known = RESOLVED if analysis["intent"] in _ASKED_OF_GRAPH else _EXACT
    if any(result["channels"].get("lookup", 0.0) >= known for result in results):
        return "found"
    covered = coverage(corpus, analysis["terms"], results)
    if covered < NOT_FOUND_BELOW:
        return "not_found"
    return "weak" if covered < WEAK_BELOW else "found"


def coverage(corpus: Corpus, terms: Sequence[str], results: Sequence[Candidate]) -> float:
    """Return the share (0 to 1) of the question's words, by rarity, that the files of the first results have."""
    files = {int(corpus.file_of[corpus.row_of[result["chunk_id"]]]) for result in results[:_RESULTS]}
    rows = np.asarray([row for file in files for row in corpus.chunk_rows(file)])
    total = hit = 0.0
    for term in dict.fromkeys(terms):
        column = corpus.term_ids.get(term)
        holders = corpus.body.documents_with(column) if column is not None else np.zeros(0, np.int32)
        rarity = float(np.log1p(corpus.n_chunks / (1 + len(holders))))
        total += rarity
        if len(holders) and np.isin(rows, holders).any():
            hit += rarity
    return hit / total if total else 0.0
