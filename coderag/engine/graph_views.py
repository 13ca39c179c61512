"""Pictures of the code graph for the web interface."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final, get_args

from coderag.codegraph.graph import CodeGraph
from coderag.codegraph.view.layout_cache import LayoutCache
from coderag.codegraph.view.neighbours import NeighbourFinder
from coderag.codegraph.view.overview import OverviewBuilder
from coderag.codegraph.view.pictures import PictureBuilder, Step
from coderag.codegraph.view.suggestions import suggest_nodes
from coderag.codegraph.view.units import Unit, Units
from coderag.errors import UnknownNameError
from coderag.schema.graph_view import (
    ALL_EDGES,
    DEFAULT_VIEW_EDGES,
    DEFAULT_VIEW_NODES,
    MAX_VIEW_NODES,
    Arrangement,
    GraphView,
    NodeDetails,
    ViewFilter,
    ViewNode,
)
from coderag.schema.vocabulary import Kind
from coderag.stores.graph_tables import FILE_KIND

if TYPE_CHECKING:
    from coderag.stores.view_files import ViewFiles

_DECLARATION_KINDS: Final[frozenset[str]] = frozenset(get_args(Kind))


class GraphViews:
    """Pictures of one state of the code graph.

    Args:
        graph: The graph.
        files: Where layouts are stored.
    """

    def __init__(self, graph: CodeGraph, files: "ViewFiles | None" = None) -> None:
        self._graph = graph
        self._files = files
        self._units = Units(graph.symbols)

    def build_overview(
        self,
        opened: Collection[str] | None = None,
        view_filter: ViewFilter = ALL_EDGES,
        *,
        max_nodes: int = DEFAULT_VIEW_NODES,
        max_edges: int = DEFAULT_VIEW_EDGES,
    ) -> GraphView:
        """Build an overview: folders, and inside the opened ones their files, declarations inside opened files.

        Args:
            opened: Keys of the opened nodes; None opens the largest folders.
            view_filter: Filter of edges and nodes.
            max_nodes: Maximum number of nodes.
            max_edges: Maximum number of edges.
        """
        builder = OverviewBuilder(self._units, LayoutCache(self._files), view_filter)
        return builder.build(opened, max_nodes, max_edges)

    def lay_out_known(self) -> None:
        """Lay out the containers that were laid out for an earlier generation, and store the layouts."""
        layouts = LayoutCache(self._files)
        OverviewBuilder(self._units, layouts, ALL_EDGES).build(layouts.list_keys(), MAX_VIEW_NODES, 0)

    def build_neighbourhood(
        self,
        name: str,
        steps: Sequence[Step] = (),
        view_filter: ViewFilter = ALL_EDGES,
        *,
        max_nodes: int = DEFAULT_VIEW_NODES,
        max_edges: int = DEFAULT_VIEW_EDGES,
    ) -> GraphView:
        """Build the neighbourhood of a node.

        Args:
            name: Key of the subject, or a name as for `CodeGraph`.
            steps: Nodes whose neighbours are drawn; by default the subject.
            view_filter: Filter of edges and nodes.
            max_nodes: Maximum number of nodes.
            max_edges: Maximum number of edges.

        Raises:
            UnknownNameError: Nothing has the name, or a step's key.
            AmbiguousNameError: Several declarations have the name.
        """
        subject = self._resolve(name)
        builder = PictureBuilder(self._units, view_filter, max_nodes, max_edges)
        return builder.build_neighbourhood(subject, steps or [Step(subject.key)])

    def arrange(
        self,
        distances: Mapping[str, int],
        arrangement: Arrangement,
        view_filter: ViewFilter = ALL_EDGES,
        *,
        max_nodes: int = DEFAULT_VIEW_NODES,
        max_edges: int = DEFAULT_VIEW_EDGES,
    ) -> GraphView:
        """Build a picture of given nodes; arguments as of `PictureBuilder.build_arrangement`."""
        builder = PictureBuilder(self._units, view_filter, max_nodes, max_edges)
        return builder.build_arrangement(distances, arrangement)

    def describe(self, name: str, view_filter: ViewFilter = ALL_EDGES, *, limit: int = 12) -> NodeDetails:
        """Describe a node with its neighbours by relation. Raises as `build_neighbourhood`."""
        return NeighbourFinder(self._units, view_filter).describe(self._resolve(name), limit)

    def suggest(self, text: str, *, limit: int = 12) -> list[ViewNode]:
        """Suggest nodes whose name contains a text."""
        return suggest_nodes(self._units, text, limit)

    def _resolve(self, name: str) -> Unit:
        try:
            return self._units.find(name)
        except UnknownNameError:
            if folder := self._units.find_folder(name):
                return folder
            node = self._graph.symbol_resolver.resolve(name, _DECLARATION_KINDS, {FILE_KIND})[0]
            return self._units.make_declaration(node)
