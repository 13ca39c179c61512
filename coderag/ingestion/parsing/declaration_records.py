"""Declarations of a source file and their kinds."""

from dataclasses import dataclass, field
from typing import Final

CLASS_LIKE: Final = frozenset({"class", "interface", "struct", "trait", "enum", "union", "impl"})
"""Kinds whose functions are methods."""


TYPES: Final = CLASS_LIKE | {"namespace"}
"""Kinds with members."""


CONTAINERS: Final = CLASS_LIKE | {"namespace", "key", "resource", "rule"}
"""Kinds whose members are separate chunks."""


CALLABLE: Final = frozenset({"function", "method"})


DATA: Final = frozenset({"constant", "variable", "field"})


@dataclass(slots=True, eq=False)
class Declaration:
    """A declaration in a file; offsets are bytes.

    Attributes:
        start: Start of its node; ``outer_start`` includes decorators, ``export`` and the like.
        body: Start and end of its body; None without one.
        name_start: Offset of its first name.
        docstring_span: Start and end of its docstring; None without one.
        last_clause_start: Start of its last clause; None if it cannot have several.
        aliases: Further names of the same function or type in its scope.
        is_anonymous: Whether its names are those of the supertypes of an anonymous class.
        is_titled: Whether it is a test case or a group of them, which a text names: nothing refers to it by that.
        inner_name: Name that only its own body sees, if that differs from the others.
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
    aliases: list[str] = field(default_factory=list)
    inner_name: str = ""
    is_anonymous: bool = False
    is_titled: bool = False

    @property
    def name(self) -> str:
        """First of its names."""
        return self.names[0]

    @property
    def has_cases(self) -> bool:
        """True if it is a test case or a group with test cases in it."""
        return self.is_titled and any(child.is_titled for child in self.children)

    @property
    def has_inner_name(self) -> bool:
        """True if the body sees the declaration under a name of its own."""
        return self.inner_name not in ("", *self.names, *self.aliases)
