"""Base class of the rules of a language; its defaults hold for most languages."""

from collections.abc import Iterable, Sequence

from coderag.codegraph.linking.overloads import format_call_name
from coderag.codegraph.linking.program import FileInterface, Program
from coderag.codegraph.linking.queries import ResolutionQueries
from coderag.codegraph.linking.referents import Referent
from coderag.codegraph.linking.rules.traits import LanguageTraits
from coderag.schema.facts import Definition, Import


class LanguageRules(LanguageTraits):
    """Rules of name resolution in a language.

    Args:
        program: All files.
    """

    def __init__(self, program: Program) -> None:
        self.program = program

    def resolve_module(self, file: int, module: str) -> Referent | None:
        """Return the referent of a module, package or path that a file imports: a module, a package, or something external.

        Implementations record a key ``module:NAME`` for each name by which a new or removed file could change the result.
        """
        raise NotImplementedError

    def find_package_member(self, resolver: ResolutionQueries, package: str, name: str) -> Referent | None:
        """Return the member of a package by a name."""
        return None

    def find_submodule(self, file: int, name: str) -> Referent | None:
        """Return a module inside another one."""
        return None

    def resolve_in_package(self, resolver: ResolutionQueries, file: int, name: str) -> Referent | None:
        """Return the referent that a file's package or the language gives to a name."""
        return None

    def resolve_import(self, resolver: ResolutionQueries, file: int, import_: Import) -> Referent | None:
        """Return the referent of an import: the module or its member."""
        referent = self.resolve_module(file, import_.module) if import_.module else Referent("module", file)
        if referent is None or import_.name in ("", "*"):
            return referent
        for part in import_.name.split("."):
            referent = resolver.find_member(referent, part) if referent else None
        return referent

    def find_owner_types(
        self, resolver: ResolutionQueries, file: int, definition: Definition
    ) -> Sequence[tuple[int, int]]:
        """Return the types, as (file, index), of an out-of-line definition."""
        return ()

    def find_out_of_line_members(
        self, resolver: ResolutionQueries, file: int, index: int, name: str
    ) -> Sequence[tuple[int, int]]:
        """Return a type's members of a name that are declared out of line: Go methods, Rust impls, C++ definitions."""
        return ()

    def find_other_parts(self, resolver: ResolutionQueries, file: int, index: int) -> Sequence[tuple[int, int]]:
        """Return the other declarations of a type that is declared in parts."""
        return ()

    def find_extension_method(
        self, resolver: ResolutionQueries, file: int, receiver: Referent, name: str
    ) -> Referent | None:
        """Return the function that a file may call as a method of a receiver, though its type does not declare it."""
        return None

    def find_implied_member(self, resolver: ResolutionQueries, file: int, name: str) -> Referent | None:
        """Return the member of the type that the context expects, if its name alone is evidence enough."""
        return None

    def find_closure_value(self, resolver: ResolutionQueries, function: Referent, step: str) -> Referent | None:
        """Return the receiver or the first argument of the closure that a function takes last.

        Args:
            step: `coderag.schema.facts.RECEIVER_STEP` or ``ARGUMENT_STEP``.
        """
        return None

    def find_implicit_member(self, resolver: ResolutionQueries, file: int, index: int, name: str) -> Referent | None:
        """Return an own member that the language gives to a type without a declaration."""
        return None

    def find_collection_member(self, owner: Referent, name: str) -> Referent | None:
        """Return a member of a standard collection that returns an element, or a collection of the same elements."""
        return None

    def find_overridden_member(
        self, resolver: ResolutionQueries, ancestor: Referent, definition: Definition
    ) -> Referent | None:
        """Return the own member of an ancestor that a member may override."""
        return resolver.find_own_member(ancestor.file, ancestor.index, format_call_name(definition, self))

    def find_definition(self, resolver: ResolutionQueries, file: int, index: int) -> Referent | None:
        """Return the definition of a declaration that only announces it; None for any other declaration."""
        return None

    def find_slot_values(self, resolver: ResolutionQueries, owner: Referent | None, name: str) -> Sequence[Referent]:
        """Return the functions that a field of a type may hold; `owner` is None if the type is unknown."""
        return ()

    def is_overridable(self, definition: Definition) -> bool:
        """Return whether a method can be overridden."""
        return True

    def can_override(self, definition: Definition) -> bool:
        """Return whether a method can override another one of its name."""
        return True

    def find_out_of_line_bases(
        self, resolver: ResolutionQueries, file: int, index: int
    ) -> Iterable[tuple[Referent, int, str]]:
        """Return the bases that a type gets outside its declaration, see `Resolver.resolve_bases`."""
        return ()

    def iterate_spellings(self, name: str) -> Iterable[str]:
        """Yield the further names by which another language may declare what a file calls by a name."""
        return ()

    def find_scope_member(self, resolver: ResolutionQueries, file: int, scope: int, name: str) -> Referent | None:
        """Return the declaration of a name in another part of a scope's type."""
        return None

    def select_declarations(
        self, definitions: Sequence[Definition], indices: Sequence[int], name: str
    ) -> Sequence[int]:
        """Return those of several definitions in one scope that a name may refer to."""
        return indices

    def is_type_level(self, file: int, scope: int) -> bool:
        """Return whether the receiver in a scope is the type itself, not an instance."""
        return False

    def order_bases(self, bases: Sequence[Referent]) -> Sequence[Referent]:
        """Return the bases of a type in the order of member lookup."""
        return bases

    def is_module_declaration(self, import_: Import) -> bool:
        """Return whether an import declares a child module."""
        return False

    def extract_package_name(self, name: str) -> str:
        """Return the external package of a module."""
        return name.partition(".")[0]

    def find_visible_files(self, file: int) -> Sequence[int]:
        """Return files with visible methods, besides the imported ones."""
        return ()

    def is_exported(self, file: int, interface: FileInterface, name: str) -> bool:
        """Return whether a name that a file declares or imports is visible outside of it."""
        return True

    def has_members(self, definition: Definition) -> bool:
        """Return whether a declared value has members of its own."""
        return False

    def is_instantiable(self, definition: Definition) -> bool:
        """Return whether a declaration that is not a type has instances."""
        return False

    def is_type_like(self, definition: Definition) -> bool:
        """Return whether a declaration of another kind has bases and members as a type has: a module of Elixir."""
        return False

    def is_called_by_name(self, definition: Definition) -> bool:
        """Return whether a method's name alone is a call of it."""
        return False

    def find_applied_member(self, resolver: ResolutionQueries, referent: Referent) -> Referent | None:
        """Return the method that a call of a type's name runs; None if that makes an instance."""
        return None

    def can_be_base(self, owner: Definition, base: Definition) -> bool:
        """Return whether a declaration that is not a type can be the base of another declaration."""
        return False

    def is_property(self, definition: Definition) -> bool:
        """Return whether a method is used like a field."""
        return False

    def is_component(self, file: int) -> bool:
        """Return whether a file is itself a value that others use by a name: a single-file component."""
        return False

    def find_package_files(self, package: str) -> Sequence[int]:
        """Return the files of a package that is imported whole: an import leads to those that are used."""
        return ()

    def find_implemented_types(self, resolver: ResolutionQueries, file: int, index: int) -> Sequence[Referent]:
        """Return the types that a type implements without naming them."""
        return ()
