"""Overviews of the code graph that were drawn before, stored beside the generation: a page shows them without the graph."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson

from coderag.schema.graph_view import GraphView, ViewEdge, ViewFilter, ViewNode

if TYPE_CHECKING:
    from coderag.stores.view_files import ViewFiles

FILE_NAME: Final = "graph-overviews"

_VERSION: Final = 1
_MAX_STORED: Final = 4  # of the newest requests


@dataclass(frozen=True, slots=True)
class OverviewRequest:
    """Request of an overview with automatically opened folders."""

    view_filter: ViewFilter
    max_nodes: int
    max_edges: int

    def to_record(self) -> dict[str, Any]:
        """Convert to values of JSON."""
        return {
            "relations": sorted(self.view_filter.relations),
            "min_confidence": self.view_filter.min_confidence,
            "has_tests": self.view_filter.has_tests,
            "has_external": self.view_filter.has_external,
            "max_nodes": self.max_nodes,
            "max_edges": self.max_edges,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "OverviewRequest":
        """Convert from values of JSON.

        Raises:
            KeyError: A value is missing.
        """
        view_filter = ViewFilter(
            frozenset(record["relations"]), record["min_confidence"], record["has_tests"], record["has_external"]
        )
        return cls(view_filter, record["max_nodes"], record["max_edges"])


class StoredOverviews:
    """Overviews of one generation. What cannot be read or written is drawn again.

    Args:
        files: Where they are stored.
    """

    def __init__(self, files: "ViewFiles") -> None:
        self._files = files

    def find(self, request: OverviewRequest) -> GraphView | None:
        """Return the stored overview of a request; None without one."""
        wanted = request.to_record()
        for entry in _unpack(self._files.read(FILE_NAME)):
            if entry["request"] == wanted:
                return _parse_view(entry["view"])
        return None

    def add(self, request: OverviewRequest, view: GraphView) -> None:
        """Store an overview; the oldest beyond the limit is removed.

        Raises:
            OSError: It cannot be written.
        """
        record = request.to_record()
        older = [entry for entry in _unpack(self._files.read(FILE_NAME)) if entry["request"] != record]
        entries = [*older, {"request": record, "view": asdict(view)}][-_MAX_STORED:]
        text = orjson.dumps({"version": _VERSION, "entries": entries}, option=orjson.OPT_SERIALIZE_NUMPY)
        self._files.write(FILE_NAME, {"json": np.frombuffer(text, np.uint8)})

    def list_previous_requests(self) -> list[OverviewRequest]:
        """List the requests that an earlier generation has overviews of."""
        requests = []
        for entry in _unpack(self._files.read_previous(FILE_NAME)):
            try:
                requests.append(OverviewRequest.from_record(entry["request"]))
            except (KeyError, TypeError):
                continue
        return requests


def _unpack(arrays: Mapping[str, Any] | None) -> Sequence[dict[str, Any]]:
    """Return the stored entries; none if they are missing, damaged or of another version."""
    try:
        stored = orjson.loads(arrays["json"].tobytes()) if arrays is not None else {}
        entries = stored["entries"] if stored.get("version") == _VERSION else []
    except (KeyError, ValueError, AttributeError):
        return []
    return [entry for entry in entries if isinstance(entry, dict) and entry.keys() >= {"request", "view"}]


def _parse_view(record: Mapping[str, Any]) -> GraphView | None:
    try:
        nodes = [ViewNode(**node) for node in record["nodes"]]
        edges = [ViewEdge(**edge) for edge in record["edges"]]
        return GraphView(
            nodes, edges, record["opened"], record["omitted_nodes"], record["omitted_edges"], record["extent"]
        )
    except (KeyError, TypeError):
        return None
