"""Vocabulary of the repository: terms that co-occur far more often than by chance."""

import numpy as np
import scipy.sparse as sp

from coderag.stores.corpus import Corpus

_MIN_COOCCURRENCES = 3  # chunks; twice may be chance
_MAX_TERM_CHUNKS = 400  # a more frequent term co-occurs with everything
_EPSILON = 1e-9  # for terms that stand in every chunk
_MIN_NPMI = 0.5  # normalised PMI; 1 is "always together"


def cooccurring_terms(corpus: Corpus, term: str, limit: int = 3) -> list[str]:
    """Return the terms with the highest normalised PMI.

    Source: normalised pointwise mutual information (Bouma, 2009), over chunks.

    Args:
        corpus: The open index.
        term: Term of the index; for another one the result is empty.
        limit: Maximum number of terms.
    """
    term_id = corpus.term_ids.get(term)
    if term_id is None:
        return []
    holders = corpus.body.find_documents(term_id)
    if not _MIN_COOCCURRENCES <= len(holders) <= _MAX_TERM_CHUNKS:
        return []
    counts: sp.csr_matrix[np.float32] = corpus.snapshot.read_counts().body
    cooccurrences = np.bincount(counts[holders].indices, minlength=counts.shape[1])
    columns = np.flatnonzero(cooccurrences >= _MIN_COOCCURRENCES)
    frequency = np.diff(corpus.body.starts)[columns]
    joint = cooccurrences[columns] / corpus.n_chunks
    lift = joint * corpus.n_chunks**2 / (frequency * len(holders))
    npmi = np.log(lift) / np.maximum(-np.log(joint), _EPSILON)
    terms = list(corpus.term_ids)
    order = np.argsort(-npmi, kind="stable")
    ranked_terms = (terms[columns[position]] for position in order if npmi[position] >= _MIN_NPMI)
    return [cooccurring for cooccurring in ranked_terms if cooccurring != term and not cooccurring.startswith("=")][
        :limit
    ]
