"""Word vectors for code: a text's vector is a weighted sum over its terms, so embedding is one sparse-dense product.

The table has an int8 row for each known term of `coderag.tokens` and how much the term weighs in code and in questions. A
text's vector is ``sum of log(1 + count) * weight * row``, of length 1; the order of words is not looked at. All of it is
done in whole numbers until the last division, so that the same text has the same vector, bit by bit, on every platform.
Nothing here imports LlamaIndex, which takes seconds: `coderag.models.embedded` puts its interface around this.
``tools/embedding`` makes the vectors.
"""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coderag.errors import ModelError
from coderag.tokens import TOKENIZER_VERSION

ASSET = Path(__file__).with_name("assets") / "words-v1"
"""The word vectors of this release."""

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int64]
Side = Literal["code", "question"]

CODE_FIELDS = ("body", "names", "path")
UNIT = 1 << 15
"""What `unit_integers` makes of a component of 1."""

_FIELD_UNIT = 64  # a field weight of 1
_LARGEST_COUNT = 1 << 12  # more of a term say no more
_DAMPENED = np.rint(np.log1p(np.arange(_LARGEST_COUNT + 1)) * 256).astype(np.int64)
_WEIGHT_BITS = 17  # of a text's weights together: times 127 that is a whole number which float32 holds exactly
_SUM_BITS = 26  # of a component, so that the squares of a thousand of them fit into 64 bits


class Entries(NamedTuple):
    """Counted terms of texts.

    Attributes:
        texts: int (n,), the text of each entry.
        rows: int (n,), the row of its term in the table.
        counts: (n,), how often it occurs there.
        field_weights: int (n,), how much its field weighs, `WordVectors.field_weights`.
    """

    texts: NDArray[np.integer]
    rows: NDArray[np.integer]
    counts: NDArray[Any]
    field_weights: NDArray[np.integer]


class WordVectors:
    """A table of word vectors.

    Attributes:
        name: Name of the model, part of what an index records.
        version: Version of the vectors; vectors of two versions are not comparable.
        dimension: Number of components of each vector.
        card: The model card: what the vectors were made from.
        field_weights: What the fields of code weigh, by name; whole numbers, 64 is 1.
        context_share: How much of its file's vector is added to a chunk's.
    """

    def __init__(
        self, terms: Sequence[str], rows: NDArray[np.int8], weights: NDArray[np.uint16], card: dict[str, Any]
    ) -> None:
        """Take a table.

        Args:
            terms: The vocabulary, distinct.
            rows: int8 array, shape (n_terms, dim); may be memory-mapped.
            weights: uint16 array, shape (2, n_terms): how much each term's row counts in code and in questions.
            card: The model card, with ``name``, ``version``, ``field_weights`` and ``context_share``.
        """
        self._rows = rows
        self._weights: dict[Side, NDArray[np.uint16]] = {"code": weights[0], "question": weights[1]}
        self._row_of = {term: row for row, term in enumerate(terms)}
        self.card = card
        self.name = str(card["name"])
        self.version = str(card["version"])
        self.dimension = int(rows.shape[1])
        self.field_weights = {name: round(card["field_weights"][name] * _FIELD_UNIT) for name in CODE_FIELDS}
        self.context_share = float(card["context_share"])

    @classmethod
    def load(cls, folder: Path = ASSET) -> Self:
        """Load a table that ``tools/embedding`` wrote; the rows stay on disk until used.

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
            made_for = card["tokenizer_version"]
            message = f"word vectors in {folder} are for tokenizer version {made_for}, not {TOKENIZER_VERSION}"
            raise ModelError(message, hint="Make the vectors anew with tools/embedding.")
        return cls(terms, rows, weights, card)

    def __contains__(self, term: str) -> bool:
        return term in self._row_of

    def __len__(self) -> int:
        return len(self._row_of)

    def rows_of(self, terms: Sequence[str]) -> NDArray[np.int32]:
        """Return the row of each term in the table, -1 where a term is unknown."""
        return np.fromiter((self._row_of.get(term, -1) for term in terms), np.int32, len(terms))

    def embed(self, entries: Entries, n_texts: int, side: Side = "code") -> FloatArray:
        """Embed texts given by their counted terms.

        Args:
            entries: Those whose term is unknown (row -1) count nothing.
            n_texts: Texts in all.
            side: Whether the texts are code or questions.

        Returns:
            float32 array, shape (n_texts, dim), each row of length 1, or zeros if no term is known.
        """
        vectors: FloatArray = unit_vectors(self._sums(entries, n_texts, side)).astype(np.float32)
        return vectors

    def embed_in_context(self, entries: Entries, file_of: NDArray[np.integer], n_files: int) -> tuple[FloatArray, ...]:
        """Embed the chunks of some whole files, each with a share of what its file is about.

        Args:
            entries: Of the chunks.
            file_of: int (n_chunks,), the file of each chunk.
            n_files: Files in all.

        Returns:
            float32 arrays, rows of length 1 or zero: the chunks (n_chunks, dim) and the files (n_files, dim), a file
            being the sum of its chunks.
        """
        n_chunks = len(file_of)
        own = _unit_integers(unit_vectors(self._sums(entries, n_chunks, "code")))
        chunks_of: sparse.csr_matrix[np.float64] = sparse.csr_matrix(
            (np.ones(n_chunks), (file_of, np.arange(n_chunks))), shape=(n_files, n_chunks)
        )
        files = unit_vectors((chunks_of @ own.astype(np.float64)).astype(np.int64))
        shares = _unit_integers(files * self.context_share)[file_of]
        chunks = unit_vectors(own + shares * own.any(axis=1, keepdims=True))  # what says nothing is like no question
        return chunks.astype(np.float32), files.astype(np.float32)

    def embed_terms(self, terms: Sequence[str], side: Side = "question") -> FloatArray:
        """Embed one text given as its terms.

        Returns:
            float32 array, shape (dim,), of length 1, or zeros if no term is known.
        """
        vector: FloatArray = self.embed_term_lists([terms], side)[0]
        return vector

    def embed_term_lists(self, texts: Sequence[Sequence[str]], side: Side = "code") -> FloatArray:
        """Embed many texts given as their terms.

        Returns:
            float32 array, shape (len(texts), dim), in the order of ``texts``.
        """
        counted = [Counter(terms) for terms in texts]
        rows = self.rows_of([term for counts in counted for term in counts])
        owners = np.repeat(np.arange(len(texts)), [len(counts) for counts in counted])
        counts = np.array([count for counts in counted for count in counts.values()], np.int64)
        weights = np.full(len(rows), self.field_weights["body"])
        return self.embed(Entries(owners, rows, counts, weights), len(texts), side)

    def _sums(self, entries: Entries, n_texts: int, side: Side) -> IntArray:
        """Return for each text the weighted sum of its rows, exactly, in a unit of the text's own."""
        known = entries.rows >= 0
        texts, words = entries.texts[known], entries.rows[known]
        counts = np.minimum(entries.counts[known], _LARGEST_COUNT).astype(np.int64)
        weights = self._weights[side][words].astype(np.int64) * _DAMPENED[counts] * entries.field_weights[known]
        # Sums of whole numbers below 2^53 are exact in any order.
        totals = np.bincount(texts, weights, minlength=n_texts)
        shift = np.maximum(0, np.frexp(totals)[1] - _WEIGHT_BITS)
        used, columns = np.unique(words, return_inverse=True)
        scaled = (weights >> shift[texts]).astype(np.float32)
        matrix = sparse.csr_matrix((scaled, (texts, columns)), shape=(n_texts, len(used)))
        return np.asarray(matrix @ self._rows[used].astype(np.float32)).astype(np.int64)


def unit_vectors(sums: IntArray) -> NDArray[np.float64]:
    """Return vectors of whole numbers with length 1, or zero; the same on every platform.

    Only exact sums are made, and one square root and one division, which IEEE 754 rounds in one way.
    """
    largest = np.abs(sums).max(axis=1, initial=0)
    shift = np.maximum(0, np.frexp(largest.astype(np.float64))[1] - _SUM_BITS)
    sums = sums >> shift[:, None]
    lengths = np.sqrt(np.einsum("ij,ij->i", sums, sums).astype(np.float64))
    lengths[lengths == 0] = 1
    vectors: NDArray[np.float64] = sums / lengths[:, None]
    return vectors


def _unit_integers(vectors: NDArray[np.float64]) -> IntArray:
    return np.rint(vectors * UNIT).astype(np.int64)
