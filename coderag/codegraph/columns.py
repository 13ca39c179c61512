"""Arrow columns as NumPy arrays and dictionary-encoded columns for fast access."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class DictionaryColumn:
    """A dictionary-encoded column: ``codes``, int64 (n_rows,), are positions in ``values``."""

    codes: IntArray
    values: list[str]

    def __getitem__(self, row: int) -> str:
        return self.values[int(self.codes[row])]


def to_dictionary_column(column: "pa.ChunkedArray") -> DictionaryColumn:
    """Return a dictionary-encoded Arrow column as codes and values."""
    encoded = to_array(column)
    return DictionaryColumn(
        encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), encoded.dictionary.to_pylist()
    )


def to_int_array(column: "pa.ChunkedArray") -> IntArray:
    """Return an integer column: int64 (n_rows,)."""
    numbers: IntArray = to_array(column).to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


def to_float_array(column: "pa.ChunkedArray") -> FloatArray:
    """Return a float column: float32 (n_rows,)."""
    numbers: FloatArray = to_array(column).to_numpy(zero_copy_only=False).astype(np.float32)
    return numbers


def to_array(column: "pa.ChunkedArray") -> Any:  # noqa: ANN401 - pyarrow has no types
    """Return a column as one array, with the dictionaries of its batches unified."""
    return column.unify_dictionaries().combine_chunks()
