"""A small world of chunks: what a test needs to write an index and to say what it must hold."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from coderag.schema.chunks import ChunkMetadata, FileRecord
from coderag.stores.arrow import build_node_table
from coderag.stores.index_store import EmbeddingInfo, FieldCounts, IndexStore, IndexWriter, Snapshot

DIMENSION = 8


class World:
    """Makes chunks out of ``{path: [text, ...]}`` and compares an index with it; the vocabulary grows with them."""

    embedding = EmbeddingInfo("fake", "hash", DIMENSION)

    def __init__(self) -> None:
        self.terms: list[str] = []

    def metadata(self, path: str, line: int, text: str) -> ChunkMetadata:
        symbol = {
            "name": f"f{line}",
            "qualified_name": f"m.f{line}",
            "kind": "function",
            "start_line": line,
            "end_line": line + 2,
        }
        return {
            "path": path,
            "language": "python",
            "kind": "function",
            "name": f"f{line}",
            "qualified_name": f"m.f{line}",
            "signature": f"def f{line}()",
            "docstring": "Say 'hello'.",
            "summary": "",
            "summary_source": "derived",
            "parent": "m",
            "context": "class M:",
            "imports": ["os", "näme"],
            "calls": [] if line % 2 else ["g"],
            "bases": [],
            "complexity": line,
            "symbols": [symbol] * (line % 3),
            "role": "source",
            "start_line": line,
            "end_line": line + 2,
            "start_byte": 2**31 + line,
            "end_byte": 2**31 + line + 9,
            "content_hash": hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(),
        }

    def node(self, path: str, line: int, text: str) -> SimpleNamespace:
        chunk_id = hashlib.sha256(f"{path}\0{line}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()
        return SimpleNamespace(node_id=chunk_id, text=text, metadata=dict(self.metadata(path, line, text)))

    def nodes(self, tree: Mapping[str, Sequence[str]]) -> list[SimpleNamespace]:
        return [self.node(path, line, text) for path, texts in tree.items() for line, text in enumerate(texts, 1)]

    def vectors(self, nodes: Sequence[SimpleNamespace]) -> np.ndarray:
        rows = [
            np.frombuffer(bytes.fromhex(node.node_id), np.uint8)[:DIMENSION].astype(np.float32) + 1 for node in nodes
        ]
        matrix = np.array(rows, np.float32).reshape(-1, DIMENSION)
        return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)

    def counts(self, nodes: Sequence[SimpleNamespace]) -> FieldCounts:
        known = {term: number for number, term in enumerate(self.terms)}
        rows, columns = [], []
        for row, node in enumerate(nodes):
            for word in node.text.split():
                if word not in known:
                    known[word] = len(self.terms)
                    self.terms.append(word)
                rows.append(row)
                columns.append(known[word])
        ones = np.ones(len(rows), np.float32)
        body = sp.csr_matrix((ones, (rows, columns)), shape=(len(nodes), len(self.terms)), dtype=np.float32)
        return FieldCounts(body, (body * 2).tocsr(), (body * 300).tocsr())

    def add(self, writer: IndexWriter, tree: Mapping[str, Sequence[str]]) -> None:
        if writer.base and not self.terms:
            self.terms = list(writer.base.read_terms())
        nodes = self.nodes(tree)
        writer.add(build_node_table(nodes), self.vectors(nodes), self.counts(nodes), self.terms)

    def files(self, tree: Mapping[str, Sequence[str]]) -> list[FileRecord]:
        indexed = [FileRecord(path, "indexed", hash="h", size=2**40, chunks=len(texts)) for path, texts in tree.items()]
        return [FileRecord("logo.png", "skipped", reason="binary"), *indexed]

    def file_vectors(self, tree: Mapping[str, Sequence[str]]) -> np.ndarray:
        return self.vectors([self.node(path, 0, "") for path in tree])

    def commit(self, writer: IndexWriter, tree: Mapping[str, Sequence[str]], **kwargs: object) -> Snapshot:
        matrix = self.file_vectors(tree)
        return writer.commit(self.files(tree), matrix, -matrix, embedding=self.embedding, **kwargs)

    def write(self, store: IndexStore, tree: Mapping[str, Sequence[str]]) -> Snapshot:
        with store.open_writer() as writer:
            writer.reset()
            self.terms = []
            self.add(writer, tree)
            return self.commit(writer, tree)

    def check(self, snapshot: Snapshot, tree: Mapping[str, Sequence[str]]) -> None:
        """Everything about the chunks is as in the tree, and aligned."""
        expected = {node.node_id: node for node in self.nodes(tree)}
        table = snapshot.read_chunks()
        ids = table["id"].to_pylist()
        assert sorted(ids) == sorted(expected)
        assert len(snapshot) == len(expected) == snapshot.pointer.chunks
        nodes = [expected[one] for one in ids]
        assert table.drop_columns(["id"]).to_pylist() == [node.metadata for node in nodes]
        assert snapshot.read_texts(range(len(nodes))) == [node.text for node in nodes]
        np.testing.assert_array_equal(snapshot.read_vectors(), self.vectors(nodes))
        counts, terms = snapshot.read_counts(), snapshot.read_terms()
        assert counts.body.shape == counts.names.shape == counts.docs.shape == (len(nodes), len(terms))
        dense = counts.body.toarray()
        for row, node in enumerate(nodes):
            words = node.text.split()
            assert {terms[column]: dense[row, column] for column in np.flatnonzero(dense[row])} == {
                word: words.count(word) for word in words
            }
        np.testing.assert_array_equal(counts.names.toarray(), dense * 2)
        np.testing.assert_array_equal(counts.docs.toarray(), dense * 300)
        assert snapshot.read_files() == self.files(tree)
        content, place = snapshot.read_file_vectors()
        np.testing.assert_array_equal(content, np.vstack([np.zeros((1, DIMENSION)), self.file_vectors(tree)]))
        np.testing.assert_array_equal(place, -content)


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture(scope="session")
def new_world() -> type[World]:
    return World


@pytest.fixture
def store(tmp_path: Path) -> IndexStore:
    return IndexStore(tmp_path / "repository" / ".coderag")
