"""The model that train.py trains: word vectors, a weight for each term on either side, a weight for each field of code.

A question is ``normalise(sum of log(1 + count) * query weight * vector)`` over its terms. Code has fields, body, names and
path, whose terms are counted apart: ``normalise(sum over fields of field weight * sum of log(1 + count) * weight *
vector)``. This is what the engine computes (``coderag/models/dense.py``).
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

FIELD_WEIGHTS = (1.0, 1.0, 2.0)
"""Initial weights of the fields."""

_MIN_WEIGHT = 0.05


class Texts(NamedTuple):
    """Batch of counted texts: terms, log counts, and the text and field of each entry."""

    ids: Tensor
    values: Tensor
    rows: Tensor
    fields: Tensor
    n_texts: int


class Bags(NamedTuple):
    """Term counts of texts, in compressed sparse rows."""

    ids: NDArray[np.integer]
    counts: NDArray[np.uint8]
    lengths: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def from_npz(cls, pairs: "np.lib.npyio.NpzFile", prefix: str, n_terms: int) -> Self:
        """Load one field of the pairs from pairs.py, restricted to the first terms of the vocabulary."""
        ids, counts, lengths = pairs[f"{prefix}_ids"], pairs[f"{prefix}_counts"], pairs[f"{prefix}_lengths"]
        known = ids < n_terms
        starts = np.cumsum(lengths, dtype=np.int64) - lengths
        passed = np.concatenate([[0], np.cumsum(known)])
        lengths = passed[starts + lengths] - passed[starts]
        return cls(ids[known], counts[known], lengths, np.cumsum(lengths) - lengths)

    def get_entries(self, texts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]:
        """Return terms, log counts and rows of some texts."""
        lengths = self.lengths[texts]
        offsets = np.cumsum(lengths) - lengths
        positions = np.arange(lengths.sum()) + np.repeat(self.starts[texts] - offsets, lengths)
        rows = np.repeat(np.arange(len(texts)), lengths)
        return self.ids[positions].astype(np.int64), np.log1p(self.counts[positions].astype(np.float32)), rows


def take(fields: Sequence[Bags], texts: NDArray[np.int64], rng: np.random.Generator | None, dropout: float) -> Texts:
    """Return a batch of texts with all their fields; with a generator, terms are dropped at random."""
    taken = [bags.get_entries(texts) for bags in fields]
    ids, values, rows = (np.concatenate(column) for column in zip(*taken, strict=True))
    numbers = np.repeat(np.arange(len(fields)), [len(entries[0]) for entries in taken])
    if rng is not None:
        mask = rng.random(len(ids), dtype=np.float32) >= dropout
        ids, values, rows, numbers = ids[mask], values[mask], rows[mask], numbers[mask]
    order = np.argsort(rows, kind="stable")
    return Texts(*(torch.from_numpy(array[order]) for array in (ids, values, rows, numbers)), len(texts))


class BagEncoder(torch.nn.Module):
    """Bag-of-words encoder with trainable word vectors and weights.

    Args:
        vectors: Shape (n_terms, dimension).
        weights: Shape (n_terms,), term weights in code, and initial weights in questions.
        own_query_weights: Whether questions have term weights of their own.
    """

    def __init__(
        self, vectors: NDArray[np.float32], weights: NDArray[np.float32], *, own_query_weights: bool = True
    ) -> None:
        super().__init__()
        self.vectors = torch.nn.Parameter(torch.tensor(vectors))
        self.log_weights = torch.nn.Parameter(torch.tensor(weights).clamp(min=_MIN_WEIGHT).log())
        self.query_shift = torch.nn.Parameter(torch.zeros(len(weights)), requires_grad=own_query_weights)
        self.log_fields = torch.nn.Parameter(torch.tensor(FIELD_WEIGHTS).log())

    def forward(self, queries: Texts, codes: Texts) -> tuple[Tensor, Tensor]:
        """Return normalised vectors of questions and of code, each of shape (n_texts, dimension)."""
        query_weights = queries.values * (self.log_weights + self.query_shift)[queries.ids].exp()
        code_weights = codes.values * (self.log_weights[codes.ids] + self.log_fields[codes.fields]).exp()
        # Only rows of the batch get a gradient; a dense gradient of the table would cost ten times the rest.
        used, places = torch.unique(torch.cat([queries.ids, codes.ids]), return_inverse=True)
        table = functional.embedding(used, self.vectors, sparse=True)
        sides = places.split([len(queries.ids), len(codes.ids)])
        return _sum_vectors(table, queries, sides[0], query_weights), _sum_vectors(table, codes, sides[1], code_weights)

    def encode_queries(self, texts: Texts) -> Tensor:
        """Return normalised vectors of questions, shape (n_texts, dimension)."""
        used, places = torch.unique(texts.ids, return_inverse=True)
        weights = texts.values * (self.log_weights + self.query_shift)[texts.ids].exp()
        return _sum_vectors(functional.embedding(used, self.vectors, sparse=True), texts, places, weights)


def _sum_vectors(table: Tensor, texts: Texts, places: Tensor, weights: Tensor) -> Tensor:
    offsets = torch.searchsorted(texts.rows, torch.arange(texts.n_texts))
    summed = functional.embedding_bag(places, table, offsets, mode="sum", per_sample_weights=weights)
    return functional.normalize(summed, dim=1)
