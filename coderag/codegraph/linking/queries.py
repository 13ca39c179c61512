"""Queries that the rules of a language may ask of the resolver."""

from collections.abc import Callable, Hashable, Sequence
from typing import Protocol

from coderag.codegraph.linking.referents import Referent
from coderag.schema.facts import Binding


class ResolutionQueries(Protocol):
    """Name resolution as the rules of a language need it: members, bases, values and exports."""

    def is_type(self, referent: Referent) -> bool:
        """Return whether a referent is a type itself."""
        ...

    def find_scope_declarations(self, file: int, scope: int, name: str, owner: str = "") -> Sequence[int]:
        """Return the definitions of a name in a scope; of overloads, those that accept the arguments in the name."""
        ...

    def resolve_export(self, file: int, name: str) -> Referent | None:
        """Return the referent that a module declares, imports or re-exports by a name."""
        ...

    def find_ancestors(self, file: int, index: int) -> Sequence[Referent]:
        """Return a type and its ancestors, nearest first; external ones are included, but not theirs."""
        ...

    def resolve_bases(self, file: int, index: int) -> Sequence[tuple[Referent, int, str]]:
        """Return the direct bases of a type, each with its line and its relation as written."""
        ...

    def find_member(self, owner: Referent, name: str) -> Referent | None:
        """Return the referent of a member; None if it is unknown."""
        ...

    def find_own_member(self, file: int, index: int, name: str) -> Referent | None:
        """Return a member that a type itself declares."""
        ...

    def infer_value(self, referent: Referent) -> Referent | None:
        """Return the value of a variable, field or property; any other referent is returned as it is."""
        ...

    def infer_first_binding(self, file: int, bindings: Sequence[Binding]) -> Referent | None:
        """Return the value of a name with several bindings: the first known one, annotations before values."""
        ...

    def resolve_type_text(self, file: int, scope: int, text: str, line: int) -> Referent | None:
        """Return an instance of a type as written; of a union the first type in the repository, with less confidence."""
        ...

    def memoize(
        self, key: Hashable, compute: Callable[[], Referent | None], *, is_local: bool = False
    ) -> Referent | None:
        """Return the memoised result of a query, or compute and memoise it."""
        ...
