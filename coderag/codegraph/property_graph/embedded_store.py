"""Embedded property graph store: LadybugDB under LlamaIndex's interface.

Source: https://docs.ladybugdb.com/cypher/
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import ladybug
from llama_index.core.graph_stores.types import EntityNode, LabelledNode, PropertyGraphStore, Relation, Triplet
from llama_index.core.vector_stores.types import VectorStoreQuery

from coderag.codegraph.property_graph.labelled_graph import LabelledGraph
from coderag.codegraph.property_graph.schema import EDGE_PROPERTIES, LABELS, NODE_PROPERTIES, RELATIONSHIP_TYPES
from coderag.errors import InvalidQueryError, StoreError

_BUFFER_BYTES: Final = 2**30
_MAX_DATABASE_BYTES: Final = 2**36
"""Reserved address space; some containers refuse LadybugDB's default of 8 TiB."""

_INTERNAL_FIELDS: Final = frozenset({"_ID", "_LABEL", "_SRC", "_DST"})


class EmbeddedPropertyGraphStore(PropertyGraphStore):
    """An embedded Cypher database with the schema of `coderag.codegraph.property_graph.schema`.

    Labels, types and properties are fixed. An ``EntityNode`` has the node's id as its name and all other values as properties.

    Args:
        path: Database file, created if missing; None keeps the database in memory.

    Raises:
        StoreError: The database cannot be opened.
    """

    supports_structured_queries = True
    supports_vector_queries = False

    def __init__(self, path: Path | None = None) -> None:
        location = ":memory:" if path is None else str(path)
        try:
            self._database = ladybug.Database(location, buffer_pool_size=_BUFFER_BYTES, max_db_size=_MAX_DATABASE_BYTES)
            self._connection = ladybug.Connection(self._database)
        except RuntimeError as error:
            raise StoreError(f"Cannot open the property graph {location}: {error}") from error
        self._pairs: set[tuple[str, str, str]] = set()
        self._create_tables()

    @property
    def client(self) -> ladybug.Connection:
        """Connection to the database."""
        return self._connection

    def close(self) -> None:
        """Close the database and release its file."""
        self._connection.close()
        self._database.close()

    def load(self, graph: LabelledGraph) -> None:
        """Load a graph into an empty database; ten times as fast as inserting nodes."""
        for nodes in graph.group_nodes():
            rows = nodes.rows.select(list(NODE_PROPERTIES))
            self.structured_query(f"COPY {nodes.label} FROM $rows", {"rows": rows})
        for edges in graph.group_edges():
            self._allow(edges.type, edges.source_label, edges.target_label)
            rows = edges.rows.select(["source", "target", *EDGE_PROPERTIES])
            ends = f"from='{edges.source_label}', to='{edges.target_label}'"
            self.structured_query(f"COPY {edges.type} FROM $rows ({ends})", {"rows": rows})

    def structured_query(self, query: str, param_map: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Return the rows of a Cypher query, each a dictionary by column.

        Raises:
            InvalidQueryError: The query is invalid or fails.
        """
        with _map_query_errors(query):
            results = self._connection.execute(query, dict(param_map or {}))
            result = results[-1] if isinstance(results, list) else results
            try:
                names = result.get_column_names()
                return [dict(zip(names, map(_to_plain, row), strict=True)) for row in result.get_all()]
            finally:
                result.close()

    def get(self, properties: Mapping[str, Any] | None = None, ids: Sequence[str] | None = None) -> list[LabelledNode]:
        """Return the nodes that have all given properties and one of the given ids; all nodes without arguments."""
        where, parameters = _build_conditions("n", properties, ids)
        return [
            _to_entity(row["n"])
            for row in self._query_rows(f"MATCH (n) {_format_where(where)} RETURN n ORDER BY n.id", parameters)
        ]

    def get_triplets(
        self,
        entity_names: Sequence[str] | None = None,
        relation_names: Sequence[str] | None = None,
        properties: Mapping[str, Any] | None = None,
        ids: Sequence[str] | None = None,
    ) -> list[Triplet]:
        """Return the relationships of some nodes, in either direction, and of some types; none without arguments.

        Args:
            entity_names: Ids of nodes: a node's name is its id.
            relation_names: Types of relationships.
            properties: Properties that the node at one end must all have.
            ids: Further ids of nodes.
        """
        if not (entity_names or relation_names or properties or ids):
            return []
        node_ids = [*(entity_names or ()), *(ids or ())]
        source, parameters = _build_conditions("a", properties, node_ids)
        target, _ = _build_conditions("b", properties, node_ids)
        where = [f"({' AND '.join(source)} OR {' AND '.join(target)})"] if source else []
        if relation_names:
            where.append("label(r) IN $types")
            parameters["types"] = list(relation_names)
        query = f"MATCH (a)-[r]->(b) {_format_where(where)} RETURN a, r, b ORDER BY a.id, label(r), b.id, r.line"
        return [_to_triplet(row["a"], row["r"], row["b"]) for row in self._query_rows(query, parameters)]

    def get_rel_map(
        self,
        graph_nodes: Sequence[LabelledNode],
        depth: int = 2,
        limit: int = 30,
        ignore_rels: Sequence[str] | None = None,
    ) -> list[Triplet]:
        """Return the relationships within some steps of nodes, in either direction, nearest first."""
        ignored = list(ignore_rels or ())
        frontier, seen = {node.id for node in graph_nodes}, set[str]()
        triplets: dict[tuple[str, str, str, int], Triplet] = {}
        for _step in range(depth):
            query = (
                "MATCH (a)-[r]->(b) WHERE (a.id IN $ids OR b.id IN $ids) AND NOT label(r) IN $ignored "
                "RETURN a, r, b ORDER BY a.id, label(r), b.id, r.line LIMIT $limit"
            )
            for row in self._query_rows(query, {"ids": sorted(frontier), "ignored": ignored, "limit": limit}):
                triplet = _to_triplet(row["a"], row["r"], row["b"])
                line = triplet[1].properties.get("line", 0)
                triplets.setdefault((triplet[0].id, triplet[1].label, triplet[2].id, line), triplet)
            seen |= frontier
            frontier = {node.id for source, _, target in triplets.values() for node in (source, target)} - seen
            if not frontier or len(triplets) >= limit:
                break
        return list(triplets.values())[:limit]

    def upsert_nodes(self, nodes: Sequence[LabelledNode]) -> None:
        """Insert nodes, or update those with the same id.

        Raises:
            InvalidQueryError: A label or property is not in the schema.
        """
        for node in nodes:
            _require(node.label, LABELS, "label")
            properties = {name: value for name, value in node.properties.items() if name != "id"}
            self._write(f"MERGE (n:{node.label} {{id: $id}})", "n", properties, NODE_PROPERTIES, {"id": node.id})

    def upsert_relations(self, relations: Sequence[Relation]) -> None:
        """Insert relationships, or update those of the same type between the same nodes.

        Raises:
            InvalidQueryError: A type or property is not in the schema, or a node does not exist.
        """
        for relation in relations:
            _require(relation.label, RELATIONSHIP_TYPES, "type of relationship")
            ends = {"source": relation.source_id, "target": relation.target_id}
            labels = {node.name: node.label for node in self._find_entities(list(ends.values()))}
            for end in ends.values():
                if end not in labels:
                    raise InvalidQueryError(f"no node has the id {end!r}", hint="Add the nodes before the relations.")
            source, target = labels[ends["source"]], labels[ends["target"]]
            self._allow(relation.label, source, target)
            match = (
                f"MATCH (a:{source} {{id: $source}}), (b:{target} {{id: $target}}) MERGE (a)-[r:{relation.label}]->(b)"
            )
            self._write(match, "r", relation.properties, EDGE_PROPERTIES, ends)

    def delete(
        self,
        entity_names: Sequence[str] | None = None,
        relation_names: Sequence[str] | None = None,
        properties: Mapping[str, Any] | None = None,
        ids: Sequence[str] | None = None,
    ) -> None:
        """Delete nodes with their relationships by id or property, and relationships by type; nothing without arguments."""
        for names in filter(None, (entity_names, ids)):
            self.structured_query("MATCH (n) WHERE n.id IN $ids DETACH DELETE n", {"ids": list(names)})
        for relation in relation_names or ():
            _require(relation, RELATIONSHIP_TYPES, "type of relationship")
            self.structured_query(f"MATCH ()-[r:{relation}]->() DELETE r")
        if properties:
            where, parameters = _build_conditions("n", properties, None)
            self.structured_query(f"MATCH (n) {_format_where(where)} DETACH DELETE n", parameters)

    def vector_query(self, query: VectorStoreQuery, **kwargs: Any) -> tuple[list[LabelledNode], list[float]]:  # noqa: ANN401 - base class signature
        """Raise: the graph has no vectors.

        Raises:
            NotImplementedError: Always; `supports_vector_queries` is false.
        """
        raise NotImplementedError("the property graph has no vectors; search with CodeRAG.search")

    def get_schema(self, refresh: bool = False) -> str:  # noqa: ARG002 - base class signature; never outdated
        """Return labels, properties and relationships as text, for a language model that writes Cypher."""
        nodes = "\n".join(f"(:{label} {{{_format_properties(NODE_PROPERTIES)}}})" for label in LABELS)
        edges = "\n".join(
            f"(:{a})-[:{type_} {{{_format_properties(EDGE_PROPERTIES)}}}]->(:{b})"
            for type_, a, b in sorted(self._pairs)
        )
        return f"Nodes:\n{nodes}\nRelationships:\n{edges}"

    def _create_tables(self) -> None:
        columns = ", ".join(f"{name} {kind}" for name, kind in NODE_PROPERTIES.items())
        for label in LABELS:
            self.structured_query(f"CREATE NODE TABLE IF NOT EXISTS {label}({columns}, PRIMARY KEY (id))")
        columns = ", ".join(f"{name} {kind}" for name, kind in EDGE_PROPERTIES.items())
        for type_ in RELATIONSHIP_TYPES:  # a relationship table needs a pair of labels; most graphs have this one
            self.structured_query(f"CREATE REL TABLE IF NOT EXISTS {type_}(FROM File TO File, {columns})")
            pairs = self._query_rows(f"CALL show_connection('{type_}') RETURN *", {})
            self._pairs |= {(type_, row["source table name"], row["destination table name"]) for row in pairs}

    def _allow(self, type_: str, source: str, target: str) -> None:
        """Allow a type of relationship between two labels."""
        if (type_, source, target) not in self._pairs:
            self.structured_query(f"ALTER TABLE {type_} ADD FROM {source} TO {target}")
            self._pairs.add((type_, source, target))

    def _find_entities(self, ids: Sequence[str]) -> list[EntityNode]:
        return [
            _to_entity(row["n"])
            for row in self._query_rows("MATCH (n) WHERE n.id IN $ids RETURN n", {"ids": list(ids)})
        ]

    def _query_rows(self, query: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
        return self.structured_query(query, parameters)

    def _write(
        self,
        statement: str,
        name: str,
        properties: Mapping[str, Any],
        allowed: Mapping[str, str],
        parameters: Mapping[str, Any],
    ) -> None:
        for property_name in properties:
            _require(property_name, tuple(allowed), "property")
        assigned = ", ".join(f"{name}.{property_name} = $p_{property_name}" for property_name in properties)
        values = {f"p_{property_name}": value for property_name, value in properties.items()}
        self.structured_query(f"{statement} SET {assigned}" if assigned else statement, {**parameters, **values})


@contextmanager
def _map_query_errors(query: str) -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise InvalidQueryError(f"Cannot run the query {query[:200]!r}: {error}") from error


def _require(name: str, allowed: Sequence[str], subject: str) -> None:
    """Reject a name that is not in the schema before it becomes part of a query's text."""
    if name not in allowed:
        raise InvalidQueryError(
            f"the property graph has no {subject} {name!r}", hint=f"Use one of {', '.join(allowed)}."
        )


def _build_conditions(
    name: str, properties: Mapping[str, Any] | None, ids: Sequence[str] | None
) -> tuple[list[str], dict[str, Any]]:
    for property_name in properties or ():
        _require(property_name, tuple(NODE_PROPERTIES), "property")
    where = [f"{name}.{property_name} = $p_{property_name}" for property_name in properties or ()]
    parameters: dict[str, Any] = {f"p_{property_name}": value for property_name, value in (properties or {}).items()}
    if ids:
        where.append(f"{name}.id IN $ids")
        parameters["ids"] = list(ids)
    return where, parameters


def _format_where(conditions: Sequence[str]) -> str:
    return f"WHERE {' AND '.join(conditions)}" if conditions else ""


def _to_plain(value: Any) -> Any:  # noqa: ANN401 - whatever a query returns
    """Return a node or relationship as its properties and label, without internal fields."""
    if isinstance(value, dict) and "_LABEL" in value:
        properties = {
            name: _to_plain(item) for name, item in value.items() if name not in _INTERNAL_FIELDS and item is not None
        }
        return {"_label": value["_LABEL"], **properties}
    if isinstance(value, list):
        return [_to_plain(item) for item in value]
    return value


def _to_entity(node: Mapping[str, Any]) -> EntityNode:
    properties = {name: value for name, value in node.items() if name not in {"_label", "id"}}
    return EntityNode(name=node["id"], label=node["_label"], properties=properties)


def _to_triplet(source: Mapping[str, Any], relation: Mapping[str, Any], target: Mapping[str, Any]) -> Triplet:
    properties = {name: value for name, value in relation.items() if name != "_label"}
    edge = Relation(label=relation["_label"], source_id=source["id"], target_id=target["id"], properties=properties)
    return _to_entity(source), edge, _to_entity(target)


def _format_properties(properties: Mapping[str, str]) -> str:
    return ", ".join(f"{name}: {kind}" for name, kind in properties.items())
