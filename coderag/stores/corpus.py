"""One generation of an index, resident: the arrays that a query touches, built once and then only read.

Rows are chunks, in the order of the store; the chunks of a file are neighbours. Files are numbered in the order of their
first chunk.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property, partial, reduce
from math import log1p
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coderag.schema.chunks import SymbolRecord
from coderag.stores.lexical import DOCS_WEIGHT, NAMES_WEIGHT, LexicalIndex, bm25_weights
from coderag.stores.overviews import unpack_overviews
from coderag.stores.path_index import PathIndex
from coderag.stores.protocols import IndexSnapshot
from coderag.stores.spellings import Spellings
from coderag.stores.symbol_table import SymbolTable, split_qualified
from coderag.stores.translations import translated
from coderag.text.tokenizer import expand, path_terms, text_terms

if TYPE_CHECKING:
    import scipy.sparse as sp

_READS_BEFORE_RESIDENT = 4  # a command line asks once or twice; loading all text takes it longer than ten rows
_MOST_RESIDENT_BYTES = 64_000_000
_LARGEST_FOR_ONE_THREAD = 32_000_000  # bytes
_SAME_START, _LENGTH_DIFFERENCE = 2, 2  # of words that are one misspelt
_FUNCTIONS = frozenset({"function", "method"})

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int32]

_NOWHERE: IntArray = np.zeros(0, np.int32)

_COLUMNS = (
    "id", "path", "language", "kind", "name", "qualified_name", "signature", "docstring", "summary", "parent", "context",
    "role", "start_line", "end_line", "content_hash",
)  # fmt: skip


class Corpus:
    """The resident arrays of one generation.

    Args:
        snapshot: An open generation of the index.

    Attributes:
        paths: Path of each file.
        file_of: int32 (n_chunks,), the file of each chunk.
        file_starts: int32 (n_files,), the first chunk of each file.
        vectors: float32 (n_chunks, dimension), normalised.
        file_vectors, path_vectors: float32 (n_files, dimension), normalised.
    """

    def __init__(self, snapshot: IndexSnapshot) -> None:
        self.snapshot = snapshot
        table = snapshot.chunks(_COLUMNS)
        self._columns = {name: table[name] for name in _COLUMNS}
        self.n_chunks = table.num_rows
        paths = self._columns["path"].combine_chunks()
        starts = _run_starts(paths)
        self.file_starts: IntArray = starts
        self.paths: list[str] = paths.take(pa.array(starts)).to_pylist()
        lengths = np.diff(np.append(starts, self.n_chunks))
        self.file_of: IntArray = np.repeat(np.arange(len(starts), dtype=np.int32), lengths)
        self.start_lines: IntArray = self._columns["start_line"].to_numpy().astype(np.int32)
        self.end_lines: IntArray = self._columns["end_line"].to_numpy().astype(np.int32)
        self.vectors: FloatArray = snapshot.vectors()
        self.file_vectors, self.path_vectors = self._file_vectors()
        self._last_cosines: tuple[bytes, FloatArray] = (b"", np.zeros(0, np.float32))
        sizes = snapshot.chunks(["start_byte", "end_byte"])
        self._text_bytes = int(np.sum(sizes["end_byte"].to_numpy() - sizes["start_byte"].to_numpy()))
        self._text_reads = 0
        self.term_ids: dict[str, int] = {term: number for number, term in enumerate(snapshot.terms())}

    def load_as(self, other: "Corpus") -> None:
        """Make now what another generation's searches have asked for, so that the first one here need not wait for it."""
        for name in list(other._lists):
            self.column(name)
        for name, attribute in vars(Corpus).items():
            if isinstance(attribute, cached_property) and name in vars(other):
                getattr(self, name)
        self._text_reads = other._text_reads

    @property
    def n_files(self) -> int:
        """Number of files with at least one chunk."""
        return len(self.paths)

    def _file_vectors(self) -> tuple[FloatArray, FloatArray]:
        """Return the content and path vectors in the order of `paths`."""
        content, place = self.snapshot.file_vectors()
        row_of = {record.path: row for row, record in enumerate(self.snapshot.files())}
        rows = [row_of[path] for path in self.paths]
        return content[rows], place[rows]

    def column(self, name: str) -> list[str]:
        """Return one metadata column as a list, by row."""
        return self._lists[name] if name in self._lists else self._load_list(name)

    @cached_property
    def _lists(self) -> dict[str, list[str]]:
        return {}

    def _load_list(self, name: str) -> list[str]:
        self._lists[name] = self._columns[name].to_pylist()
        return self._lists[name]

    def value(self, name: str, row: int) -> str:
        """Return one metadata value of one chunk."""
        return self.column(name)[row]

    def texts(self, rows: Sequence[int]) -> list[str]:
        """Return the source of some chunks: read one by one at first, from memory in a session that goes on."""
        self._text_reads += 1
        if self._text_reads < _READS_BEFORE_RESIDENT or self._text_bytes > _MOST_RESIDENT_BYTES:
            return self.snapshot.texts(rows)
        return [self._resident_texts[row].as_py() for row in rows]

    @cached_property
    def _resident_texts(self) -> pa.Array:
        return self.snapshot.chunks(["text"])["text"].combine_chunks()

    def chunk_rows(self, file: int) -> range:
        """Return the rows of a file's chunks."""
        end = self.file_starts[file + 1] if file + 1 < self.n_files else self.n_chunks
        return range(int(self.file_starts[file]), int(end))

    def cosines(self, vector: FloatArray) -> FloatArray:
        """Return how near each chunk is to a question's vector: float32 (n_chunks,), read-only.

        Several steps of one query ask for the same; the last answer is kept.
        """
        key = vector.tobytes()
        last_key, last = self._last_cosines
        if key != last_key:
            last = dot_products(self.vectors, vector)
            last.setflags(write=False)
            self._last_cosines = key, last
        return last

    def file_max(self, values: FloatArray) -> FloatArray:
        """Return for each file the largest of its chunks' values."""
        return np.maximum.reduceat(values, self.file_starts) if len(values) else values

    def best_rows(self, values: FloatArray) -> NDArray[np.int64]:
        """Return for each file the row of the largest of its chunks' values, the first of equals."""
        best = np.flatnonzero(values == self.file_max(values)[self.file_of])[::-1]
        rows = np.zeros(self.n_files, np.int64)
        rows[self.file_of[best]] = best
        return rows

    def known_terms(self, terms: Sequence[str]) -> list[int]:
        """Return the ids of those terms that the index has, repeated as often as given."""
        return [self.term_ids[term] for term in terms if term in self.term_ids]

    def chunks_with(self, term: str) -> IntArray:
        """Return the rows of the chunks that have a term."""
        column = self.term_ids.get(term)
        return _NOWHERE if column is None else self.body.documents_with(column)

    def chunks_that_write(self, name: str) -> IntArray:
        """Return the rows of the chunks that have a name: all its parts, of which one is a compound as ``maxSize`` is.

        Of a name that is a plain word nobody can tell whether it is meant.
        """
        is_telling = any(len(expand(part)) > 1 for part in split_qualified(name))
        return self.chunks_with_parts(name) if is_telling else _NOWHERE

    def chunks_with_parts(self, name: str) -> IntArray:
        """Return the rows of the chunks that have all parts of a name, wherever in them: those of ``a.b`` are two."""
        terms = [expand(part) for part in split_qualified(name)]
        wanted = dict.fromkeys(
            of_part[0] for of_part in terms if of_part
        )  # of a compound the first stands for all of it
        return reduce(np.intersect1d, map(self.chunks_with, wanted)) if wanted else _NOWHERE

    def rarity(self, term: str) -> float:
        """Return how telling a term is: the logarithm of the share of chunks that have it, turned over."""
        return log1p(self.n_chunks / (1 + len(self.chunks_with(term))))

    def near_terms(self, term: str) -> list[str]:
        """Return the terms that are likely meant by one that the index has not, the nearest first."""
        start = term[:_SAME_START]
        return [
            near.word
            for near in self._spellings.similar(term)
            if near.word.startswith(start) and abs(len(near.word) - len(term)) <= _LENGTH_DIFFERENCE
        ]

    @cached_property
    def _spellings(self) -> Spellings:
        return Spellings(self.term_ids)

    @cached_property
    def row_of(self) -> dict[str, int]:
        """The row of each chunk id."""
        return {chunk_id: row for row, chunk_id in enumerate(self.column("id"))}

    @cached_property
    def file_roles(self) -> list[str]:
        """The role of each file."""
        roles = self._columns["role"].combine_chunks()
        return list(roles.take(pa.array(self.file_starts)).to_pylist())

    @cached_property
    def files_by_role(self) -> dict[str, IntArray]:
        """The numbers of the files of each role."""
        files: dict[str, list[int]] = {}
        for file, role in enumerate(self.file_roles):
            files.setdefault(role, []).append(file)
        return {role: np.asarray(numbers, np.int32) for role, numbers in files.items()}

    @cached_property
    def translations(self) -> IntArray:
        """The numbers of the documents that are translations of others."""
        documents = self.files_by_role.get("docs", np.zeros(0, np.int32)).tolist()
        return np.asarray([documents[one] for one in translated([self.paths[file] for file in documents])], np.int32)

    @cached_property
    def data_files(self) -> IntArray:
        """The numbers of the files in no known language that are no documents either."""
        languages = self.column("language")
        return np.asarray(
            [
                file
                for file, role in enumerate(self.file_roles)
                if role != "docs" and languages[self.file_starts[file]] == "text"
            ],
            np.int32,
        )

    @cached_property
    def file_centrality(self) -> FloatArray:
        """How much of the repository's code uses each file, 0 to 1: the largest PageRank of it and what it declares."""
        nodes = self.snapshot.graph().nodes
        ranks = nodes["centrality"].to_numpy()
        paths = nodes["path"].combine_chunks()
        file_of = {path: file for file, path in enumerate(self.paths)}
        numbers = np.array([file_of.get(path, -1) for path in paths.dictionary.to_pylist()], np.int64)
        files = numbers[paths.indices.to_numpy()] if len(nodes) else np.zeros(0, np.int64)
        centrality = np.zeros(self.n_files, np.float32)
        np.maximum.at(centrality, files[files >= 0], ranks[files >= 0])
        return centrality

    @cached_property
    def file_lines(self) -> IntArray:
        """The number of lines of each file."""
        return np.maximum.reduceat(self.end_lines, self.file_starts) if self.n_chunks else self.end_lines

    @cached_property
    def log_lines(self) -> FloatArray:
        """Logarithm of the number of lines of each chunk."""
        lines: FloatArray = np.log1p(self.end_lines - self.start_lines + 1).astype(np.float32)
        return lines

    @cached_property
    def is_function(self) -> FloatArray:
        """1 for each chunk that is a function or a method, else 0."""
        return np.fromiter((kind in _FUNCTIONS for kind in self.column("kind")), np.float32, self.n_chunks)

    @cached_property
    def body(self) -> LexicalIndex:
        """BM25 over chunks: text, path, names and documentation as weighted fields of one document."""
        counts = self.snapshot.counts()
        by_chunk = self._path_counts[self.file_of]
        return bm25_weights((counts.body + by_chunk + NAMES_WEIGHT * counts.names + DOCS_WEIGHT * counts.docs).tocsr())

    @cached_property
    def names(self) -> LexicalIndex:
        """BM25 over the names that each chunk declares."""
        return bm25_weights(self.snapshot.counts().names)

    @cached_property
    def docs(self) -> LexicalIndex:
        """BM25 over each file's documentation and summaries, those of the file as a whole and of its folder included."""
        counts = (self._chunks_of_files @ self.snapshot.counts().docs).tocsr()
        if self.overviews:
            counts = counts + self._counted(
                [text_terms(" ".join(self.overviews_of(path).values())) for path in self.paths]
            )
        return bm25_weights(counts)

    @cached_property
    def overviews(self) -> dict[str, str]:
        """A language model's sentences on files and folders, by path; that of a folder ends with ``/``."""
        return unpack_overviews(self.snapshot.arrays())

    def overviews_of(self, path: str) -> dict[str, str]:
        """Return the sentences on a file and on its folder, by ``file`` and ``folder``, as far as there are any."""
        folder = path.rpartition("/")[0] or "."
        found = {"file": self.overviews.get(path), "folder": self.overviews.get(f"{folder}/")}
        return {name: sentence for name, sentence in found.items() if sentence}

    @cached_property
    def _chunks_of_files(self) -> "sp.csr_matrix":
        import scipy.sparse as sp  # noqa: PLC0415  # 0.15 s, and not every question is looked up by its words

        ones = np.ones(self.n_chunks, np.float32)
        return sp.csr_matrix((ones, (self.file_of, np.arange(self.n_chunks))), shape=(self.n_files, self.n_chunks))

    @cached_property
    def _path_counts(self) -> "sp.csr_matrix":
        return self._counted([path_terms(path) for path in self.paths])

    def _counted(self, texts: Sequence[Sequence[str]]) -> "sp.csr_matrix":
        """Return how often each term of the index is in each text, given as terms, a row a file."""
        import scipy.sparse as sp  # noqa: PLC0415  # as above

        ids = [self.known_terms(terms) for terms in texts]
        indptr = np.concatenate([[0], np.cumsum([len(row) for row in ids], dtype=np.int64)])
        flat = np.fromiter((number for row in ids for number in row), np.int32, int(indptr[-1]))
        counts = sp.csr_matrix((np.ones(len(flat), np.float32), flat, indptr), shape=(self.n_files, len(self.term_ids)))
        counts.sum_duplicates()
        return counts

    @cached_property
    def path_index(self) -> PathIndex:
        """The words of the paths."""
        return PathIndex(self.paths)

    @cached_property
    def declared_kinds(self) -> list[frozenset[str]]:
        """For each chunk, its own kind and the kinds of all that it declares."""
        return [
            frozenset((kind, *(symbol["kind"] for symbol in symbols)))
            for kind, symbols in zip(self.column("kind"), self.members, strict=True)
        ]

    @cached_property
    def members(self) -> "Members":
        """For each chunk, what it declares."""
        return Members(self._symbol_lists)

    @cached_property
    def _symbol_lists(self) -> pa.ListArray:
        return self.snapshot.chunks(["symbols"])["symbols"].combine_chunks()

    @cached_property
    def symbols(self) -> SymbolTable:
        """All declared names."""
        # No method of its own: the cycle would keep a whole generation in memory until the collector comes by.
        return SymbolTable(self._symbol_lists, partial(_path_words, self.paths, self.file_of))


def _path_words(paths: Sequence[str], file_of: IntArray, row: int) -> list[str]:
    """Return the words of the path of a chunk's file."""
    return split_qualified(str(PurePosixPath(paths[file_of[row]]).with_suffix("")))


class Members:
    """What each chunk declares, by row. A record is made when it is asked for: a search looks at a few of them."""

    def __init__(self, symbols: pa.ListArray) -> None:
        self._symbols = symbols

    def __getitem__(self, row: int) -> list[SymbolRecord]:
        found: list[SymbolRecord] = self._symbols[row].as_py()
        return found

    def __iter__(self) -> Iterator[list[SymbolRecord]]:
        return iter(self._symbols.to_pylist())


def dot_products(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    """Return the product of each row with a vector.

    Up to some size on the calling thread alone: BLAS would hand a part to threads that must first be woken up, which
    takes longer than the product, and milliseconds where other processes are busy.
    """
    if matrix.nbytes > _LARGEST_FOR_ONE_THREAD:
        return matrix @ vector
    products: FloatArray = np.vecdot(matrix, vector)
    return products


def _run_starts(values: pa.Array) -> IntArray:
    """Return where each run of equal neighbours begins."""
    if len(values) == 0:
        return np.zeros(0, np.int32)
    codes = values.dictionary_encode().indices.to_numpy()
    return np.concatenate([[0], np.flatnonzero(np.diff(codes)) + 1]).astype(np.int32)
