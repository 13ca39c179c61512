"""Search of commits by words: BM25 over subject, body, paths and references, with the tokenizer of the index.

The counts of a segment are stored beside it on first use.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from coderag.ingestion.workers.term_counter import TermCounter
from coderag.lineage.column_file import ColumnFile, DamagedColumnsError, encode_columns
from coderag.lineage.commit_segment import split_message
from coderag.lineage.commit_table import CommitTable
from coderag.stores.lexical import LexicalIndex, compute_bm25_weights
from coderag.system.atomic_write import atomic_write
from coderag.text.tokenizer import TOKENIZER_VERSION, tokenize_query

_SUBJECT_WEIGHT: Final = 2
"""Occurrences that one in the subject counts for."""

_MAX_PATHS: Final = 40
"""Paths of a commit whose words count; a commit of more is about none of them."""


class CommitSearch:
    """BM25 index of the commits of a table.

    Args:
        table: The commits.
        folder: Folder for the counts of terms.
        segments: Names and numbers of commits of the stored segments, oldest first; they cover the table.
        is_masked: Whether people are masked, so that counts of their names are not used.
    """

    def __init__(
        self, table: CommitTable, folder: Path, segments: Sequence[tuple[str, int]], *, is_masked: bool
    ) -> None:
        version = f"{TOKENIZER_VERSION}{'-masked' if is_masked else ''}"
        self._term_ids: dict[str, int] = {}
        blocks = []
        start = 0
        for name, count in segments:
            terms, counts = _load_counts(_get_path(folder, name), count, version) or _count_terms(
                table, _get_path(folder, name), range(start, start + count), version
            )
            columns = np.array([self._term_ids.setdefault(term, len(self._term_ids)) for term in terms], np.int32)
            blocks.append((columns, counts))
            start += count
        n_terms = len(self._term_ids)
        matrices = [
            sp.csr_matrix((counts.data, columns[counts.indices], counts.indptr), shape=(counts.shape[0], n_terms))
            for columns, counts in blocks
        ]
        all_counts = (
            sp.vstack(matrices, format="csr") if matrices else sp.csr_matrix(np.zeros((0, n_terms), np.float32))
        )
        self._index: LexicalIndex = compute_bm25_weights(all_counts)

    def score(self, query: str) -> NDArray[np.float32]:
        """Return the BM25 score of every commit, by position."""
        terms = [self._term_ids[term] for term in tokenize_query(query) if term in self._term_ids]
        return self._index.score(terms)


def _count_terms(
    table: CommitTable, path: Path, positions: range, version: str
) -> tuple[list[str], "sp.csr_matrix[np.float32]"]:
    counter = TermCounter()
    texts = [_build_text(table, position) for position in positions]
    counts = counter.count_texts(texts).tocsr()
    counts.sum_duplicates()
    columns = {
        "ends": counts.indptr.astype(np.int32),
        "terms": counter.terms,
        "columns": counts.indices.astype(np.int32),
        "counts": np.minimum(counts.data, 255).astype(np.uint8),
    }
    content = encode_columns({"commits": len(positions), "version": version}, columns)
    with suppress(OSError):
        atomic_write(path, [content], is_durable=False)
    return counter.terms, counts


def _build_text(table: CommitTable, position: int) -> str:
    subject, body = split_message(table.get_message(position))
    rows = range(*table.change_ends[position : position + 2])
    paths = [table.paths[table.change_paths[row]] for row in rows] if len(rows) <= _MAX_PATHS else []
    references = [reference.text for reference in table.get_references(position)]
    return "\n".join([*([subject] * _SUBJECT_WEIGHT), body, *paths, *references])


def _load_counts(path: Path, count: int, version: str) -> tuple[list[str], "sp.csr_matrix[np.float32]"] | None:
    try:
        file = ColumnFile(path, path.read_bytes())
        if (file.meta["commits"], file.meta["version"]) != (count, version):
            return None
        terms, ends = file.read_texts("terms"), file.read_array("ends")
        data = file.read_array("counts").astype(np.float32)
        counts = sp.csr_matrix((data, file.read_array("columns"), ends), shape=(count, len(terms)))
        counts.check_format()
    except (OSError, ValueError, KeyError, DamagedColumnsError):
        return None
    return terms, counts


def _get_path(folder: Path, name: str) -> Path:
    return folder / name.replace("commits-", "terms-", 1)
