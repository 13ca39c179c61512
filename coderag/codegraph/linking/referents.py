"""What a name or a chain means, and how surely."""

from typing import Final, Literal, NamedTuple

TYPE_KINDS: Final = frozenset({"class", "interface", "struct", "trait", "enum", "union", "type_alias", "impl"})
"""Kinds of declarations that have instances."""

CALLABLE_KINDS: Final = frozenset({"function", "method", "macro"})
DATA_KINDS: Final = frozenset({"variable", "constant", "field"})
"""Kinds of declarations that hold a value."""

ReferentKind = Literal["definition", "instance", "elements", "tuple", "module", "package", "external", "supplier"]


class Referent(NamedTuple):
    """What an expression means.

    Attributes:
        kind: A ``definition`` itself; an ``instance`` of a type; something with ``elements``, which are instances of a type
            (``index`` is -1 if that is not known); a ``tuple`` of types, which are `name`, written in the scope `index`;
            a ``module``, that is a file; a ``package`` by its name;
            something ``external`` to the repository; a ``supplier``, a method of a standard type that gives an instance,
            or with a `name` more elements.
        file, index: Of the definition or type; ``index`` is its position in the file's definitions.
        name: Of a package, or of what is external, dotted.
        resolver: What told it: ``scope``, ``import``, ``package``, ``self``, ``inherited``, ``annotation``, ``constructor``,
            ``value``, ``return``, ``methods``, ``unique``.
        confidence: How surely, 0 to 1.
    """

    kind: ReferentKind
    file: int = -1
    index: int = -1  # type: ignore[assignment]  # nobody asks a tuple where something is in it
    name: str = ""
    resolver: str = "scope"
    confidence: float = 1.0

    def replace_resolver(self, resolver: str, factor: float = 1.0) -> "Referent":
        """Return the same, told by something else and so much less surely."""
        return Referent(self.kind, self.file, self.index, self.name, resolver, self.confidence * factor)

    def replace_kind(self, kind: ReferentKind) -> "Referent":
        """Return the instance of a type, the type of an instance and so on."""
        return Referent(kind, self.file, self.index, self.name, self.resolver, self.confidence)


RESOLVER_PRECISION: Final = {
    "scope": 0.98,
    "import": 0.97,
    "star": 0.9,
    "package": 0.93,
    "self": 0.97,
    "inherited": 0.97,
    "annotation": 0.93,
    "constructor": 0.96,
    "value": 0.93,
    "return": 0.9,
    "union": 0.75,
    "methods": 0.9,
    "unique": 0.55,
}
"""How surely each way of telling is right; what is told in several steps is as sure as their product.

Source: precision against other tools, by resolver: see ``evals/graph/README.md``."""
