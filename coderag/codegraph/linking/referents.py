"""Referents of names and chains, with their confidence."""

from typing import Final, Literal, NamedTuple

TYPE_KINDS: Final = frozenset({"class", "interface", "struct", "trait", "enum", "union", "type_alias", "impl"})
"""Kinds of declarations that have instances."""

CALLABLE_KINDS: Final = frozenset({"function", "method", "macro"})
DATA_KINDS: Final = frozenset({"variable", "constant", "field"})
"""Kinds of declarations that hold a value."""

ReferentKind = Literal["definition", "instance", "elements", "tuple", "module", "package", "external", "supplier"]


_POSSIBLE_SHADOWING_FACTOR: Final = 0.85
"""Confidence factor of a name from an outer scope that a member of an external type may shadow."""


class Referent(NamedTuple):
    """The meaning of an expression.

    Attributes:
        kind: One of

            - ``definition``: the declaration itself;
            - ``instance``: an instance of a type;
            - ``elements``: a collection of instances of a type; ``index`` is -1 if the type is unknown;
            - ``tuple``: a tuple of types, written as ``name`` in the scope ``index``;
            - ``module``: a file;
            - ``package``: a package, by its name;
            - ``external``: outside the repository;
            - ``supplier``: a method of a standard type that returns an instance, or more elements if it has a ``name``.
        file, index: Of the definition or type; ``index`` is its position in the file's definitions.
        name: Dotted name of a package or of an external referent.
        resolver: Step that resolved it: ``scope``, ``import``, ``package``, ``self``, ``inherited``, ``annotation``,
            ``constructor``, ``value``, ``return``, ``methods``, ``unique``, ``block``, ``string``.
        confidence: From 0 to 1.
    """

    kind: ReferentKind
    file: int = -1
    index: int = -1  # type: ignore[assignment]  # hides tuple.index, which is not used
    name: str = ""
    resolver: str = "scope"
    confidence: float = 1.0

    def replace_resolver(self, resolver: str, factor: float = 1.0) -> "Referent":
        """Return a copy with another resolver and the confidence multiplied by a factor."""
        return Referent(self.kind, self.file, self.index, self.name, resolver, self.confidence * factor)

    def replace_kind(self, kind: ReferentKind) -> "Referent":
        """Return a copy of another kind, such as the instance of a type or the type of an instance."""
        return Referent(kind, self.file, self.index, self.name, self.resolver, self.confidence)


RESOLVER_PRECISION: Final = {
    "scope": 0.98,
    "import": 0.97,
    "star": 0.9,
    "package": 0.93,
    "self": 0.97,
    "block": 0.93,
    "string": 0.65,
    "inherited": 0.97,
    "annotation": 0.93,
    "constructor": 0.96,
    "value": 0.93,
    "return": 0.9,
    "union": 0.75,
    "methods": 0.9,
    "unique": 0.55,
}
"""Precision of each resolver; the confidence of a chain of steps is their product.

Source: measured against other tools, see ``evals/graph/README.md``.
"""


def lower_shadowed_confidence(external_member: Referent | None, referent: Referent) -> Referent:
    """Return a referent, with less confidence if a member of an external type may shadow it."""
    return referent.replace_resolver(referent.resolver, _POSSIBLE_SHADOWING_FACTOR) if external_member else referent
