"""Chunks of a folder or file by their metadata, with the counts of each facet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from coderag.schema.browse import ChunkEntry, ChunkListing, ChunkOrder, FacetCount
from coderag.stores.protocols import IndexSnapshot

if TYPE_CHECKING:
    import pyarrow as pa

FACETS: Final = ("language", "kind", "role", "summary_source", "complexity")
"""Facets of a chunk; each is a filter as well."""

_COMPLEXITY_RANGES: Final[Mapping[str, tuple[int, int]]] = {
    "0": (0, 0), "1-5": (1, 5), "6-10": (6, 10), "11-20": (11, 20), "21+": (21, 1 << 30),
}  # fmt: skip
_ENTRY_COLUMNS: Final = (
    "id", "path", "start_line", "end_line", "language", "kind", "name", "qualified_name", "signature", "parent", "role",
    "complexity", "summary", "summary_source",
)  # fmt: skip
_MAX_FACET_VALUES: Final = 100
_MAX_TEXT_CHARS: Final = 500

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ChunkQuery:
    """Selection of chunks.

    Attributes:
        path: File or folder; empty for all.
        values: Values by facet, which are alternatives; an empty or missing facet matches all.
        name: Part of the qualified name, in any case; empty for any.
        lines: First and last line; chunks that overlap them match.
        order: Order of the chunks.
        offset: Chunks to skip.
        limit: Maximum number of chunks.
    """

    path: str = ""
    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    name: str = ""
    lines: tuple[int, int] | None = None
    order: ChunkOrder = "path"
    offset: int = 0
    limit: int = 100


def list_chunks(root: str, snapshot: IndexSnapshot, query: ChunkQuery) -> ChunkListing:
    """List the chunks that match a query, with the facets of all that match."""
    table = snapshot.read_chunks(_ENTRY_COLUMNS)
    inside = _match_place(table, query)
    masks = {facet: _match_values(table, facet, values) for facet, values in query.values.items() if values}
    rows = np.flatnonzero(np.logical_and.reduce([inside, *masks.values()]))
    rows = rows[_order_rows(table.take(rows), query.order)]
    end = query.offset + query.limit
    facets = {}
    for facet in FACETS:
        is_counted = np.logical_and.reduce([inside, *(mask for other, mask in masks.items() if other != facet)])
        facets[facet] = _count_values(table, facet, is_counted)
    return ChunkListing(
        root=root,
        path=query.path.strip("/"),
        chunks=[_to_entry(row) for row in table.take(rows[query.offset : end]).to_pylist()],
        total=len(rows),
        facets=facets,
        next_offset=end if end < len(rows) else None,
    )


def _match_place(table: "pa.Table", query: ChunkQuery) -> BoolArray:
    import pyarrow.compute as pc  # noqa: PLC0415  # 0.1 s

    mask = np.ones(len(table), bool)
    if path := query.path.strip("/"):
        paths = table["path"]
        mask &= _to_mask(pc.or_(pc.equal(paths, path), pc.starts_with(paths, f"{path}/")))
    if query.name:
        mask &= _to_mask(pc.match_substring(table["qualified_name"], query.name, ignore_case=True))
    if query.lines:
        start_line, end_line = query.lines
        mask &= (table["start_line"].to_numpy() <= end_line) & (table["end_line"].to_numpy() >= start_line)
    return mask


def _match_values(table: "pa.Table", facet: str, values: Sequence[str]) -> BoolArray:
    import pyarrow as pa  # noqa: PLC0415  # 0.1 s
    import pyarrow.compute as pc  # noqa: PLC0415

    if facet == "complexity":
        complexity = table[facet].to_numpy()
        ranges = [_COMPLEXITY_RANGES[value] for value in values]
        masks = [(complexity >= least) & (complexity <= most) for least, most in ranges]
        mask: BoolArray = np.logical_or.reduce(masks)
        return mask
    return _to_mask(pc.is_in(table[facet], value_set=pa.array(values, pa.string())))


def _count_values(table: "pa.Table", facet: str, mask: BoolArray) -> list[FacetCount]:
    """Count the values of a facet, the most frequent first; ranges of complexity in their order."""
    import pyarrow as pa  # noqa: PLC0415  # 0.1 s

    column = table[facet].filter(pa.array(mask))
    if facet == "complexity":
        complexity = column.to_numpy()
        counts = [
            FacetCount(name, int(np.count_nonzero((complexity >= least) & (complexity <= most))))
            for name, (least, most) in _COMPLEXITY_RANGES.items()
        ]
        return [count for count in counts if count.count]
    rows = column.value_counts().to_pylist()
    rows.sort(key=lambda row: (-row["counts"], row["values"]))
    return [FacetCount(row["values"], row["counts"]) for row in rows[:_MAX_FACET_VALUES]]


def _order_rows(table: "pa.Table", order: ChunkOrder) -> NDArray[np.int64]:
    import pyarrow.compute as pc  # noqa: PLC0415  # 0.1 s

    table = table.select(["path", "start_line", "end_line", "complexity"])
    keys = [("path", "ascending"), ("start_line", "ascending"), ("end_line", "ascending")]
    if order == "complexity":
        keys.insert(0, ("complexity", "descending"))
    elif order == "lines":
        lines = pc.subtract(table["end_line"], table["start_line"])
        table, keys = table.append_column("lines", lines), [("lines", "descending"), *keys]
    indices: NDArray[np.int64] = pc.sort_indices(table, sort_keys=keys).to_numpy().astype(np.int64)
    return indices


def _to_mask(column: "pa.ChunkedArray") -> BoolArray:
    mask: BoolArray = column.to_numpy()
    return mask.astype(bool, copy=False)


def _to_entry(row: dict[str, object]) -> ChunkEntry:
    values = {name: _cut(value) if isinstance(value, str) else value for name, value in row.items() if name != "id"}
    return ChunkEntry(chunk_id=row["id"], **values)  # type: ignore[arg-type]  # columns of the schema


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_TEXT_CHARS else f"{text[: _MAX_TEXT_CHARS - 1]}…"
