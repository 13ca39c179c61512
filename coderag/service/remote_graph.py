"""Code graph that is queried through the service. Imports nothing slow."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from coderag.errors import ServiceError
from coderag.schema.graph import GraphCycle, GraphNeighbour, Hotspot, OutlineEntry
from coderag.schema.graph_queries import GraphQuery, query_graph
from coderag.schema.vocabulary import CycleLevel
from coderag.service import reply_parsers

if TYPE_CHECKING:
    from coderag.app import CodeRAG

_MAX_RESULTS: Final = 100_000
"""Maximum results of a request."""

_Result = TypeVar("_Result")


class RemoteOrLocal(Protocol):
    """Call of the service with a fallback to the engine in this process."""

    def __call__(self, remote: Callable[[], _Result], local: "Callable[[CodeRAG], _Result]") -> _Result:
        """Ask."""
        ...


class RemoteGraph:
    """Code graph of a repository with the interface of `coderag.codegraph.graph.CodeGraph`.

    Args:
        ask: Calls the service, or falls back to the engine in this process.
        post: Posts a query to the service and returns the decoded reply.
    """

    def __init__(self, ask: RemoteOrLocal, post: Callable[[str, Mapping[str, object]], Any]) -> None:
        self._ask = ask
        self._post = post

    def callers(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """As `CodeGraph.callers`."""
        return self._find_neighbours("callers", name, depth, candidates=candidates)

    def callees(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """As `CodeGraph.callees`."""
        return self._find_neighbours("callees", name, depth, candidates=candidates)

    def imports(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """As `CodeGraph.imports`."""
        return self._find_neighbours("imports", name, depth, candidates=candidates)

    def importers(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """As `CodeGraph.importers`."""
        return self._find_neighbours("importers", name, depth, candidates=candidates)

    def bases(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """As `CodeGraph.bases`."""
        return self._find_neighbours("bases", name, depth, candidates=candidates)

    def subclasses(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """As `CodeGraph.subclasses`."""
        return self._find_neighbours("subclasses", name, depth, candidates=candidates)

    def implementations(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """As `CodeGraph.implementations`."""
        return self._find_neighbours("implementations", name, depth, candidates=candidates)

    def overrides(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """As `CodeGraph.overrides`."""
        return self._find_neighbours("overrides", name, depth, candidates=candidates)

    def overridden(self, name: str, depth: int = 1, *, candidates: bool = False) -> list[GraphNeighbour]:
        """As `CodeGraph.overridden`."""
        return self._find_neighbours("overridden", name, depth, candidates=candidates)

    def impact(self, name: str, depth: int = 3, *, candidates: bool = False) -> list[GraphNeighbour]:
        """As `CodeGraph.impact`."""
        return self._find_neighbours("impact", name, depth, candidates=candidates)

    def tests(self, name: str, *, candidates: bool = False) -> list[GraphNeighbour]:
        """As `CodeGraph.tests`."""
        return self._find_neighbours("tests", name, candidates=candidates)

    def references(self, name: str, *, candidates: bool = False) -> list[GraphNeighbour]:
        """As `CodeGraph.references`."""
        return self._find_neighbours("references", name, candidates=candidates)

    def documents(self, name: str, *, candidates: bool = False) -> list[GraphNeighbour]:
        """As `CodeGraph.documents`."""
        return self._find_neighbours("documents", name, candidates=candidates)

    def path(self, start: str, end: str, *, candidates: bool = False) -> list[GraphNeighbour]:
        """As `CodeGraph.path`."""
        body = {"start": start, "end": end, "candidates": candidates}
        return self._ask(
            lambda: reply_parsers.parse_neighbours(self._fetch_results("path", body)),
            lambda engine: engine.graph.path(start, end, candidates=candidates),
        )

    def cycles(self, level: CycleLevel = "files") -> list[GraphCycle]:
        """As `CodeGraph.cycles`."""
        return self._ask(
            lambda: reply_parsers.parse_cycles(self._fetch_results("cycles", {"level": level, "limit": _MAX_RESULTS})),
            lambda engine: engine.graph.cycles(level),
        )

    def hotspots(self, limit: int = 20, kind: str | None = None) -> list[Hotspot]:
        """As `CodeGraph.hotspots`."""
        body = {"limit": limit, "kind": kind}
        return self._ask(
            lambda: reply_parsers.parse_hotspots(self._fetch_results("hotspots", body)),
            lambda engine: engine.graph.hotspots(limit, kind),
        )

    def outline(self, path: str) -> list[OutlineEntry]:
        """As `CodeGraph.outline`."""
        return self._ask(
            lambda: reply_parsers.parse_outline(self._fetch_results("outline", {"path": path})),
            lambda engine: engine.graph.outline(path),
        )

    def find_file(self, name: str) -> str:
        """As `CodeGraph.find_file`."""
        return self._ask(
            lambda: str(self._post("/graph/outline", {"path": name})["path"]),
            lambda engine: engine.graph.find_file(name),
        )

    def _find_neighbours(
        self, question: GraphQuery, name: str, depth: int | None = None, *, candidates: bool
    ) -> list[GraphNeighbour]:
        depth_field = {} if depth is None else {"depth": depth}
        body = {"name": name, **depth_field, "candidates": candidates, "limit": _MAX_RESULTS, "mentions": False}
        return self._ask(
            lambda: reply_parsers.parse_neighbours(self._fetch_results(question, body)),
            lambda engine: query_graph(engine.graph, question, name, depth, candidates=candidates),
        )

    def _fetch_results(self, question: str, body: Mapping[str, object]) -> Sequence[Mapping[str, Any]]:
        """Fetch the results of a query.

        Raises:
            ServiceError: There are more results than a reply can hold.
        """
        reply = self._post(f"/graph/{question}", body)
        results: Sequence[Mapping[str, Any]] = reply["results"]
        if reply.get("total", len(results)) > len(results):
            raise ServiceError(f"there are more than {len(results):,} results")
        return results
