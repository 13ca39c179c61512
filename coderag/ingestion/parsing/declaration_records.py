"""Declarations of a source file and their kinds."""

from dataclasses import dataclass, field
from typing import Final

CLASS_LIKE: Final = frozenset({"class", "interface", "struct", "trait", "enum", "union", "impl"})
"""Kinds whose functions are methods."""


CONTAINERS: Final = CLASS_LIKE | {"namespace", "key", "resource", "rule"}
"""Kinds whose members are chunks of their own."""


CALLABLE: Final = frozenset({"function", "method"})


DATA: Final = frozenset({"constant", "variable", "field"})


@dataclass(slots=True, eq=False)
class Declaration:
    """A declaration in a file; offsets are bytes.

    Attributes:
        start: Where its own node begins; ``outer_start`` includes decorators, ``export`` and the like.
        body: Where its body begins and ends; None without one.
        name_start: Offset of its first name.
        docstring_span: Start and end of its docstring; None without one.
        last_clause_start: Where the last of its clauses begins; None if it cannot have several.
        qualified_name: Its names from the outermost declaration of the file inwards.
    """

    kind: str
    start: int
    end: int
    names: list[str]
    name_start: int
    body: tuple[int, int] | None
    receiver: str = ""
    outer_start: int = 0
    bases: list[str] = field(default_factory=list)
    docstring_span: tuple[int, int] | None = None
    last_clause_start: int | None = None
    parent: "Declaration | None" = None
    children: list["Declaration"] = field(default_factory=list)
    scope: str = ""
    qualified_name: str = ""

    @property
    def name(self) -> str:
        """The first of its names."""
        return self.names[0]
