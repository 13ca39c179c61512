"""An open index made of a few literal files: the real pipeline, kept in memory by a fake snapshot."""

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from llama_index.core.schema import Document

from coderag.codegraph.chunk_neighbours import ChunkNeighbours
from coderag.codegraph.code_graph_builder import CodeGraphBuilder
from coderag.codegraph.graph import CodeGraph
from coderag.codegraph.symbol_graph import SymbolGraph
from coderag.config.sections import ChunkSettings, IngestionSettings, SearchSettings
from coderag.ingestion.files.roles import classify_role
from coderag.ingestion.parsing.chunking import parse_file
from coderag.ingestion.parsing.languages import detect_language
from coderag.integrations.llama_index.pipeline import ChunkPipeline
from coderag.models.dense import DenseModel
from coderag.models.embedded_dense import EmbeddedDense
from coderag.models.protocols import LanguageModel, Reranker
from coderag.models.word_vectors import WordVectors
from coderag.retrieval.query_context import QueryContext
from coderag.schema.chunks import FileRecord
from coderag.stores.arrow import append_vectors
from coderag.stores.corpus import Corpus
from coderag.stores.field_counts import FieldCounts
from coderag.stores.graph_tables import GraphTables
from coderag.stores.pointer import EmbeddingInfo, Pointer
from coderag.text.tokenizer import TOKENIZER_VERSION

Files = Mapping[str, str]

MERGED = IngestionSettings(chunk=ChunkSettings(min_tokens=100))
"""Small neighbours share a chunk; by default every declaration is a chunk of its own."""


@cache
def word_vectors() -> WordVectors:
    """Return the embedded model's vectors, loaded once a process."""
    return WordVectors.load()


class MemorySnapshot:
    """An `IndexSnapshot` that the real pipeline filled, without a store."""

    def __init__(self, files: Files, settings: IngestionSettings, model: DenseModel) -> None:
        batch = ChunkPipeline(settings, model).run(
            [
                Document(
                    text=text,
                    metadata={"path": path, "language": detect_language(path, ""), "role": classify_role(path)},
                    id_=path,
                )
                for path, text in sorted(files.items())
            ]
        )
        info = model.info
        self._texts_by_path = files
        self._table = append_vectors(batch.columns, batch.vectors.chunks)
        self._texts = batch.columns["text"].to_pylist()
        self._vectors = batch.vectors.chunks
        self._counts, self._terms = batch.counts, list(batch.terms)
        self._files = [_record(path, text) for path, text in sorted(files.items())]
        self._file_vectors = _in_order(self._files, batch.paths, batch.vectors.files, info)
        self._path_vectors = _in_order(self._files, batch.paths, batch.vectors.paths, info)
        self.pointer = Pointer(
            generation=1,
            tables={},
            lexical="",
            embedding=info,
            tokenizer=TOKENIZER_VERSION,
            created="2025-01-01T00:00:00+00:00",
            chunks=len(batch.columns),
            files=len(self._files),
        )

    def read_chunks(self, columns: Sequence[str] | None = None) -> pa.Table:
        return self._table.select(list(columns)) if columns else self._table.drop_columns(["text", "vector"])

    def read_vectors(self) -> np.ndarray:
        return self._vectors

    def read_texts(self, rows: Sequence[int]) -> list[str]:
        return [self._texts[row] for row in rows]

    def read_counts(self) -> FieldCounts:
        return self._counts

    def read_terms(self) -> list[str]:
        return self._terms

    def read_files(self) -> list[FileRecord]:
        return self._files

    def read_file_vectors(self) -> tuple[np.ndarray, np.ndarray]:
        return self._file_vectors, self._path_vectors

    def find_nearest(self, vector: np.ndarray, k: int, where: str | None = None) -> list[tuple[int, float]]:
        assert where is None, "a fake without SQL"
        cosines = self._vectors @ vector
        return [(int(row), float(cosines[row])) for row in np.argsort(-cosines)[:k]]

    def read_graph(self) -> GraphTables:
        facts = {
            path: parse_file(path, text, detect_language(path, text), "").facts
            for path, text in self._texts_by_path.items()
        }
        return CodeGraphBuilder().build(None, self._files, facts)

    def read_arrays(self) -> dict[str, np.ndarray]:
        return {}


def _record(path: str, text: str) -> FileRecord:
    data = text.encode()
    return FileRecord(
        path,
        "indexed",
        hash=hashlib.sha256(data).hexdigest(),
        size=len(data),
        language=detect_language(path, text),
        role=classify_role(path),
        encoding="utf-8",
    )


def _in_order(
    files: Sequence[FileRecord], paths: Sequence[str], vectors: np.ndarray, info: EmbeddingInfo
) -> np.ndarray:
    ordered = np.zeros((len(files), info.dimension), np.float32)
    places = {path: position for position, path in enumerate(paths)}
    for row, record in enumerate(files):
        if record.path in places:
            ordered[row] = vectors[places[record.path]]
    return ordered


def make_corpus(files: Files, *, merged: bool = False) -> Corpus:
    """Return the open index of some files.

    Args:
        files: Text of each path.
        merged: Whether small neighbours share a chunk.
    """
    settings = MERGED if merged else IngestionSettings()
    return Corpus(MemorySnapshot(files, settings, EmbeddedDense(word_vectors())))


def make_context(
    files: Files,
    root: Path | None = None,
    *,
    merged: bool = False,
    language_model: LanguageModel | None = None,
    reranker: Reranker | None = None,
    **search: Any,
) -> QueryContext:
    """Return what the query graph needs to answer about some files.

    Args:
        files: Text of each path.
        root: Folder to write them to, for citations to be checked against; none is written by default.
        merged: As in `make_corpus`.
        language_model: Language model for answers.
        reranker: Model that re-orders results.
        search: Search settings that differ from the defaults.
    """
    if root is not None:
        write_files(root, files)
    corpus = make_corpus(files, merged=merged)
    graph = CodeGraph(SymbolGraph(corpus.snapshot.read_graph))
    return QueryContext(
        corpus=corpus,
        graph=graph,
        neighbours=ChunkNeighbours(corpus, graph),
        root=str(root) if root else "/nonexistent",
        embedder=EmbeddedDense(word_vectors()),
        settings=SearchSettings(**search),
        language_model=language_model,
        reranker=reranker,
    )


def write_files(root: Path, files: Files) -> Path:
    """Write files below a folder, byte for byte, and return it."""
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())
    return root


def row_named(corpus: Corpus, qualified_name: str, path: str = "") -> int:
    """Return the only chunk of a qualified name (in a file, if a path is given)."""
    names, paths = corpus.get_column("qualified_name"), corpus.get_column("path")
    rows = [row for row, name in enumerate(names) if name == qualified_name and path in ("", paths[row])]
    assert len(rows) == 1, f"{qualified_name} is {len(rows)} of {sorted(zip(paths, names, strict=True))}"
    return rows[0]
