"""Word vectors shipped with the package: text becomes a vector by one sparse product, without a network or an LLM.

A row stands for a term of `coderag.tokens`, its weight already in it. A text's vector is the sum of its terms' rows,
each times ``log(1 + count)``, normalised; the order of words is not looked at. Nothing here imports LlamaIndex, which
takes seconds: `coderag.models.embedded` puts its interface around this. ``tools/embedding`` makes the vectors.
"""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coderag.errors import ModelError
from coderag.tokens import TOKENIZER_VERSION

ASSET = Path(__file__).with_name("assets") / "words-v0"
"""The word vectors of this release."""

FloatArray = NDArray[np.float32]


class WordVectors:
    """A table of word vectors.

    Attributes:
        name: Name of the model, part of what an index records.
        version: Version of the vectors; vectors of two versions are not comparable.
        dimension: Number of components of each vector.
        card: The model card: what the vectors were made from.
    """

    def __init__(self, terms: Sequence[str], rows: NDArray[np.int8], scales: FloatArray, card: dict[str, Any]) -> None:
        """Take a table.

        Args:
            terms: The vocabulary, distinct.
            rows: int8 array, shape (n_terms, dim); may be memory-mapped.
            scales: float32 array, shape (n_terms,): what a row is multiplied by, the term's weight included.
            card: The model card, with ``name`` and ``version``.
        """
        self._rows = rows
        self._scales = scales
        self._row_of = {term: row for row, term in enumerate(terms)}
        self.card = card
        self.name = str(card["name"])
        self.version = str(card["version"])
        self.dimension = int(rows.shape[1])

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
            scales = np.load(folder / "scales.npy")
        except (OSError, ValueError) as error:
            message = f"word vectors in {folder} cannot be read: {error}"
            raise ModelError(message, hint="Reinstall the package: its data files are incomplete.") from error
        if rows.shape != (len(terms), card["dimension"]) or scales.shape != (len(terms),):
            message = f"word vectors in {folder} do not fit their vocabulary: {len(terms)} terms, {rows.shape[0]} rows"
            raise ModelError(message, hint="Reinstall the package: its data files are of different versions.")
        if card["tokenizer_version"] != TOKENIZER_VERSION:
            made_for = card["tokenizer_version"]
            message = f"word vectors in {folder} are for tokenizer version {made_for}, not {TOKENIZER_VERSION}"
            raise ModelError(message, hint="Make the vectors anew with tools/embedding.")
        return cls(terms, rows, scales, card)

    def __contains__(self, term: str) -> bool:
        return term in self._row_of

    def __len__(self) -> int:
        return len(self._row_of)

    def term_rows(self, terms: Sequence[str]) -> FloatArray:
        """Return the weighted row of each term.

        Returns:
            float32 array, shape (len(terms), dim), not normalised; zeros where a term is unknown.
        """
        found = np.fromiter((self._row_of.get(term, -1) for term in terms), dtype=np.intp, count=len(terms))
        known = np.flatnonzero(found >= 0)
        result = np.zeros((len(terms), self.dimension), dtype=np.float32)
        result[known] = self._rows[found[known]] * self._scales[found[known], None]
        return result

    def rows_of(self, terms: Sequence[str]) -> NDArray[np.int32]:
        """Return the row of each term in the table, -1 where a term is unknown."""
        return np.fromiter((self._row_of.get(term, -1) for term in terms), np.int32, len(terms))

    def embed_rows(self, counts: "sparse.csr_matrix[np.float32]") -> FloatArray:
        """Embed documents given as counts over the rows of the table: one sparse-dense product for all of them.

        Returns:
            float32 array, shape (n_documents, dim), each row of length 1, or zeros if no term is known.
        """
        used, columns = np.unique(counts.indices, return_inverse=True)
        rows = self._rows[used] * self._scales[used, None]
        return self._embed(sparse.csr_matrix((counts.data, columns, counts.indptr), (counts.shape[0], len(used))), rows)

    def _embed(self, counts: "sparse.csr_matrix[np.float32]", rows: FloatArray) -> FloatArray:
        dampened = sparse.csr_matrix((np.log1p(counts.data), counts.indices, counts.indptr), shape=counts.shape)
        vectors: FloatArray = dampened @ rows
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        lengths[lengths == 0] = 1
        vectors /= lengths[:, None]
        return vectors

    def embed_terms(self, terms: Sequence[str]) -> FloatArray:
        """Embed one text given as its terms, as `embed_rows` would.

        Returns:
            float32 array, shape (dim,), of length 1, or zeros if no term is known.
        """
        counted = sorted(Counter(terms).items())  # the order of words must not change the last bit of a sum
        rows = self.term_rows([term for term, _ in counted])
        vector: FloatArray = np.log1p(np.array([count for _, count in counted], dtype=np.float32)) @ rows
        length = float(np.linalg.norm(vector))
        return vector / np.float32(length) if length else vector

    def embed_term_lists(self, texts: Sequence[Sequence[str]]) -> FloatArray:
        """Embed many texts given as their terms.

        Returns:
            float32 array, shape (len(texts), dim), in the order of ``texts``.
        """
        column_of: dict[str, int] = {}
        data: list[int] = []
        indices: list[int] = []
        indptr = [0]
        for terms in texts:
            for term, count in Counter(terms).items():
                indices.append(column_of.setdefault(term, len(column_of)))
                data.append(count)
            indptr.append(len(indices))
        shape = (len(texts), len(column_of))
        counts = sparse.csr_matrix((np.array(data, dtype=np.float32), indices, indptr), shape=shape)
        return self._embed(counts, self.term_rows(list(column_of)))
