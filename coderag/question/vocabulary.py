"""The repository's own vocabulary: terms that stand in the same chunks far more often than chance would have it."""

import numpy as np
import scipy.sparse as sp

from coderag.stores.corpus import Corpus

_FEWEST_TOGETHER = 3  # chunks; twice may be chance
_MOST_CHUNKS = 400  # a term in more of them has no company of its own
_LEAST = 1e-9  # for terms that stand in every chunk
_CLOSE = 0.5  # normalised pointwise mutual information from which two terms belong together; 1 is "always together"


def companions(corpus: Corpus, term: str, limit: int = 3) -> list[str]:
    """Return the terms that go together with a term in this repository, the closest first.

    Source: normalised pointwise mutual information (Bouma, 2009), over chunks.

    Args:
        corpus: The open index.
        term: A term of the index; another one has no companions.
        limit: Number of terms, at most.
    """
    column = corpus.term_ids.get(term)
    if column is None:
        return []
    holders = corpus.body.documents_with(column)
    if not _FEWEST_TOGETHER <= len(holders) <= _MOST_CHUNKS:
        return []
    counts: sp.csr_matrix[np.float32] = corpus.snapshot.counts().body
    together = np.bincount(counts[holders].indices, minlength=counts.shape[1])
    near = np.flatnonzero(together >= _FEWEST_TOGETHER)
    frequency = np.diff(corpus.body.starts)[near]
    joint = together[near] / corpus.n_chunks
    lift = joint * corpus.n_chunks**2 / (frequency * len(holders))
    mutual = np.log(lift) / np.maximum(-np.log(joint), _LEAST)
    terms = list(corpus.term_ids)
    order = np.argsort(-mutual, kind="stable")
    found = (terms[near[position]] for position in order if mutual[position] >= _CLOSE)
    return [other for other in found if other != term and not other.startswith("=")][:limit]
