"""What other parts need of the index, so that a test or another store can stand in for it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from coderag.schema import FileRecord
from coderag.stores.field_counts import FieldCounts
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

    def chunks(self, columns: Sequence[str] | None = None) -> "pa.Table":
        """Return columns of the chunk table; by default ``id`` and the metadata, without text and vector."""
        ...

    def vectors(self) -> FloatArray:
        """Return float32 (n_chunks, dimension), normalised."""
        ...

    def texts(self, rows: Sequence[int]) -> list[str]:
        """Return the texts of some chunks, in the order of the rows given."""
        ...

    def counts(self) -> FieldCounts:
        """Return the term counts of all chunks."""
        ...

    def terms(self) -> list[str]:
        """Return the vocabulary; column j of the counts belongs to term j."""
        ...

    def files(self) -> list[FileRecord]:
        """Return the record of every candidate file."""
        ...

    def file_vectors(self) -> tuple[FloatArray, FloatArray]:
        """Return (content, path), each float32 (n_files, dimension) in the order of `files`, zeros if not indexed."""
        ...

    def nearest(self, vector: FloatArray, k: int, where: str | None = None) -> list[tuple[int, float]]:
        """Return rows and cosines of the nearest chunks, best first."""
        ...

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that were attached at the commit, by name."""
        ...
