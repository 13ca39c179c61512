"""Term counts of chunks by field, for the lexical index and the dense model.

Text is split into raw tokens. Each distinct token is expanded into terms once per run, so the counts of a batch are one
sparse product: chunks × raw tokens times raw tokens × terms.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from coderag.stores.field_counts import FieldCounts
from coderag.text.tokenizer import expand_token, split_raw_tokens, tokenize_path


class CountableChunk(Protocol):
    """A parsed chunk or a LlamaIndex node: a text, and a `ChunkMetadata`."""

    @property
    def text(self) -> str:
        """Its text."""
        ...

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Its metadata."""
        ...


class TermCounter:
    """Counts the terms of chunks by field; the vocabulary only grows, so earlier counts stay valid.

    Args:
        terms: Initial vocabulary, such as that of the index to update.
    """

    def __init__(self, terms: Sequence[str] = ()) -> None:
        self._term_ids = _build_numbering(terms)
        self._raw_ids = _build_numbering(())
        self._expansion_ids = np.zeros(0, np.int32)
        self._expansion_ends = np.zeros(1, np.int32)

    @property
    def terms(self) -> list[str]:
        """The vocabulary: column ``j`` of all counts is ``terms[j]``."""
        return self.get_terms_from(0)

    @property
    def n_tokens(self) -> int:
        """Number of distinct tokens so far."""
        return len(self._raw_ids)

    def get_terms_from(self, first: int) -> list[str]:
        """Return the terms from column ``first`` on."""
        return list(islice(self._term_ids, first, None))

    def count(self, chunks: Sequence[CountableChunk]) -> FieldCounts:
        """Count the terms of chunks; new terms, those of paths included, join the vocabulary."""
        bodies, names, docs = [], [], []
        for chunk in chunks:
            metadata = chunk.metadata
            text = chunk.text
            bodies.append(Counter(split_raw_tokens(f"{metadata['context']}\n{text}" if metadata["context"] else text)))
            declared = [metadata["name"], *(symbol["qualified_name"] for symbol in metadata["symbols"])]
            names.append(split_raw_tokens(" ".join(declared)))
            docs.append(split_raw_tokens(f"{metadata['summary']}\n{metadata['docstring']}"))
        # Not a set: its order differs between processes.
        for path in dict.fromkeys(chunk.metadata["path"] for chunk in chunks):
            for term in tokenize_path(path):
                self._term_ids[term]  # a lookup numbers a new term
        # Counting first pays off only for long texts; the product sums repeated tokens.
        rows = [
            _encode_counts(bodies, self._raw_ids),
            *(_encode_occurrences(field, self._raw_ids) for field in (names, docs)),
        ]
        expansion = self._build_expansion()
        body, name, doc = (_build_matrix(*field, expansion.shape[0]) @ expansion for field in rows)
        return FieldCounts(body=body, names=name, docs=doc)

    def count_texts(self, texts: Sequence[str]) -> sp.csr_matrix:
        """Count the terms of texts, float32 (n_texts, n_terms); new terms join the vocabulary."""
        rows = _encode_occurrences([split_raw_tokens(text) for text in texts], self._raw_ids)
        expansion = self._build_expansion()
        counts: sp.csr_matrix = _build_matrix(*rows, expansion.shape[0]) @ expansion
        return counts

    def count_paths(self, paths: Sequence[str]) -> sp.csr_matrix:
        """Count the terms of the paths of counted chunks, float32 (n_paths, n_terms)."""
        counted = [Counter(tokenize_path(path)) for path in paths]
        return _build_matrix(*_encode_counts(counted, self._term_ids), len(self._term_ids))

    def _build_expansion(self) -> sp.csr_matrix:
        """Return the terms of every raw token so far, float32 (n_raw_tokens, n_terms)."""
        expanded = [expand_token(raw) for raw in islice(self._raw_ids, len(self._expansion_ends) - 1, None)]
        _, ids, ends = _encode_occurrences(expanded, self._term_ids)
        self._expansion_ends = np.concatenate([self._expansion_ends, ends[1:] + len(self._expansion_ids)])
        self._expansion_ids = np.concatenate([self._expansion_ids, ids])
        unit_counts = np.ones(len(self._expansion_ids), np.float32)
        return _build_matrix(unit_counts, self._expansion_ids, self._expansion_ends, len(self._term_ids))


def _build_numbering(keys: Iterable[str]) -> dict[str, int]:
    """Build a dict that assigns the next number to each new key."""
    numbers: defaultdict[str, int] = defaultdict(None, {key: number for number, key in enumerate(keys)})
    numbers.default_factory = numbers.__len__
    return numbers


_CsrParts = tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.int32]]


def _encode_counts(rows: Sequence[Mapping[str, int]], numbers: Mapping[str, int]) -> _CsrParts:
    """Encode counts as values, columns and row ends; new keys get the next columns."""
    _, columns, ends = _encode_occurrences(rows, numbers)
    return np.fromiter(chain.from_iterable([row.values() for row in rows]), np.float32, len(columns)), columns, ends


def _encode_occurrences(rows: Sequence[Collection[str]], numbers: Mapping[str, int]) -> _CsrParts:
    """Encode rows of keys, repeated by occurrence, as `_encode_counts` does."""
    ends = np.zeros(len(rows) + 1, np.int32)
    np.cumsum([len(row) for row in rows], out=ends[1:])
    columns = np.fromiter(map(numbers.__getitem__, chain.from_iterable(rows)), np.int32, int(ends[-1]))
    return np.ones(len(columns), np.float32), columns, ends


def _build_matrix(
    counts: NDArray[np.float32], columns: NDArray[np.int32], ends: NDArray[np.int32], n_columns: int
) -> sp.csr_matrix:
    return sp.csr_matrix((counts, columns, ends), shape=(len(ends) - 1, n_columns))
