"""Word vectors for code: a text's vector is a weighted sum over its terms, one sparse-dense product.

The table has an int8 row per known term of `coderag.text.tokenizer`, and the term's weights in code and in queries. A text's
vector is ``sum of log(1 + count) * weight * row``, normalized; word order is ignored. Arithmetic is on integers until the last
division, so a text has the same vector, bit by bit, on every platform. Nothing here imports LlamaIndex, which takes seconds;
`coderag.integrations.llama_index.embedding` adapts it. ``tools/embedding`` trains the vectors.
"""

import json
from collections import Counter
from collections.abc import Sequence
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from coderag.errors import ModelError
from coderag.text.tokenizer import TOKENIZER_VERSION

if TYPE_CHECKING:
    from scipy import sparse

DEFAULT_FOLDER = Path(__file__).with_name("assets") / "words-v1"
"""The word vectors of this release."""

FloatArray = NDArray[np.float32]
Side = Literal["code", "question"]

UNIT = 1 << 15
"""Integer value of a component of 1."""

_FIELD_UNIT = 64  # a field weight of 1
_MAX_COUNT = 1 << 12  # higher counts add no information
_DAMPENED = np.rint(np.log1p(np.arange(_MAX_COUNT + 1)) * 256)
_WEIGHT_DIVISOR = 1 << 20  # 16-bit weight times 12-bit logarithm times 8-bit field weight, reduced to 16 bits
_MAX_ROW_COMPONENT = 1 << 7  # maximum component in the table
_MAX_EXACT_FLOAT32 = 1 << 24  # float32 holds every integer up to it
_COMPONENT_BITS = 22  # the squares of up to 512 components have an exact sum in float64

_ExactArray = NDArray[np.float32] | NDArray[np.float64]
"""Integers in a float type that holds them exactly."""


class CountedField(NamedTuple):
    """Term counts of a field of some texts.

    Attributes:
        counts: (n_texts, n_terms), term counts; may have fewer columns than the vocabulary.
        weight: Weight of the field, see `WordVectors.field_weights`.
    """

    counts: "sparse.csr_matrix[np.float32]"
    weight: int


class WordVectors:
    """A table of word vectors.

    Attributes:
        name: Name of the model, part of what an index records.
        version: Version of the vectors; vectors of different versions are not comparable.
        dimension: Number of components of each vector.
        card: The model card, with the origin of the vectors.
        field_weights: Weights of the fields of code, by name; integers, 64 is 1.
        context_share: Share of a file's vector that is added to its chunks' vectors.
    """

    def __init__(
        self, terms: Sequence[str], rows: NDArray[np.int8], weights: NDArray[np.uint16], card: dict[str, Any]
    ) -> None:
        """Store a table.

        Args:
            terms: The vocabulary, distinct.
            rows: int8 array, shape (n_terms, dim); may be memory-mapped.
            weights: uint16 array, shape (2, n_terms): weight of each term in code and in queries.
            card: The model card, with ``name``, ``version``, ``field_weights`` and ``context_share``.
        """
        self._rows = np.asarray(rows)  # a memory map is slow to index
        padded_weights = np.pad(weights.astype(np.float64), [(0, 0), (0, 1)])  # the last column, used by -1, is 0
        self._weights: dict[Side, NDArray[np.float64]] = {"code": padded_weights[0], "question": padded_weights[1]}
        self._rows_by_term = {term: row for row, term in enumerate(terms)}
        self.card = card
        self.name = str(card["name"])
        self.version = str(card["version"])
        self.dimension = int(rows.shape[1])
        self.field_weights = {name: round(weight * _FIELD_UNIT) for name, weight in card["field_weights"].items()}
        self.context_share = float(card["context_share"])

    @classmethod
    def load(cls, folder: Path = DEFAULT_FOLDER) -> Self:
        """Load a table of ``tools/embedding``; the rows stay on disk until used.

        Raises:
            ModelError: Files are missing or damaged, or belong to another version of the tokenizer.
        """
        try:
            card = json.loads((folder / "model.json").read_text("utf-8"))
            terms = (folder / "terms.txt").read_text("utf-8").split("\n")[:-1]
            rows = np.load(folder / "rows.npy", mmap_mode="r")
            weights = np.load(folder / "weights.npy")
        except (OSError, ValueError) as error:
            message = f"word vectors in {folder} cannot be read: {error}"
            raise ModelError(message, hint="Reinstall the package: its data files are incomplete.") from error
        if rows.shape != (len(terms), card["dimension"]) or weights.shape != (2, len(terms)):
            message = f"word vectors in {folder} do not fit their vocabulary: {len(terms)} terms, {rows.shape[0]} rows"
            raise ModelError(message, hint="Reinstall the package: its data files are of different versions.")
        if card["tokenizer_version"] != TOKENIZER_VERSION:
            asset_version = card["tokenizer_version"]
            message = f"word vectors in {folder} are for tokenizer version {asset_version}, not {TOKENIZER_VERSION}"
            raise ModelError(message, hint="Build the vectors again with tools/embedding.")
        return cls(terms, rows, weights, card)

    def __contains__(self, term: str) -> bool:
        return term in self._rows_by_term

    def __len__(self) -> int:
        return len(self._rows_by_term)

    def find_rows(self, terms: Sequence[str]) -> NDArray[np.int32]:
        """Return the row of each term in the table, -1 for unknown terms."""
        return np.fromiter(map(self._rows_by_term.get, terms, repeat(-1)), np.int32, len(terms))

    def find_similar_terms(self, term: str, candidates: Sequence[str], min_cosine: float) -> list[str]:
        """Return the candidates whose vectors resemble that of a term, the most similar first; none for an unknown term."""
        row = self._rows_by_term.get(term)
        known = [candidate for candidate in candidates if candidate in self._rows_by_term]
        if row is None or not known:
            return []
        rows = [row, *(self._rows_by_term[candidate] for candidate in known)]
        vectors = to_unit_vectors(self._rows[rows].astype(np.float32))
        cosines = vectors[1:] @ vectors[0]
        order = np.argsort(-cosines, kind="stable")
        return [known[position] for position in order.tolist() if cosines[position] >= min_cosine]

    def get_question_weight(self, term: str) -> float:
        """Return how much a term decides in a question, 0 to 1; 0 for an unknown term."""
        row = self._rows_by_term.get(term)
        return 0.0 if row is None else float(self._weights["question"][row]) / np.iinfo(np.uint16).max

    def embed(self, fields: Sequence[CountedField], rows: NDArray[np.integer], side: Side = "code") -> FloatArray:
        """Embed texts, given as term counts of their fields.

        Args:
            fields: Fields of the same texts.
            rows: int (n_terms,), the row of each term in the table, -1 if it is unknown; see `find_rows`.
            side: Whether the texts are code or queries.

        Returns:
            float32 array, shape (n_texts, dim), each row of length 1, or zeros if no term is known.
        """
        first, *remaining = self._sum_fields(fields, rows, side)
        for sums in remaining:
            first += sums
        return to_unit_vectors(first)

    def embed_chunks(
        self,
        fields: Sequence[CountedField],
        paths: CountedField,
        rows: NDArray[np.integer],
        membership: "sparse.csc_matrix[np.float32]",
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Embed the chunks of whole files, each with a share of its file's vector.

        Args:
            fields: Fields of the chunks.
            paths: Paths of the files: a chunk's path is one of its fields.
            rows: int (n_terms,), the row of each term in the table, -1 if it is unknown; see `find_rows`.
            membership: (n_files, n_chunks), 1 where a chunk belongs to a file; each belongs to one.

        Returns:
            float32 arrays, rows of length 1 or zero: the chunks (n_chunks, dim), and the files and the paths
            (n_files, dim), a file being the sum of its chunks.
        """
        file_indices = membership.indices
        path_sums, chunk_sums, *remaining = self._sum_fields([paths, *fields], rows, "code")
        for sums in (path_sums[file_indices], *remaining):
            chunk_sums += sums
        chunks = to_unit_vectors(chunk_sums)
        chunks *= UNIT
        np.rint(chunks, out=chunks)
        exact = _choose_exact_type(UNIT * int(np.bincount(file_indices).max(initial=0)))
        files = to_unit_vectors(np.asarray(membership.astype(exact) @ chunks))
        is_empty = ~chunks.any(axis=1)  # an empty chunk resembles no query
        chunks += np.rint(files * np.float32(self.context_share * UNIT))[file_indices]
        chunks[is_empty] = 0
        return _normalize_in_place(chunks), files, to_unit_vectors(path_sums)

    def embed_terms(self, terms: Sequence[str], side: Side = "question") -> FloatArray:
        """Embed a text, given as its terms.

        Returns:
            float32 array, shape (dim,), of length 1, or zeros if no term is known.
        """
        row_counts = [
            (self._rows_by_term[term], count) for term, count in Counter(terms).items() if term in self._rows_by_term
        ]
        rows, counts = np.array(row_counts, np.intp).reshape(-1, 2).T
        scaled = self._scale_counts(rows, counts, self.field_weights["body"], side)
        vector: FloatArray = to_unit_vectors((scaled @ self._rows[rows])[None])[0]
        return vector

    def embed_term_lists(self, texts: Sequence[Sequence[str]], side: Side = "code") -> FloatArray:
        """Embed many texts, given as their terms.

        Returns:
            float32 array, shape (len(texts), dim), in the order of ``texts``.
        """
        from scipy import sparse  # noqa: PLC0415  # 0.15 s, which a query need not spend

        columns_by_term: dict[str, int] = {}
        counted = [Counter(terms) for terms in texts]
        columns = [columns_by_term.setdefault(term, len(columns_by_term)) for counts in counted for term in counts]
        values = np.array([count for counts in counted for count in counts.values()], np.float32)
        ends = np.cumsum([0, *(len(counts) for counts in counted)])
        shape = (len(texts), len(columns_by_term))
        counts: sparse.csr_matrix[np.float32] = sparse.csr_matrix((values, columns, ends), shape=shape)
        return self.embed(
            [CountedField(counts, self.field_weights["body"])], self.find_rows(list(columns_by_term)), side
        )

    def _sum_fields(self, fields: Sequence[CountedField], rows: NDArray[np.integer], side: Side) -> list[_ExactArray]:
        """Return the weighted row sums of each field, small enough to be added up exactly.

        One product computes them all, so that a row used by several fields is read once.
        """
        from scipy import sparse  # noqa: PLC0415  # as above

        stacked = [field.counts for field in fields]
        term_rows = rows[np.concatenate([counts.indices for counts in stacked])]
        values = np.concatenate([counts.data for counts in stacked])
        weights = np.repeat([field.weight for field in fields], [counts.nnz for counts in stacked])
        lengths = np.concatenate([np.diff(counts.indptr) for counts in stacked])
        ends = np.zeros(len(lengths) + 1, np.int32)
        np.cumsum(lengths, out=ends[1:])
        is_used = np.zeros(len(self), np.bool_)  # unknown terms, at -1, use the last row with weight 0
        is_used[term_rows] = True
        used_rows = np.flatnonzero(is_used)
        compact_index = np.empty(len(self), np.int32)
        compact_index[used_rows] = np.arange(len(used_rows))
        scaled = self._scale_counts(term_rows, values, weights, side)
        totals = np.diff(np.concatenate([[0], np.cumsum(scaled)])[ends])
        exact = _choose_exact_type(len(fields) * _MAX_ROW_COMPONENT * float(totals.max(initial=0)))
        shape = (len(lengths), len(used_rows))
        matrix = sparse.csr_matrix((scaled.astype(exact), compact_index[term_rows], ends), shape=shape)
        matrix.eliminate_zeros()
        sums = np.asarray(matrix @ self._rows[used_rows].astype(exact))
        return np.split(sums, np.cumsum([counts.shape[0] for counts in stacked[:-1]]))

    def _scale_counts(
        self, rows: NDArray[np.integer], counts: NDArray[np.number], weights: NDArray[np.integer] | int, side: Side
    ) -> NDArray[np.float64]:
        """Return the multiplier of each row: integers, 0 for the row -1."""
        dampened = _DAMPENED[np.minimum(counts, _MAX_COUNT).astype(np.intp)]
        scaled: NDArray[np.float64] = np.rint(self._weights[side][rows] * dampened * (weights / _WEIGHT_DIVISOR))
        return scaled


def to_unit_vectors(sums: _ExactArray) -> FloatArray:
    """Normalize integer vectors to length 1, or zero; bit-identical on every platform.

    Sums are exact; the square root and the division are correctly rounded by IEEE 754. The argument is overwritten: a
    second array would cost more than the arithmetic.
    """
    magnitudes = np.maximum(sums.max(axis=1, initial=0), -sums.min(axis=1, initial=0))
    shifts = np.minimum(0, _COMPONENT_BITS - np.frexp(magnitudes)[1])
    sums *= np.ldexp(sums.dtype.type(1), shifts)[:, None]
    return _normalize_in_place(np.rint(sums, out=sums).astype(np.float32, copy=False))


def _normalize_in_place(vectors: FloatArray) -> FloatArray:
    """Divide integer rows, of at most `_COMPONENT_BITS` per component, by their length, in place."""
    lengths = np.sqrt(np.vecdot(vectors, vectors, dtype=np.float64))
    lengths[lengths == 0] = 1
    vectors /= lengths.astype(np.float32)[:, None]
    return vectors


def _choose_exact_type(max_value: float) -> type[np.float32] | type[np.float64]:
    """Return the smallest float type that holds integers up to a size exactly; float32 is twice as fast."""
    return np.float32 if max_value <= _MAX_EXACT_FLOAT32 else np.float64
