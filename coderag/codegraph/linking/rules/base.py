"""Base class of the rules of a language; its defaults hold for most languages."""

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from coderag.codegraph.linking.referents import RESOLVER_PRECISION, Referent
from coderag.schema.facts import Definition, Import

if TYPE_CHECKING:
    from coderag.codegraph.linking.program import FileInterface, Program
    from coderag.codegraph.linking.resolver import Resolver


def split_words(text: str) -> frozenset[str]:
    """Return the words of a text: lists of names are more readable without quotes."""
    return frozenset(text.split())


class LanguageRules:
    """Rules of name resolution in a language.

    Args:
        program: All files.

    Attributes:
        languages: Names of the languages with these rules.
        self_names: Names of the receiver in a method; ``self_type_names``, of its type; ``super_names``, of the base type.
        factory_methods: Names of undeclared methods of every type that create an instance.
        constructor_names: Names of the methods that an instantiation runs.
        builtins: Predeclared names.
        wrapper_types: Types with the members of their first type argument.
        collection_types: Collections of their last type argument; ``first_argument_collections``, of their first one.
        metatypes: Types whose values are types.
        has_implicit_receiver: Whether a bare name in a method may be a member of its type.
        hides_class_scope: Whether names in a type's body are invisible in its methods (Python).
        requires_qualified_members: Whether names in a type's body are visible only as its members (Rust).
        overloads_by_arity: Whether the number of arguments selects an overload, see `coderag.schema.facts`.
        separates_methods: Whether a field and a method may share one name.
        has_extension_methods: Whether `find_extension_method` applies.
        overloads_types_by_arity: Whether the number of type parameters distinguishes types of one name.
        prefers_package_to_stars: Whether a file's package has precedence over star imports.
        inherits_nested_types: Whether nested types are visible in subtypes.
        requires_declared_types: Whether every type must be declared or imported by its name; any other type is external.
        hidden_kinds: Kinds of declarations that a bare name never refers to.
        has_block_scope: Whether a block may redeclare a name.
        has_super_constructor_call: Whether a call of the base type's name alone is a constructor call: ``super(1)``.
        reexports_bind_names: Whether a re-exported name is visible in the file, too.
        separates_modules: Whether a module and another declaration may share one name; the module is the one with members.
        separates_values: Whether a type and a value may share one name; the value is the one that is called or has members.
        common_methods: Names so common that a single declaration is no evidence for a call.
        unique_method_confidence: Confidence that a call on an unknown receiver refers to the only visible method of its name.
    """

    languages: ClassVar[tuple[str, ...]] = ()
    self_names: ClassVar[Collection[str]] = ("self", "this")
    self_type_names: ClassVar[Collection[str]] = ()
    factory_methods: ClassVar[Collection[str]] = ("new",)
    super_names: ClassVar[Collection[str]] = ("super", "base")
    constructor_names: ClassVar[Collection[str]] = ()
    builtins: ClassVar[Collection[str]] = frozenset()
    wrapper_types: ClassVar[Collection[str]] = frozenset()
    collection_types: ClassVar[Collection[str]] = frozenset()
    first_argument_collections: ClassVar[Collection[str]] = frozenset()
    metatypes: ClassVar[Collection[str]] = frozenset()
    has_implicit_receiver: ClassVar[bool] = True
    hides_class_scope: ClassVar[bool] = False
    requires_qualified_members: ClassVar[bool] = False
    overloads_by_arity: ClassVar[bool] = False
    separates_methods: ClassVar[bool] = False
    has_extension_methods: ClassVar[bool] = False
    overloads_types_by_arity: ClassVar[bool] = False
    prefers_package_to_stars: ClassVar[bool] = False
    inherits_nested_types: ClassVar[bool] = False
    requires_declared_types: ClassVar[bool] = False
    hidden_kinds: ClassVar[Collection[str]] = frozenset()
    has_block_scope: ClassVar[bool] = False
    has_super_constructor_call: ClassVar[bool] = False
    reexports_bind_names: ClassVar[bool] = True
    separates_modules: ClassVar[bool] = False
    separates_values: ClassVar[bool] = False
    common_methods: ClassVar[Collection[str]] = frozenset()
    unique_method_confidence: ClassVar[float] = RESOLVER_PRECISION["unique"]

    def __init__(self, program: "Program") -> None:
        self.program = program

    def resolve_module(self, file: int, module: str) -> Referent | None:
        """Return the referent of a module, package or path that a file imports: a module, a package, or something external.

        Implementations record a key ``module:NAME`` for each name by which a new or removed file could change the result.
        """
        raise NotImplementedError

    def find_package_member(self, resolver: "Resolver", package: str, name: str) -> Referent | None:
        """Return the member of a package by a name."""
        return None

    def find_submodule(self, file: int, name: str) -> Referent | None:
        """Return a module inside another one."""
        return None

    def resolve_in_package(self, resolver: "Resolver", file: int, name: str) -> Referent | None:
        """Return the referent that a file's package or the language gives to a name."""
        return None

    def resolve_import(self, resolver: "Resolver", file: int, import_: Import) -> Referent | None:
        """Return the referent of an import: the module or its member."""
        referent = self.resolve_module(file, import_.module) if import_.module else Referent("module", file)
        if referent is None or import_.name in ("", "*"):
            return referent
        for part in import_.name.split("."):
            referent = resolver.find_member(referent, part) if referent else None
        return referent

    def find_owner_types(self, resolver: "Resolver", file: int, definition: Definition) -> Sequence[tuple[int, int]]:
        """Return the types, as (file, index), of an out-of-line definition."""
        return ()

    def find_out_of_line_members(
        self, resolver: "Resolver", file: int, index: int, name: str
    ) -> Sequence[tuple[int, int]]:
        """Return a type's members of a name that are declared out of line: Go methods, Rust impls, C++ definitions."""
        return ()

    def find_other_parts(self, resolver: "Resolver", file: int, index: int) -> Sequence[tuple[int, int]]:
        """Return the other declarations of a type that is declared in parts."""
        return ()

    def find_extension_method(self, resolver: "Resolver", file: int, receiver: Referent, name: str) -> Referent | None:
        """Return the function that a file may call as a method of a receiver, though its type does not declare it."""
        return None

    def find_implicit_member(self, resolver: "Resolver", file: int, index: int, name: str) -> Referent | None:
        """Return an own member that the language gives to a type without a declaration."""
        return None

    def find_collection_member(self, owner: Referent, name: str) -> Referent | None:
        """Return a member of a standard collection that returns an element, or a collection of the same elements."""
        return None

    def can_override(self, definition: Definition) -> bool:
        """Return whether a method can override another one of its name."""
        return True

    def find_out_of_line_bases(
        self, resolver: "Resolver", file: int, index: int
    ) -> Iterable[tuple[Referent, int, str]]:
        """Return the bases that a type gets outside its declaration, see `Resolver.resolve_bases`."""
        return ()

    def is_module_declaration(self, import_: Import) -> bool:
        """Return whether an import declares a child module."""
        return False

    def extract_package_name(self, name: str) -> str:
        """Return the external package of a module."""
        return name.partition(".")[0]

    def find_visible_files(self, file: int) -> Sequence[int]:
        """Return files with visible methods, besides the imported ones."""
        return ()

    def is_exported(self, file: int, interface: "FileInterface", name: str) -> bool:
        """Return whether a name that a file declares or imports is visible outside of it."""
        return True

    def has_members(self, definition: Definition) -> bool:
        """Return whether a declared value has members of its own."""
        return False

    def is_instantiable(self, definition: Definition) -> bool:
        """Return whether a declaration that is not a type has instances."""
        return False

    def is_property(self, definition: Definition) -> bool:
        """Return whether a method is used like a field."""
        return False

    def find_package_files(self, package: str) -> Sequence[int]:
        """Return the files of a package that is imported whole: an import leads to those that are used."""
        return ()

    def find_implemented_types(self, resolver: "Resolver", file: int, index: int) -> Sequence[Referent]:
        """Return the types that a type implements without naming them."""
        return ()
