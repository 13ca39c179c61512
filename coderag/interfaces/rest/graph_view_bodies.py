"""Models of request bodies for pictures of the code graph."""

from typing import Annotated

from pydantic import Field

from coderag.codegraph.view.pictures import Step
from coderag.interfaces.rest.bodies import MAX_PATH_CHARS, NO_NUL_PATTERN, RequestBody, RootBody
from coderag.schema.graph_view import (
    DEFAULT_VIEW_EDGES,
    DEFAULT_VIEW_NODES,
    MAX_VIEW_EDGES,
    MAX_VIEW_NODES,
    VIEW_RELATIONS,
    Arrangement,
    ViewDirection,
    ViewFilter,
    ViewRelation,
)
from coderag.schema.vocabulary import MIN_RESOLVED_CONFIDENCE

_MAX_OPENED = 500
_MAX_STEPS = 100
_MAX_NEIGHBOURS = 500
_MAX_LISTED = 200  # of each relation and direction, so that a reply stays below 2 MB
_MAX_MERMAID_NODES = 1_000
_MAX_MERMAID_EDGES = 3_000

NodeKey = Annotated[
    str,
    Field(
        min_length=1,
        max_length=2 * MAX_PATH_CHARS,
        pattern=NO_NUL_PATTERN,
        description="Key of a node: `folder/`, a path, `path::name`, or `::package`; `/` is the repository.",
    ),
]
NodeName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=2 * MAX_PATH_CHARS,
        pattern=NO_NUL_PATTERN,
        description="Key of a node, or a name as for the other queries of the code graph.",
    ),
]
Label = Annotated[str, Field(max_length=1_000)]


class ViewBody(RootBody):
    """Filter and limits of a picture."""

    relations: list[ViewRelation] = Field(
        list(VIEW_RELATIONS), max_length=len(VIEW_RELATIONS), description="Relations to include."
    )
    min_confidence: float = Field(
        MIN_RESOLVED_CONFIDENCE, ge=0, le=1, description="Edges below this confidence are left out."
    )
    tests: bool = Field(True, description="Whether to include test code.")
    external: bool = Field(True, description="Whether to include packages outside the repository.")

    def to_filter(self) -> ViewFilter:
        """Convert to the filter of the engine."""
        return ViewFilter(frozenset(self.relations), self.min_confidence, self.tests, self.external)


class LimitedViewBody(ViewBody):
    """Filter and limits of a picture with nodes and edges."""

    max_nodes: int = Field(DEFAULT_VIEW_NODES, ge=1, le=MAX_VIEW_NODES, description="Maximum number of nodes.")
    max_edges: int = Field(DEFAULT_VIEW_EDGES, ge=0, le=MAX_VIEW_EDGES, description="Maximum number of edges.")


class OverviewBody(LimitedViewBody):
    """An overview of the repository."""

    opened: list[NodeKey] | None = Field(
        None,
        max_length=_MAX_OPENED,
        description="Folders, files and declarations whose content is drawn; by default the largest folders.",
    )


class StepBody(RequestBody):
    """A node of a neighbourhood whose neighbours are drawn."""

    key: NodeKey
    direction: ViewDirection = Field("both", description="Direction of the edges, seen from the node.")
    relations: list[ViewRelation] | None = Field(
        None, max_length=len(VIEW_RELATIONS), description="Relations to follow; by default those of the picture."
    )
    limit: int = Field(12, ge=1, le=_MAX_NEIGHBOURS, description="Maximum number of neighbours in each direction.")

    def to_step(self) -> Step:
        """Convert to the step of the engine."""
        return Step(self.key, self.direction, self.relations, self.limit)


class NeighbourhoodBody(LimitedViewBody):
    """The neighbourhood of a node."""

    name: NodeName
    steps: list[StepBody] = Field(
        [], max_length=_MAX_STEPS, description="Nodes whose neighbours are drawn, in order; by default the node itself."
    )


class ArrangedNode(RequestBody):
    """A node to draw."""

    key: NodeKey
    distance: int = Field(0, ge=0, le=1_000, description="Steps from the subject, for rings.")


class ArrangementBody(LimitedViewBody):
    """A picture of given nodes."""

    nodes: list[ArrangedNode] = Field(
        max_length=MAX_VIEW_NODES, description="The nodes, in order; those that are not in the graph are left out."
    )
    arrangement: Arrangement = Field("rings", description="`line` for a path, `ring` for a cycle, `rings` by distance.")


class NodeBody(ViewBody):
    """A node to describe."""

    name: NodeName
    limit: int = Field(12, ge=0, le=_MAX_LISTED, description="Maximum number of neighbours by relation.")


class SuggestionsBody(RootBody):
    """The part of a name that was typed."""

    text: str = Field(max_length=1_000, pattern=NO_NUL_PATTERN, description="Part of a name or path.")
    limit: int = Field(12, ge=1, le=100, description="Maximum number of suggestions.")


class MermaidNode(RequestBody):
    """A box of a diagram."""

    lines: list[Label] = Field(min_length=1, max_length=5, description="Lines of its label.")
    is_marked: bool = Field(False, description="Whether it has a thick border.")


class MermaidEdge(RequestBody):
    """An arrow of a diagram."""

    source: int = Field(ge=0, lt=_MAX_MERMAID_NODES, description="Position of a node.")
    target: int = Field(ge=0, lt=_MAX_MERMAID_NODES, description="Position of a node.")
    label: Label = ""
    is_resolved: bool = Field(True, description="False for a dashed arrow.")


class MermaidBody(RequestBody):
    """A picture to write as Mermaid."""

    nodes: list[MermaidNode] = Field(max_length=_MAX_MERMAID_NODES, description="The boxes.")
    edges: list[MermaidEdge] = Field(max_length=_MAX_MERMAID_EDGES, description="The arrows.")
