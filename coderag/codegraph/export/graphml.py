"""GraphML export, for NetworkX, Gephi, yEd and igraph.

Source: http://graphml.graphdrawing.org/specification.html
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from xml.sax.saxutils import escape

import numpy as np

from coderag.codegraph.export.json_format import NODE_FIELDS
from coderag.codegraph.export.row_batches import iterate_batches
from coderag.schema.vocabulary import MIN_RESOLVED_CONFIDENCE
from coderag.stores.graph_tables import GraphTables

_TYPES: Final[Mapping[str, str]] = {
    "start_line": "int",
    "end_line": "int",
    "line": "int",
    "centrality": "double",
    "confidence": "double",
}
_NODE_KEYS: Final = tuple(name for name in NODE_FIELDS if name != "parent")
_EDGE_KEYS: Final = ("relation", "resolver", "confidence", "line")
_HEADER: Final = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"'
    ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    ' xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns'
    ' http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">\n'
)

_INVALID_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 excludes, even as references (https://www.w3.org/TR/xml/#charsets)."""


def stream_graphml(tables: GraphTables, min_confidence: float = MIN_RESOLVED_CONFIDENCE) -> Iterator[bytes]:
    """Yield the GraphML text of a graph.

    Containment is an edge of the relation ``contains`` from a parent to its child. Characters that XML cannot represent
    become U+FFFD.

    Args:
        tables: Tables of one generation.
        min_confidence: Edges below this confidence, one of several candidates each, are left out.
    """
    yield _HEADER.encode()
    for domain, names in (("node", _NODE_KEYS), ("edge", _EDGE_KEYS)):
        for name in names:
            kind = _TYPES.get(name, "string")
            yield f'<key id="{domain}_{name}" for="{domain}" attr.name="{name}" attr.type="{kind}"/>\n'.encode()
    yield b'<graph edgedefault="directed">\n'
    parents: list[int] = []
    for rows in iterate_batches(tables.nodes):
        yield "".join(_format_node(len(parents) + offset, row) for offset, row in enumerate(rows)).encode()
        parents.extend(row["parent"] for row in rows)
    lines = tables.nodes["start_line"].to_pylist()
    containment = ((parent, child) for child, parent in enumerate(parents) if parent >= 0)
    for parent, child in containment:
        row = {"relation": "contains", "resolver": "syntax", "confidence": 1.0, "line": lines[child]}
        yield _format_edge(parent, child, row).encode()
    resolved = np.flatnonzero(tables.edges["confidence"].to_numpy() >= np.float32(min_confidence))
    for rows in iterate_batches(tables.edges.take(resolved)):
        yield "".join(_format_edge(row["source"], row["target"], row) for row in rows).encode()
    yield b"</graph>\n</graphml>\n"


def _format_node(number: int, row: Mapping[str, Any]) -> str:
    return f'<node id="n{number}">{_format_data("node", _NODE_KEYS, row)}</node>\n'


def _format_edge(source: int, target: int, row: Mapping[str, Any]) -> str:
    return f'<edge source="n{source}" target="n{target}">{_format_data("edge", _EDGE_KEYS, row)}</edge>\n'


def _format_data(domain: str, names: tuple[str, ...], row: Mapping[str, Any]) -> str:
    return "".join(f'<data key="{domain}_{name}">{_escape_text(row[name])}</data>' for name in names)


def _escape_text(value: object) -> str:
    # Parsers convert a literal carriage return to a line feed.
    return escape(_INVALID_XML.sub("\ufffd", str(value)), {"\r": "&#13;"})
