"""Protocol of name resolution: what its parts ask of one another through the resolver.

The parts (scopes, hierarchy, members, type inference, chains) depend on this protocol and never on one another, and
`coderag.codegraph.linking.resolver` depends on them all.
"""

from collections.abc import Sequence
from typing import Protocol

from coderag.codegraph.linking.local_names import LocalNames
from coderag.codegraph.linking.program import MODULE, Program
from coderag.codegraph.linking.queries import ResolutionQueries
from coderag.codegraph.linking.referents import Referent
from coderag.codegraph.linking.rules.base import LanguageRules
from coderag.schema.facts import Binding, Definition, Reference


class Resolution(ResolutionQueries, Protocol):
    """All queries of name resolution.

    Attributes:
        program: All files.
        local_names: Of the file that is being linked.
    """

    program: Program
    local_names: LocalNames

    @property
    def is_evaluating(self) -> bool:
        """True while a query is being evaluated."""
        ...

    def get_rules(self, file: int, /) -> LanguageRules:
        """Return the rules of a file's language."""
        ...

    def get_definition(self, referent: Referent) -> Definition:
        """Return the definition of a referent, or of its type for an instance."""
        ...

    def resolve_name(self, file: int, scope: int, name: str, line: int) -> Referent | None:
        """Return the referent of a bare name in a scope."""
        ...

    def find_receiver(self, file: int, scope: int, line: int) -> Referent | None:
        """Return the receiver of the innermost closure or extension function around a line; None if it is unknown."""
        ...

    def resolve_global_name(self, file: int, name: str, line: int, *, values: bool) -> Referent | None:
        """Return the referent of a name at the top level of a file."""
        ...

    def resolve_in_scope(
        self, file: int, scope: int, name: str, line: int = 0, *, values: bool = True
    ) -> Referent | None:
        """Return the referent that a scope itself declares, imports or binds by a name."""
        ...

    def resolve_star_imports(
        self, file: int, name: str, scope: int = MODULE, *, include_reexports: bool = True
    ) -> Referent | None:
        """Return the referent of a name that star imports bring."""
        ...

    def find_enclosing_type(self, file: int, scope: int) -> Referent | None:
        """Return the type whose method encloses a scope."""
        ...

    def resolve_super(self, file: int, scope: int) -> Referent | None:
        """Return an instance of the first base of the type whose method encloses a scope."""
        ...

    def resolve_dotted_name(
        self, file: int, scope: int, chain: str, line: int, *, allow_inherited: bool = True
    ) -> Referent | None:
        """Return the referent of a dotted name without inferring values."""
        ...

    def find_descendants(self, file: int, index: int) -> Sequence[Referent]:
        """Return the subtypes of a type that name it as their base, and theirs, nearest first."""
        ...

    def find_type_member(self, file: int, index: int, name: str) -> Referent | None:
        """Return an own or inherited member of a type; external if an external base may declare it."""
        ...

    def infer_binding(self, file: int, binding: Binding, *, is_local: bool = False) -> Referent | None:
        """Return the value of a binding; None if it is unknown."""
        ...

    def infer_call(self, function: Referent) -> Referent | None:
        """Return the result of a call."""
        ...

    def infer_method_call(self, owner: Referent, name: str) -> Referent | None:
        """Return the result of a method call; None if the method is unknown."""
        ...

    def resolve_alias(self, referent: Referent, definition: Definition) -> Referent | None:
        """Return an instance of the type that an alias is declared as."""
        ...

    def resolve_reference(self, reference: Reference) -> Referent | None:
        """Return the referent of a reference in the file that is being linked."""
        ...

    def evaluate(self, file: int, scope: int, chain: str, line: int) -> Referent | None:
        """Return the referent of a chain in a scope; None if it is unknown."""
        ...
