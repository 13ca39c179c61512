"""Protocols of the index, for tests and other stores to implement."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from coderag.schema.chunks import FileRecord
from coderag.stores.facts_codec import PackedFacts
from coderag.stores.field_counts import FieldCounts
from coderag.stores.graph_tables import GraphTables
from coderag.stores.pointer import Pointer

if TYPE_CHECKING:
    import pyarrow as pa

FloatArray = NDArray[np.float32]


class IndexSnapshot(Protocol):
    """One consistent generation of the index. All methods number chunks in the same order; files have their own."""

    @property
    def pointer(self) -> Pointer:
        """Pointer of the generation: its number, embedding model, root hash and more."""
        ...

    def read_chunks(self, columns: Sequence[str] | None = None) -> "pa.Table":
        """Return columns of the chunk table; by default ``id`` and the metadata, without text and vector."""
        ...

    def read_vectors(self) -> FloatArray:
        """Return float32 (n_chunks, dimension), normalised."""
        ...

    def read_texts(self, rows: Sequence[int]) -> list[str]:
        """Return the texts of some chunks, in the order of the given rows."""
        ...

    def read_counts(self) -> FieldCounts:
        """Return the term counts of all chunks."""
        ...

    def read_terms(self) -> list[str]:
        """Return the vocabulary; column j of the counts belongs to term j."""
        ...

    def read_files(self) -> list[FileRecord]:
        """Return the record of every candidate file."""
        ...

    def read_file_vectors(self) -> tuple[FloatArray, FloatArray]:
        """Return (content, path), each float32 (n_files, dimension) in the order of `files`, zeros if not indexed."""
        ...

    def find_nearest(self, vector: FloatArray, k: int, where: str | None = None) -> list[tuple[int, float]]:
        """Return rows and cosines of the nearest chunks, best first."""
        ...

    def read_graph(self) -> GraphTables:
        """Return the code graph without its facts."""
        ...

    def read_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the attached arrays, by name."""
        ...


class GraphBuilder(Protocol):
    """Builder of a generation's code graph, implemented in `coderag.codegraph.code_graph_builder`."""

    @property
    def version(self) -> str:
        """Version of the linker; a new one requires relinking all files."""
        ...

    def declare(self, files: Sequence[FileRecord], facts: Mapping[str, PackedFacts]) -> GraphTables:
        """Build the graph of a first generation before its files are linked: declarations without edges."""
        ...

    def build(
        self,
        last: GraphTables | None,
        files: Sequence[FileRecord],
        facts: Mapping[str, PackedFacts],
        *,
        relink: bool = False,
    ) -> GraphTables:
        """Build the graph from the last one, all file records, and the facts of the files that were read."""
        ...
