"""Distinctive terms of clusters, as words that people wrote."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coderag.stores.field_counts import FieldCounts
from coderag.stores.lexical import NAMES_WEIGHT
from coderag.stores.protocols import IndexSnapshot
from coderag.text.tokenizer import COMPOUND_PREFIX, STOP_WORDS, split_identifier, split_raw_tokens, stem

IntArray = NDArray[np.int64]

_TERMS: Final = 3
_CANDIDATES: Final = 24
_MAX_ROWS: Final = 60_000  # that are counted
_MAX_READ_TEXTS: Final = 100  # of a cluster, for the spelling of its terms
_MAX_TEXT_CHARS: Final = 20_000
_MIN_TERM_CHARS: Final = 3
_COMMON: Final = 0.01  # a map of one cluster has no distinctive terms, only common ones
_KEYWORDS: Final = [
    "args",
    "bool",
    "class",
    "const",
    "def",
    "elif",
    "else",
    "end",
    "enum",
    "export",
    "false",
    "final",
    "float",
    "fn",
    "func",
    "function",
    "impl",
    "import",
    "init",
    "int",
    "interface",
    "kwargs",
    "let",
    "none",
    "null",
    "package",
    "private",
    "protected",
    "pub",
    "public",
    "return",
    "self",
    "static",
    "str",
    "string",
    "struct",
    "sys",
    "this",
    "true",
    "type",
    "typeof",
    "var",
    "void",
]
_STEMMED_STOP_WORDS: Final = frozenset(map(stem, (*STOP_WORDS, *_KEYWORDS)))


def name_clusters(clusters: IntArray, snapshot: IndexSnapshot) -> list[tuple[str, ...]]:
    """Name each cluster by its distinctive terms.

    Args:
        clusters: int64 (n_chunks,), cluster of each chunk.
        snapshot: The generation, for the terms of its chunks and for their spelling.
    """
    n_clusters = int(clusters.max(initial=-1)) + 1
    terms = snapshot.read_terms()
    scores = _score_terms(clusters, snapshot.read_counts(), n_clusters)
    scores *= np.array([_is_word(term) for term in terms], bool)
    names: list[tuple[str, ...]] = []
    for cluster in range(n_clusters):
        best = np.argsort(-scores[cluster], kind="stable")[:_CANDIDATES]
        rows = np.flatnonzero(clusters == cluster)
        spellings = _count_spellings(snapshot.read_texts(rows[:: len(rows) // _MAX_READ_TEXTS + 1].tolist()))
        candidates = [_spell(terms[number], spellings) for number in best if scores[cluster, number] > 0]
        names.append(_choose_distinct(candidates, names))
    return names


def _score_terms(clusters: IntArray, counts: FieldCounts, n_clusters: int) -> NDArray[np.float64]:
    """Score terms by their share of a cluster's chunks, times the logarithm of its ratio to the share of all chunks."""
    import scipy.sparse as sp  # noqa: PLC0415  # 0.3 s

    rows = np.arange(0, len(clusters), len(clusters) // _MAX_ROWS + 1)
    members = sp.csr_matrix(
        (np.ones(len(rows), np.float32), (clusters[rows], np.arange(len(rows)))), shape=(n_clusters, len(rows))
    )
    sizes = np.maximum(np.asarray(members.sum(axis=1)), 1)
    shares = np.zeros((n_clusters, counts.n_terms), np.float64)
    for matrix, weight in ((counts.body, 1.0), (counts.names, NAMES_WEIGHT)):
        chosen = matrix[rows]
        chosen.data = np.ones_like(chosen.data)
        shares += weight * (members @ chosen).toarray() / sizes
    overall = np.maximum((shares * sizes).sum(axis=0) / len(rows), 1e-9)
    scores: NDArray[np.float64] = shares * (np.log(np.maximum(shares, 1e-9) / overall) + _COMMON)
    return scores


def _is_word(term: str) -> bool:
    is_long_enough = len(term) >= _MIN_TERM_CHARS or not term.isascii()
    return is_long_enough and not (term.startswith(COMPOUND_PREFIX) or term.isdigit() or term in _STEMMED_STOP_WORDS)


def _count_spellings(texts: list[str]) -> dict[str, Counter[str]]:
    """Count the words of some texts by their stem."""
    spellings: dict[str, Counter[str]] = {}
    for text in texts:
        for token in split_raw_tokens(text[:_MAX_TEXT_CHARS]):
            for part in split_identifier(token):
                spellings.setdefault(stem(part), Counter())[part] += 1
    return spellings


def _spell(term: str, spellings: dict[str, Counter[str]]) -> str:
    """Return the commonest word with a stem, the shortest of equals; the stem if no word is known."""
    counter = spellings.get(term)
    return min(counter, key=lambda word: (-counter[word], len(word), word)) if counter else term


def _choose_distinct(candidates: list[str], taken: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Choose the first words of which none contains another, and which are not yet the name of a cluster."""
    chosen: list[str] = []
    for word in candidates:
        if any(word in other or other in word for other in chosen):
            continue
        if (*chosen, word) in taken:
            continue
        chosen.append(word)
        if len(chosen) == _TERMS:
            break
    return tuple(chosen)
