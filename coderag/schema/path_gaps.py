"""Gap of a path that no known calls close: where calls end on one side, and begin on the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from coderag.schema.graph import GraphNeighbour
from coderag.schema.mentions import NameMention

HandoffKind = Literal[
    "queue or channel", "event", "task or timer", "callback", "value", "dynamic call", "network", "field"
]
"""Means by which control or data goes on without a known call; ``value``: the code names the end without calling it;
``field``: it sets what the other side reads."""


@dataclass(frozen=True, slots=True)
class Handoff:
    """Line from which control or data may go on without a known call.

    Attributes:
        symbol: Qualified name of the declaration that has the line.
        depth: Known calls from the start to that declaration.
        shared: Name on the line that the other side has as well; empty if none is known.
        other_path, other_line: Where the other side has it.
    """

    path: str
    line: int
    text: str
    symbol: str
    kind: HandoffKind
    depth: int
    shared: str = ""
    other_path: str = ""
    other_line: int = 0


@dataclass(frozen=True, slots=True)
class PathGap:
    """Evidence on both sides of a gap between two declarations.

    Attributes:
        reached_count: Number of declarations that known calls lead to from the start.
        last: The last of those, the farthest first.
        handoffs: Lines where control or data may leave the known calls, those with a shared name first.
        callers: Known callers of the end, the nearest first, tests last.
        mentions: Lines that mention the end, where it has no known callers.
        backwards: Steps of a known path from the end to the start.
    """

    start: str
    end: str
    reached_count: int
    last: Sequence[GraphNeighbour]
    handoffs: Sequence[Handoff]
    callers: Sequence[GraphNeighbour]
    mentions: Sequence[NameMention]
    backwards: Sequence[GraphNeighbour] = ()
