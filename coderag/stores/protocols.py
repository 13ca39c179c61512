"""What other parts need of the index, so that a test or another store can stand in for it."""

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
    """One consistent generation of the index. Rows are chunks, in one order for all methods; files have their own."""

    @property
    def pointer(self) -> Pointer:
        """What the generation is: its number, embedding model, root hash and so on."""
        ...

    def read_chunks(self, columns: Sequence[str] | None = None) -> "pa.Table":
        """Return columns of the chunk table; by default ``id`` and the metadata, without text and vector."""
        ...

    def read_vectors(self) -> FloatArray:
        """Return float32 (n_chunks, dimension), normalised."""
        ...

    def read_texts(self, rows: Sequence[int]) -> list[str]:
        """Return the texts of some chunks, in the order of the rows given."""
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
        """Return the arrays that were attached at the commit, by name."""
        ...


class GraphBuilder(Protocol):
    """Makes the code graph of a generation. `coderag.codegraph.build` has the one there is."""

    @property
    def version(self) -> str:
        """What the edges depend on beside the files; another one means to link all of them again."""
        ...

    def build(
        self,
        last: GraphTables | None,
        files: Sequence[FileRecord],
        facts: Mapping[str, PackedFacts],
        *,
        relink: bool = False,
    ) -> GraphTables:
        """Return the graph from the last generation's, the records of all files, and the facts of those that were read."""
        ...
