"""Resident arrays of one generation, built once for its queries and then read-only.

Rows are chunks in the order of the store; the chunks of a file are adjacent. Files are numbered in the order of their
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
from coderag.stores.chunk_edges import ChunkEdges, build_chunk_edges
from coderag.stores.lexical import DOCS_WEIGHT, NAMES_WEIGHT, LexicalIndex, compute_bm25_weights
from coderag.stores.overviews import unpack_overviews
from coderag.stores.path_index import PathIndex
from coderag.stores.protocols import IndexSnapshot
from coderag.stores.spelling_index import SpellingIndex
from coderag.stores.symbol_table import SymbolTable, split_qualified
from coderag.stores.translations import find_translations
from coderag.text.tokenizer import expand_token, split_raw_tokens, tokenize_path, tokenize_text

if TYPE_CHECKING:
    import scipy.sparse as sp

_MIN_READS_BEFORE_RESIDENT = 4  # loading all text takes longer than the few rows that a command line reads
_MAX_RESIDENT_BYTES = 64_000_000
_MAX_SINGLE_THREAD_BYTES = 32_000_000  # bytes
_MIN_SHARED_PREFIX_CHARS, _MAX_LENGTH_DIFFERENCE = 2, 2  # of a word and its misspelling

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int32]

_NO_ROWS: IntArray = np.zeros(0, np.int32)

_COLUMNS = (
    "id", "path", "language", "kind", "name", "qualified_name", "signature", "docstring", "summary", "parent", "context",
    "role", "start_line", "end_line", "content_hash",
)  # fmt: skip


class Corpus:
    """Resident arrays of one generation.

    Args:
        snapshot: An open generation of the index.

    Attributes:
        paths: Path of each file.
        chunk_files: int32 (n_chunks,), the file of each chunk.
        file_starts: int32 (n_files,), the first chunk of each file.
        vectors: float32 (n_chunks, dimension), normalised.
        file_vectors, path_vectors: float32 (n_files, dimension), normalised.
    """

    def __init__(self, snapshot: IndexSnapshot) -> None:
        self.snapshot = snapshot
        table = snapshot.read_chunks(_COLUMNS)
        self._columns = {name: table[name] for name in _COLUMNS}
        self.n_chunks = table.num_rows
        paths = self._columns["path"].combine_chunks()
        starts = _find_run_starts(paths)
        self.file_starts: IntArray = starts
        self.paths: list[str] = paths.take(pa.array(starts)).to_pylist()
        lengths = np.diff(np.append(starts, self.n_chunks))
        self.chunk_files: IntArray = np.repeat(np.arange(len(starts), dtype=np.int32), lengths)
        self.start_lines: IntArray = self._columns["start_line"].to_numpy().astype(np.int32)
        self.end_lines: IntArray = self._columns["end_line"].to_numpy().astype(np.int32)
        self.vectors: FloatArray = snapshot.read_vectors()
        self.file_vectors, self.path_vectors = self._load_file_vectors()
        self._cosine_memo: tuple[bytes, FloatArray] = (b"", np.zeros(0, np.float32))
        sizes = snapshot.read_chunks(["start_byte", "end_byte"])
        self._text_bytes = int(np.sum(sizes["end_byte"].to_numpy() - sizes["start_byte"].to_numpy()))
        self._text_reads = 0
        self.term_ids: dict[str, int] = {term: number for number, term in enumerate(snapshot.read_terms())}

    def preload_like(self, reference: "Corpus") -> None:
        """Compute the columns and properties that another generation's searches have used."""
        for name in list(reference._lists):
            self.get_column(name)
        for name, attribute in vars(Corpus).items():
            if isinstance(attribute, cached_property) and name in vars(reference):
                getattr(self, name)
        self._text_reads = reference._text_reads

    @property
    def n_files(self) -> int:
        """Number of files with at least one chunk."""
        return len(self.paths)

    def _load_file_vectors(self) -> tuple[FloatArray, FloatArray]:
        """Return the content and path vectors in the order of `paths`."""
        content_vectors, path_vectors = self.snapshot.read_file_vectors()
        rows_by_path = {record.path: row for row, record in enumerate(self.snapshot.read_files())}
        rows = [rows_by_path[path] for path in self.paths]
        return content_vectors[rows], path_vectors[rows]

    def get_column(self, name: str) -> list[str]:
        """Return a metadata column as a list, by row."""
        return self._lists[name] if name in self._lists else self._load_list(name)

    @cached_property
    def _lists(self) -> dict[str, list[str]]:
        return {}

    def _load_list(self, name: str) -> list[str]:
        self._lists[name] = self._columns[name].to_pylist()
        return self._lists[name]

    def get_value(self, name: str, row: int) -> str:
        """Return one metadata value of a chunk."""
        return self.get_column(name)[row]

    def read_texts(self, rows: Sequence[int]) -> list[str]:
        """Return the source of chunks: from disk at first, from memory after a few reads."""
        self._text_reads += 1
        if self._text_reads < _MIN_READS_BEFORE_RESIDENT or self._text_bytes > _MAX_RESIDENT_BYTES:
            return self.snapshot.read_texts(rows)
        return [self._resident_texts[row].as_py() for row in rows]

    @cached_property
    def _resident_texts(self) -> pa.Array:
        return self.snapshot.read_chunks(["text"])["text"].combine_chunks()

    def get_chunk_rows(self, file: int) -> range:
        """Return the rows of a file's chunks."""
        end = self.file_starts[file + 1] if file + 1 < self.n_files else self.n_chunks
        return range(int(self.file_starts[file]), int(end))

    def compute_cosines(self, vector: FloatArray) -> FloatArray:
        """Compute the cosine of each chunk with a query vector: float32 (n_chunks,), read-only.

        The last result is memoized: several steps of one query ask for the same vector.
        """
        key = vector.tobytes()
        last_key, last = self._cosine_memo
        if key != last_key:
            last = compute_dot_products(self.vectors, vector)
            last.setflags(write=False)
            self._cosine_memo = key, last
        return last

    def compute_file_max(self, values: FloatArray) -> FloatArray:
        """Return the largest chunk value of each file."""
        return np.maximum.reduceat(values, self.file_starts) if len(values) else values

    def find_best_rows(self, values: FloatArray) -> NDArray[np.int64]:
        """Return the row of the largest chunk value of each file, the first of equals."""
        best = np.flatnonzero(values == self.compute_file_max(values)[self.chunk_files])[::-1]
        rows = np.zeros(self.n_files, np.int64)
        rows[self.chunk_files[best]] = best
        return rows

    def get_term_ids(self, terms: Sequence[str]) -> list[int]:
        """Return the ids of the terms that the index has, with repetitions."""
        return [self.term_ids[term] for term in terms if term in self.term_ids]

    def find_chunks_with_term(self, term: str) -> IntArray:
        """Return the rows of the chunks that contain a term."""
        column = self.term_ids.get(term)
        return _NO_ROWS if column is None else self.body.find_documents(column)

    def has_term(self, term: str) -> bool:
        """Return whether any chunk has a term."""
        return len(self.find_chunks_with_term(term)) > 0

    def find_chunks_with_name(self, name: str) -> IntArray:
        """Return the rows of the chunks that contain all parts of a name with a compound part, such as ``maxSize``.

        A name of plain words matches nothing: such words may be prose.
        """
        is_compound = any(len(expand_token(part)) > 1 for part in split_raw_tokens(name))
        return self.find_chunks_with_name_parts(name) if is_compound else _NO_ROWS

    def find_chunks_with_name_parts(self, name: str) -> IntArray:
        """Return the rows of the chunks that contain all parts of a name, anywhere; ``a.b`` and ``a-b`` have two."""
        terms = [expand_token(part) for part in split_raw_tokens(name)]
        # The first term of a compound stands for all of it.
        return self.find_chunks_with_terms([part_terms[0] for part_terms in terms if part_terms])

    def find_chunks_with_terms(self, terms: Sequence[str]) -> IntArray:
        """Return the rows of the chunks that contain all of some terms; none without terms."""
        postings = sorted(map(self.find_chunks_with_term, dict.fromkeys(terms)), key=len)
        return reduce(partial(np.intersect1d, assume_unique=True), postings) if postings else _NO_ROWS

    def idf(self, term: str) -> float:
        """Return the inverse document frequency of a term."""
        return log1p(self.n_chunks / (1 + len(self.find_chunks_with_term(term))))

    def suggest_terms(self, term: str) -> list[str]:
        """Return indexed terms spelled like one that is not indexed, the most similar first."""
        prefix = term[:_MIN_SHARED_PREFIX_CHARS]
        return [
            spelling.word
            for spelling in self._spelling_index.find_similar(term)
            if spelling.word.startswith(prefix) and abs(len(spelling.word) - len(term)) <= _MAX_LENGTH_DIFFERENCE
        ]

    @cached_property
    def _spelling_index(self) -> SpellingIndex:
        return SpellingIndex(self.term_ids)

    @cached_property
    def rows_by_id(self) -> dict[str, int]:
        """Row of each chunk id."""
        return {chunk_id: row for row, chunk_id in enumerate(self.get_column("id"))}

    @cached_property
    def summary_sources(self) -> list[str]:
        """Source of each chunk's summary, read when an answer first asks."""
        sources: list[str] = self.snapshot.read_chunks(["summary_source"])["summary_source"].to_pylist()
        return sources

    @cached_property
    def file_roles(self) -> list[str]:
        """Role of each file."""
        roles = self._columns["role"].combine_chunks()
        return list(roles.take(pa.array(self.file_starts)).to_pylist())

    @cached_property
    def files_by_role(self) -> dict[str, IntArray]:
        """File numbers of each role."""
        files: dict[str, list[int]] = {}
        for file, role in enumerate(self.file_roles):
            files.setdefault(role, []).append(file)
        return {role: np.asarray(numbers, np.int32) for role, numbers in files.items()}

    @cached_property
    def translated_files(self) -> IntArray:
        """Numbers of the documents that are translations of others."""
        documents = self.files_by_role.get("docs", np.zeros(0, np.int32)).tolist()
        return np.asarray(
            [documents[position] for position in find_translations([self.paths[file] for file in documents])], np.int32
        )

    @cached_property
    def data_files(self) -> IntArray:
        """Numbers of the files in no known language that are not documents."""
        languages = self.get_column("language")
        return np.asarray(
            [
                file
                for file, role in enumerate(self.file_roles)
                if role != "docs" and languages[self.file_starts[file]] == "text"
            ],
            np.int32,
        )

    @cached_property
    def chunk_edges(self) -> ChunkEdges:
        """Uses between chunks, as far as the code graph has resolved them."""
        files = {path: number for number, path in enumerate(self.paths)}
        return build_chunk_edges(
            self.snapshot.read_graph(), files, self.chunk_files.astype(np.int64), self.start_lines.astype(np.int64)
        )

    @cached_property
    def file_line_counts(self) -> IntArray:
        """Number of lines of each file."""
        return np.maximum.reduceat(self.end_lines, self.file_starts) if self.n_chunks else self.end_lines

    @cached_property
    def log_line_counts(self) -> FloatArray:
        """Logarithm of the number of lines of each chunk."""
        lines: FloatArray = np.log1p(self.end_lines - self.start_lines + 1).astype(np.float32)
        return lines

    @cached_property
    def body(self) -> LexicalIndex:
        """BM25 over chunks: text, path, names and documentation as weighted fields of one document."""
        counts = self.snapshot.read_counts()
        by_chunk = self._path_counts[self.chunk_files]
        return compute_bm25_weights(
            (counts.body + by_chunk + NAMES_WEIGHT * counts.names + DOCS_WEIGHT * counts.docs).tocsr()
        )

    @cached_property
    def names(self) -> LexicalIndex:
        """BM25 over the names that each chunk declares."""
        return compute_bm25_weights(self.snapshot.read_counts().names)

    @cached_property
    def docs(self) -> LexicalIndex:
        """BM25 over each file's documentation and summaries, including those of the file and its folder."""
        counts = self.sum_by_file(self.snapshot.read_counts().docs)
        if self.overviews:
            counts = counts + self._count_terms(
                [tokenize_text(" ".join(self.get_overviews(path).values())) for path in self.paths]
            )
        return compute_bm25_weights(counts)

    @cached_property
    def overviews(self) -> dict[str, str]:
        """Model-written summaries of files and folders, by path; a folder's path ends with ``/``."""
        return unpack_overviews(self.snapshot.read_arrays())

    def get_overviews(self, path: str) -> dict[str, str]:
        """Return the summaries of a file and of its folder, by ``file`` and ``folder``, where they exist."""
        folder = path.rpartition("/")[0] or "."
        overviews = {"file": self.overviews.get(path), "folder": self.overviews.get(f"{folder}/")}
        return {name: sentence for name, sentence in overviews.items() if sentence}

    def sum_by_file(self, counts: "sp.csr_matrix") -> "sp.csr_matrix":
        """Sum term counts of chunks by file: (n_files, n_terms)."""
        summed: sp.csr_matrix = (self._chunks_by_file @ counts).tocsr()
        return summed

    @cached_property
    def _chunks_by_file(self) -> "sp.csr_matrix":
        import scipy.sparse as sp  # noqa: PLC0415  # 0.15 s, and not every query needs it

        unit_weights = np.ones(self.n_chunks, np.float32)
        return sp.csr_matrix(
            (unit_weights, (self.chunk_files, np.arange(self.n_chunks))), shape=(self.n_files, self.n_chunks)
        )

    @cached_property
    def _path_counts(self) -> "sp.csr_matrix":
        return self._count_terms([tokenize_path(path) for path in self.paths])

    def _count_terms(self, texts: Sequence[Sequence[str]]) -> "sp.csr_matrix":
        """Count the indexed terms of each file's text, given as terms."""
        import scipy.sparse as sp  # noqa: PLC0415  # as above

        ids = [self.get_term_ids(terms) for terms in texts]
        indptr = np.concatenate([[0], np.cumsum([len(row) for row in ids], dtype=np.int64)])
        flat = np.fromiter((number for row in ids for number in row), np.int32, int(indptr[-1]))
        counts = sp.csr_matrix((np.ones(len(flat), np.float32), flat, indptr), shape=(self.n_files, len(self.term_ids)))
        counts.sum_duplicates()
        return counts

    @cached_property
    def path_index(self) -> PathIndex:
        """Index of the words in paths."""
        return PathIndex(self.paths)

    @cached_property
    def declared_kinds(self) -> list[frozenset[str]]:
        """Kinds of each chunk: its own and those of its declarations."""
        return [
            frozenset((kind, *(symbol["kind"] for symbol in symbols)))
            for kind, symbols in zip(self.get_column("kind"), self.chunk_symbols, strict=True)
        ]

    @cached_property
    def chunk_symbols(self) -> "ChunkSymbols":
        """Declarations of each chunk."""
        return ChunkSymbols(self._symbol_lists)

    @cached_property
    def _symbol_lists(self) -> pa.ListArray:
        return self.snapshot.read_chunks(["symbols"])["symbols"].combine_chunks()

    @cached_property
    def symbols(self) -> SymbolTable:
        """Symbol table of all declarations."""
        # A bound method would form a cycle and keep the generation in memory until garbage collection.
        return SymbolTable(self._symbol_lists, partial(_split_path, self.paths, self.chunk_files))


def _split_path(paths: Sequence[str], chunk_files: IntArray, row: int) -> list[str]:
    """Split the path of a chunk's file into its parts."""
    return split_qualified(str(PurePosixPath(paths[chunk_files[row]]).with_suffix("")))


class ChunkSymbols:
    """Declarations of each chunk, by row. Records are built lazily: a search reads only a few."""

    def __init__(self, symbols: pa.ListArray) -> None:
        self._symbols = symbols

    def __getitem__(self, row: int) -> list[SymbolRecord]:
        symbols: list[SymbolRecord] = self._symbols[row].as_py()
        return symbols

    def __iter__(self) -> Iterator[list[SymbolRecord]]:
        return iter(self._symbols.to_pylist())


def compute_dot_products(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    """Compute the product of each row with a vector.

    Matrices up to a limit are multiplied on the calling thread: waking BLAS threads takes longer than the product,
    and milliseconds on a busy machine.
    """
    if matrix.nbytes > _MAX_SINGLE_THREAD_BYTES:
        return matrix @ vector
    products: FloatArray = np.vecdot(matrix, vector)
    return products


def _find_run_starts(values: pa.Array) -> IntArray:
    """Return the start of each run of equal neighbours."""
    if len(values) == 0:
        return np.zeros(0, np.int32)
    codes = values.dictionary_encode().indices.to_numpy()
    return np.concatenate([[0], np.flatnonzero(np.diff(codes)) + 1]).astype(np.int32)
