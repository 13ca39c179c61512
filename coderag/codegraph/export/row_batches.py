"""Batches of graph table rows as plain values."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 4096
_DECIMAL_DIGITS = 6


def iterate_batches(table: "pa.Table", size: int = BATCH_ROWS) -> Iterator[list[dict[str, Any]]]:
    """Yield a table's rows as dictionaries, in batches; fractions are rounded to six digits."""
    for start in range(0, table.num_rows, size):
        part = table.slice(start, size)
        columns = [_to_values(part.column(name)) for name in part.column_names]
        yield [dict(zip(part.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def _to_values(column: "pa.ChunkedArray") -> list[Any]:
    import pyarrow as pa  # noqa: PLC0415 - 0.1 s
    import pyarrow.compute as pc  # noqa: PLC0415

    if pa.types.is_dictionary(column.type):
        column = column.cast(pa.string())
    elif pa.types.is_floating(column.type):
        column = pc.round(column.cast(pa.float64()), _DECIMAL_DIGITS)
    values: list[Any] = column.to_pylist()
    return values
