"""What a language's rules say; the defaults are those of most languages."""

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from coderag.codegraph.linking.referents import RESOLVER_PRECISION, Referent
from coderag.schema.facts import Definition, Import

if TYPE_CHECKING:
    from coderag.codegraph.linking.program import FileInterface, Program
    from coderag.codegraph.linking.resolver import Resolver


def split_words(text: str) -> frozenset[str]:
    """Return the words of a text: lists of names read better without quotes."""
    return frozenset(text.split())


class LanguageRules:
    """How names are found in a language.

    Args:
        program: All files.

    Attributes:
        languages: Languages, by name, that these are the rules of.
        instance_names: What a method calls its own object; ``self_type_names``, its own type; ``super_names``, the type above.
        made_by: Names of methods that every type has, though it does not declare them, and that make an instance.
        constructors: Names of methods that a call of the type runs.
        builtins: Names known everywhere that no file declares.
        wrappers: Types that are as good as their first argument; ``collections``, those whose elements are of their last one;
            ``first_argument_collections``, of their first one; ``type_of``, those whose value is a type itself.
        members_in_scope: Whether a bare name in a method may be a member of its type.
        scope_hides_types: Whether names in a type's body are unknown in its methods (Python).
        types_are_no_scopes: Whether names in a type's body are known only as its members (Rust).
        counts_arguments: Whether calls tell overloads apart by their number of arguments, see `coderag.schema.facts`;
            ``separates_methods``, whether a field and a method of one name are different things.
        has_extensions: Whether `extension` is to be asked.
        counts_type_arguments: Whether types of one name are told apart by their number of type parameters.
        package_before_stars: Whether what is in a file's package comes before what is imported with all that a package has.
        inherits_types: Whether the types inside a type are known in those below it.
        types_are_declared: Whether every type is declared or imported by its name: what is not found is outside.
        hidden_kinds: Kinds of declarations that a bare name never means.
        blocks_are_scopes: Whether a name may be declared anew in each block.
        base_is_constructor: Whether the name of the type above alone is its constructor: ``super(1)``.
        passing_on_binds: Whether what a file passes on has a name in it too.
        modules_apart: Whether a module may have the name of something else, and is meant where something in it is named.
        values_apart: Whether a type and a value may have one name, and what is called, or has a member, is the value.
        common_methods: Names so common that one declaration of a name says nothing about a call of it.
        unique: How surely the only method of a name, in a file and what it imports, is what a call on something unknown means.
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
        """Return what a module, package or path means where a file imports it: a module, a package, or something external.

        Note keys ``module:NAME`` for each name by which a file that is added or removed could change the answer.
        """
        raise NotImplementedError

    def find_package_member(self, resolver: "Resolver", package: str, name: str) -> Referent | None:
        """Return what a package has by a name."""
        return None

    def find_submodule(self, file: int, name: str) -> Referent | None:
        """Return a module inside another one."""
        return None

    def resolve_in_package(self, resolver: "Resolver", file: int, name: str) -> Referent | None:
        """Return what a name means that a file neither declares nor imports: what its package or the language gives it."""
        return None

    def resolve_import(self, resolver: "Resolver", file: int, import_: Import) -> Referent | None:
        """Return what an import brings: the module, or what is taken from it."""
        referent = self.resolve_module(file, import_.module) if import_.module else Referent("module", file)
        if referent is None or import_.name in ("", "*"):
            return referent
        for part in import_.name.split("."):
            referent = resolver.find_member(referent, part) if referent else None
        return referent

    def find_owner_types(self, resolver: "Resolver", file: int, definition: Definition) -> Sequence[tuple[int, int]]:
        """Return the types, as (file, index), to which a definition belongs that stands outside of them."""
        return ()

    def find_out_of_line_members(
        self, resolver: "Resolver", file: int, index: int, name: str
    ) -> Sequence[tuple[int, int]]:
        """Return a type's members of a name that stand outside of it: Go methods, Rust impls, C++ definitions."""
        return ()

    def find_other_parts(self, resolver: "Resolver", file: int, index: int) -> Sequence[tuple[int, int]]:
        """Return the other declarations of a type that is declared in parts."""
        return ()

    def find_extension_method(self, resolver: "Resolver", file: int, receiver: Referent, name: str) -> Referent | None:
        """Return what a file may call as if it were a method of a value, though its type has none of that name."""
        return None

    def find_implicit_member(self, resolver: "Resolver", file: int, index: int, name: str) -> Referent | None:
        """Return a type's own member that the language gives it without a declaration."""
        return None

    def find_collection_member(self, owner: Referent, name: str) -> Referent | None:
        """Return a member of a standard collection, if it gives an element, or a collection of the same elements."""
        return None

    def can_override(self, definition: Definition) -> bool:
        """Return whether a method is one that may override another of its name."""
        return True

    def find_out_of_line_bases(
        self, resolver: "Resolver", file: int, index: int
    ) -> Iterable[tuple[Referent, int, str]]:
        """Return what a type is said to extend or implement elsewhere than where it is declared, see `Resolver.bases`."""
        return ()

    def is_module_declaration(self, import_: Import) -> bool:
        """Return whether an import declares a module that is a part of the file's own."""
        return False

    def extract_package_name(self, name: str) -> str:
        """Return the package outside the repository that a module belongs to."""
        return name.partition(".")[0]

    def find_visible_files(self, file: int) -> Sequence[int]:
        """Return files whose methods a file may call beside those that it imports."""
        return ()

    def is_exported(self, file: int, interface: "FileInterface", name: str) -> bool:
        """Return whether a name that a file declares or imports can be had from outside."""
        return True

    def has_members(self, definition: Definition) -> bool:
        """Return whether a value that is declared has members of its own."""
        return False

    def is_instantiable(self, definition: Definition) -> bool:
        """Return whether there are instances of something that is no type."""
        return False

    def is_property(self, definition: Definition) -> bool:
        """Return whether a method is used like a field."""
        return False

    def find_package_files(self, package: str) -> Sequence[int]:
        """Return the files of a package that is imported as a whole: an import leads to those of them that are used."""
        return ()

    def find_implemented_types(self, resolver: "Resolver", file: int, index: int) -> Sequence[Referent]:
        """Return what a type implements without saying so where it is declared."""
        return ()
