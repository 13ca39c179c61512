"""Declarations, and calls between them, as answers name them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from coderag.schema.vocabulary import EdgeRelation

CALLABLE: Final = frozenset({"function", "method", "macro"})
TYPES: Final = frozenset({"class", "interface", "struct", "trait", "enum", "union", "type_alias"})
CALLS: Final[Sequence[EdgeRelation]] = ("calls", "instantiates")
FILE: Final = "file"

MAX_UNSURE_CONFIDENCE: Final = 0.6
"""Confidence up to which a call may run, or an import mean, another declaration of the same name."""


@dataclass(frozen=True, slots=True)
class Declared:
    """Declaration or file of the code graph.

    Attributes:
        node: Number in the graph.
        name: Qualified name.
    """

    node: int
    path: str
    start_line: int
    end_line: int
    name: str
    kind: str
    role: str

    @property
    def key(self) -> str:
        """Unambiguous name."""
        return self.path if self.kind == FILE else f"{self.path}::{self.name}"

    @property
    def length(self) -> int:
        """Number of lines."""
        return self.end_line - self.start_line + 1


@dataclass(frozen=True, slots=True)
class Call:
    """Resolved call or instantiation.

    Attributes:
        source: Caller.
        target: Callee.
        path: File of the call.
        line: Line of the call.
        confidence: 0 to 1.
    """

    source: Declared
    target: Declared
    path: str
    line: int
    confidence: float
