"""A LlamaIndex vector store over a table of chunks. Imports lancedb and LlamaIndex (4 s): import it where it is used.

`llama_index.vector_stores.lancedb` 0.6 infers its schema from the first batch, leaves the metric at L2, quotes nothing
in its filters, and raises a ``Warning`` on an empty result; each method that does so is replaced here.
"""

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)
from llama_index.vector_stores.lancedb import LanceDBVectorStore

from coderag.errors import IndexModelError, StoreError
from coderag.integrations.llama_index.text_nodes import to_text_nodes
from coderag.stores import sql
from coderag.stores.arrow import LIST_COLUMNS, NUMBER_COLUMNS, STRING_COLUMNS, to_node_table
from coderag.stores.disk import map_storage_errors
from coderag.stores.snapshot import CHUNK_COLUMNS, Snapshot, build_table_path

if TYPE_CHECKING:
    import pyarrow as pa

_COLUMNS = [*CHUNK_COLUMNS, "text"]
_TEXT_COLUMNS = STRING_COLUMNS | {"id", "text"}
_MAX_IDS_PER_FILTER = 1000

_SQL_OPERATORS = {
    FilterOperator.EQ: "=",
    FilterOperator.NE: "<>",
    FilterOperator.GT: ">",
    FilterOperator.GTE: ">=",
    FilterOperator.LT: "<",
    FilterOperator.LTE: "<=",
}

FilterValue = str | int | float | list[str] | list[int] | list[float] | None


class ChunkVectorStore(LanceDBVectorStore):
    """Chunks with their vectors in LanceDB, searched by cosine.

    A chunk's metadata is a `coderag.schema.chunks.ChunkMetadata`: other keys are refused, missing ones become empty. A file is
    a document whose id is its path.

    Args:
        uri: Directory of the tables.
        table_name: Name of the table, made by the first `add`.
        version: The version of the table to read; the store is then read-only. By default the latest.
    """

    _is_read_only: bool = PrivateAttr(default=False)

    def __init__(self, uri: str | Path, table_name: str = "chunks", *, version: int | None = None) -> None:
        with map_storage_errors(f"open {uri}"), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the base class calls what lancedb has renamed
            super().__init__(uri=str(uri), table_name=table_name, mode="create")
            self._is_read_only = version is not None
            if version is not None:
                if self._table is None:
                    message = f"There is no table {table_name!r} in {uri}"
                    raise StoreError(message)
                self._table.checkout(version)

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex stores it."""
        return "ChunkVectorStore"

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot) -> Self:
        """Return a read-only store over the chunks of one generation of an index."""
        path = build_table_path(snapshot.directory, "chunks")
        return cls(path.parent, path.stem, version=snapshot.pointer.tables["chunks"])

    def add(self, nodes: Sequence[BaseNode], **_kwargs: object) -> list[str]:
        """Add chunks that have embeddings, and return their ids.

        Raises:
            IndexModelError: The embeddings have another dimension than those of the table.
            StoreError: A chunk cannot be stored, or the store is read-only.
        """
        self._require_writable()
        if not nodes:
            return []
        vectors = np.array([node.get_embedding() for node in nodes], np.float32)
        if vectors.ndim != 2:
            message = "The embeddings of the chunks differ in dimension"
            raise IndexModelError(message)
        rows = to_node_table(nodes, vectors)
        with map_storage_errors(f"write {self.uri}"):
            if self._table is None:
                self._table = self._connection.create_table(self._table_name or "chunks", rows, schema=rows.schema)
            else:
                if (dimension := self._table.schema.field("vector").type.list_size) != vectors.shape[1]:
                    message = f"Vectors of dimension {vectors.shape[1]} for a table of dimension {dimension}"
                    raise IndexModelError(message)
                self._table.add(rows)
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id: str, **_kwargs: object) -> None:
        """Delete the chunks of a file.

        Args:
            ref_doc_id: Its path.
        """
        self._delete_where(sql.build_in_filter("path", [ref_doc_id]))

    def delete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **_kwargs: object
    ) -> None:
        """Delete chunks that have one of the ids and match the filters; with neither, nothing is deleted."""
        clause = build_filter_clause(filters)
        if node_ids is None:
            if clause:
                self._delete_where(clause)
            return
        for start in range(0, len(node_ids), _MAX_IDS_PER_FILTER):
            id_clause = sql.build_in_filter("id", node_ids[start : start + _MAX_IDS_PER_FILTER])
            self._delete_where(sql.join_filters([id_clause, clause], "AND") if clause else id_clause)

    def clear(self) -> None:
        """Delete all chunks."""
        self._delete_where("true")

    def get_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **_kwargs: object
    ) -> list[BaseNode]:
        """Return the chunks that have one of the ids and match the filters."""
        where = _join_all(
            build_filter_clause(filters), None if node_ids is None else sql.build_in_filter("id", node_ids)
        )
        if self._table is None:
            return []
        with map_storage_errors(f"read {self.uri}"):
            search = self._table.search().select(_COLUMNS).where(where or "true").limit(self._table.count_rows())
            table = search.to_arrow()
        return list(to_text_nodes(table, table["text"].to_pylist()))

    def query(self, query: VectorStoreQuery, *, where: str | None = None, **_kwargs: object) -> VectorStoreQueryResult:
        """Return the chunks nearest to a vector, best first; similarities are cosines. No match is an empty result.

        Args:
            query: Vector, ``similarity_top_k``, filters, ``node_ids``, and ``doc_ids`` (paths).
            where: A filter in SQL, quoted by the caller, in addition.

        Raises:
            StoreError: The query asks for what this store does not do, or names an unknown column.
        """
        if query.mode != VectorStoreQueryMode.DEFAULT or query.query_embedding is None:
            message = f"ChunkVectorStore searches by vector only, not in mode {query.mode.value!r}"
            raise StoreError(message, hint="Use `CodeRAG.search`, which combines vectors with keywords.")
        clause = _join_all(
            build_filter_clause(query.filters),
            None if query.node_ids is None else sql.build_in_filter("id", query.node_ids),
            None if query.doc_ids is None else sql.build_in_filter("path", query.doc_ids),
            where,
        )
        vector = np.asarray(query.query_embedding, np.float32)
        if self._table is None or query.similarity_top_k < 1 or not vector.any():
            return VectorStoreQueryResult(nodes=[], similarities=[], ids=[])
        with map_storage_errors(f"search {self.uri}"):
            search = self._table.search(vector, vector_column_name="vector", query_type="vector")
            search = search.distance_type("cosine").limit(query.similarity_top_k).select([*_COLUMNS, "_distance"])
            table: pa.Table = (search.where(clause, prefilter=True) if clause else search).to_arrow()
        cosines = 1.0 - table["_distance"].to_numpy()
        compared = np.flatnonzero(~np.isnan(cosines))  # a chunk whose vector is zero is near to nothing
        table = table.take(compared)
        nodes = to_text_nodes(table, table["text"].to_pylist())
        return VectorStoreQueryResult(
            nodes=nodes, similarities=cosines[compared].tolist(), ids=[node.node_id for node in nodes]
        )

    def _delete_where(self, clause: str) -> None:
        self._require_writable()
        if self._table is not None:
            with map_storage_errors(f"write {self.uri}"):
                self._table.delete(clause)

    def _require_writable(self) -> None:
        if self._is_read_only:
            message = "This store reads one generation of an index"
            raise StoreError(message, hint="Change an index with `IndexStore.writer`.")


def build_filter_clause(filters: MetadataFilters | None) -> str | None:
    """Return LlamaIndex's filters as SQL with every value quoted; None if there are none.

    ``NOT`` holds where none of its filters does, as in LlamaIndex's own in-memory stores.

    Raises:
        StoreError: A filter names an unknown column, or compares it with what it cannot be compared with.
    """
    if filters is None or not filters.filters:
        return None
    clauses = [
        clause
        for entry in filters.filters
        if (clause := build_filter_clause(entry) if isinstance(entry, MetadataFilters) else _build_clause(entry))
        is not None
    ]
    if not clauses:
        return None
    if filters.condition == FilterCondition.NOT:
        return f"NOT ({sql.join_filters(clauses, 'OR')})"
    return sql.join_filters(clauses, "OR" if filters.condition == FilterCondition.OR else "AND")


def _build_clause(entry: MetadataFilter) -> str:
    if entry.key in LIST_COLUMNS:
        clause = _build_list_clause(entry.key, entry.operator, entry.value)
    elif entry.key in NUMBER_COLUMNS:
        # Lance would cut 2.5 to the column's type, an integer.
        clause = _build_scalar_clause(f"CAST({entry.key} AS DOUBLE)", entry.operator, entry.value, _is_number)
    elif entry.key in _TEXT_COLUMNS:
        clause = _build_text_clause(entry.key, entry.operator, entry.value)
    else:
        message = f"Chunks cannot be filtered by {entry.key!r}"
        raise StoreError(message, hint=f"Columns: {', '.join(sorted(LIST_COLUMNS | NUMBER_COLUMNS | _TEXT_COLUMNS))}.")
    if clause is None:
        message = f"Chunks cannot be filtered by {entry.key!r} {entry.operator.value} {entry.value!r}"
        raise StoreError(message)
    return clause


def _build_scalar_clause(
    key: str, operator: FilterOperator, value: FilterValue, fits: Callable[[object], bool]
) -> str | None:
    if operator == FilterOperator.IS_EMPTY:
        return f"{key} IS NULL"
    if operator in (FilterOperator.IN, FilterOperator.NIN):
        if not isinstance(value, list) or not all(map(fits, value)):
            return None
        inside = sql.build_in_filter(key, value)
        return inside if operator == FilterOperator.IN else f"NOT ({inside})"
    if operator not in _SQL_OPERATORS or value is None or isinstance(value, list) or not fits(value):
        return None
    return f"{key} {_SQL_OPERATORS[operator]} {sql.quote_literal(value)}"


def _build_text_clause(key: str, operator: FilterOperator, value: FilterValue) -> str | None:
    if operator == FilterOperator.IS_EMPTY:
        return f"{key} IS NULL OR {key} = ''"
    if operator in (FilterOperator.TEXT_MATCH, FilterOperator.TEXT_MATCH_INSENSITIVE, FilterOperator.CONTAINS):
        if not isinstance(value, str):
            return None
        return sql.build_contains_filter(key, value, ignore_case=operator == FilterOperator.TEXT_MATCH_INSENSITIVE)
    return _build_scalar_clause(key, operator, value, _is_text)


def _build_list_clause(key: str, operator: FilterOperator, value: FilterValue) -> str | None:
    if operator == FilterOperator.IS_EMPTY:
        return f"{key} IS NULL OR array_length({key}) IS NULL OR array_length({key}) = 0"
    wanted_values = value if isinstance(value, list) else [value]
    if not all(map(_is_text, wanted_values)):
        return None
    conditions = [f"array_has({key}, {sql.quote_literal(str(value_wanted))})" for value_wanted in wanted_values]
    if operator in (FilterOperator.ANY, FilterOperator.IN):
        return sql.join_filters(conditions, "OR") or "false"
    if operator == FilterOperator.NIN:
        return f"NOT ({sql.join_filters(conditions, 'OR') or 'false'})"
    if operator == FilterOperator.ALL or (operator == FilterOperator.CONTAINS and len(conditions) == 1):
        return sql.join_filters(conditions, "AND") or "true"
    return None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _join_all(*clauses: str | None) -> str | None:
    """Return what all of the given filters require; None if there are none."""
    present = [clause for clause in clauses if clause]
    return sql.join_filters(present, "AND") if present else None
