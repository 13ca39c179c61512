"""Count the terms of chunks once, by field, for the lexical index and for the dense model alike.

Text is cut into raw tokens; each distinct one is expanded into terms only once a run, so that the counts of a whole batch
are one sparse product: chunks × raw tokens times raw tokens × terms.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from coderag.stores.field_counts import FieldCounts
from coderag.tokens import expand, path_terms, raw_tokens

if TYPE_CHECKING:
    from llama_index.core.schema import BaseNode


class TermCounter:
    """Counts terms of chunks by field; the vocabulary only grows, so that earlier counts stay valid.

    Args:
        terms: Vocabulary to start from, such as that of the index that is updated.
    """

    def __init__(self, terms: Sequence[str] = ()) -> None:
        self._term_ids = _numbering(terms)
        self._raw_ids = _numbering(())
        self._expansion_ids: list[int] = []
        self._expansion_ends = [0]

    @property
    def terms(self) -> list[str]:
        """The vocabulary: column ``j`` of all counts is ``terms[j]``."""
        return list(self._term_ids)

    def count(self, nodes: Sequence["BaseNode"]) -> FieldCounts:
        """Return the term counts of some chunks; terms that are new, those of their paths too, join the vocabulary."""
        number = self._raw_ids.__getitem__
        bodies, names, docs = [], [], []
        for node in nodes:
            metadata = node.metadata
            bodies.append(_numbers(f"{metadata['context']}\n{node.text}", number))  # type: ignore[attr-defined]
            declared = " ".join([metadata["name"], *(symbol["qualified_name"] for symbol in metadata["symbols"])])
            names.append(_numbers(declared, number))
            docs.append(_numbers(f"{metadata['summary']}\n{metadata['docstring']}", number))
        for path in dict.fromkeys(node.metadata["path"] for node in nodes):  # a set's order differs between processes
            for term in path_terms(path):
                self._term_ids[term]  # a look-up numbers a new term
        expansion = self._expansion()
        body, name, doc = (_counts(rows, len(self._raw_ids)) @ expansion for rows in (bodies, names, docs))
        return FieldCounts(body=body, names=name, docs=doc)

    def path_counts(self, paths: Sequence[str]) -> sp.csr_matrix:
        """Return the term counts of paths of counted chunks, float32 (n_paths, n_terms)."""
        ids = [[self._term_ids[term] for term in path_terms(path)] for path in paths]
        return _counts(ids, len(self._term_ids))

    def _expansion(self) -> sp.csr_matrix:
        """Return the terms of every raw token seen so far, float32 (n_raw_tokens, n_terms)."""
        known = len(self._expansion_ends) - 1
        number, ids, ends = self._term_ids.__getitem__, self._expansion_ids, self._expansion_ends
        for raw in list(self._raw_ids)[known:]:
            ids.extend(map(number, expand(raw)))
            ends.append(len(ids))
        return sp.csr_matrix(
            (np.ones(len(ids), np.float32), np.asarray(ids, np.int32), np.asarray(ends, np.int64)),
            shape=(len(self._raw_ids), len(self._term_ids)),
        )


def _numbers(text: str, number: Callable[[str], int]) -> list[int]:
    """Return the numbers of a text's raw tokens."""
    return list(map(number, raw_tokens(text)))


def _numbering(known: Iterable[str]) -> dict[str, int]:
    """Return a dict that gives each new key the next number."""
    numbers: defaultdict[str, int] = defaultdict(None, {key: number for number, key in enumerate(known)})
    numbers.default_factory = numbers.__len__
    return numbers


def _counts(rows: Sequence[Sequence[int]], n_columns: int) -> sp.csr_matrix:
    """Return how often each number is in each row, float32 (n_rows, n_columns)."""
    indptr = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=indptr[1:])
    flat = np.fromiter(chain.from_iterable(rows), np.int32, int(indptr[-1]))
    counts = sp.csr_matrix((np.ones(len(flat), np.float32), flat, indptr), shape=(len(rows), n_columns))
    counts.sum_duplicates()
    return counts
