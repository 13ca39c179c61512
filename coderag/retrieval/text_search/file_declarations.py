"""Declarations around the lines of indexed files."""

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from coderag.schema.chunks import SymbolRecord
from coderag.stores.protocols import IndexSnapshot

if TYPE_CHECKING:
    import pyarrow as pa


class FileDeclarations:
    """Declarations of each file, looked up lazily."""

    def __init__(self, snapshot: IndexSnapshot) -> None:
        self._table = snapshot.read_chunks(["path", "symbols", "complexity", "start_line", "end_line"])

    def get_declarations(self, path: str) -> list[SymbolRecord]:
        """Return a file's declarations, outer before inner ones."""
        start, end = self._rows.get(path, (0, 0))
        records = [record for records in self._symbols[start:end].to_pylist() for record in records]
        distinct = {(record["start_line"], -record["end_line"], record["qualified_name"]): record for record in records}
        return [distinct[key] for key in sorted(distinct)]

    def get_complexity(self, path: str, line: int) -> int:
        """Return the cyclomatic complexity of the chunk around a line; 0 without one."""
        start, end = self._rows.get(path, (0, 0))
        rows = self._table.slice(start, end - start).select(["complexity", "start_line", "end_line"]).to_pylist()
        return max((row["complexity"] for row in rows if row["start_line"] <= line <= row["end_line"]), default=0)

    @cached_property
    def _symbols(self) -> "pa.ListArray":
        return self._table["symbols"].combine_chunks()

    @cached_property
    def _rows(self) -> dict[str, tuple[int, int]]:
        """Rows of each file's chunks, which are adjacent."""
        paths = self._table["path"].combine_chunks().dictionary_encode()
        codes = paths.indices.to_numpy()
        bounds = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)] if len(codes) else [0]
        names = paths.dictionary.to_pylist()
        return {names[codes[start]]: (start, end) for start, end in pairwise(bounds)}


def find_enclosing(declarations: Sequence[SymbolRecord], line: int) -> list[SymbolRecord]:
    """Find the declarations around a line, the innermost last."""
    enclosing = [
        declaration for declaration in declarations if declaration["start_line"] <= line <= declaration["end_line"]
    ]
    return sorted(enclosing, key=lambda declaration: declaration["start_line"] - declaration["end_line"])
