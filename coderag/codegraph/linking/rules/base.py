"""What a language's rules say; the defaults are those of most languages."""

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from coderag.codegraph.linking.meanings import SURENESS, Meaning
from coderag.schema.facts import Definition, Import

if TYPE_CHECKING:
    from coderag.codegraph.linking.program import Interface, Program
    from coderag.codegraph.linking.resolver import Resolver


def words(text: str) -> frozenset[str]:
    """Return the words of a text: lists of names read better without quotes."""
    return frozenset(text.split())


class Rules:
    """How names are found in a language.

    Args:
        program: All files.

    Attributes:
        languages: Languages, by name, that these are the rules of.
        instance_names: What a method calls its own object; ``type_names``, its own type; ``base_names``, the type above.
        made_by: Names of methods that every type has, though it does not declare them, and that make an instance.
        constructors: Names of methods that a call of the type runs.
        builtins: Names known everywhere that no file declares.
        wrappers: Types that are as good as their first argument; ``collections``, those whose elements are of their last one;
            ``collections_of_first``, of their first one; ``type_of``, those whose value is a type itself.
        members_in_scope: Whether a bare name in a method may be a member of its type.
        scope_hides_types: Whether names in a type's body are unknown in its methods (Python).
        types_are_no_scopes: Whether names in a type's body are known only as its members (Rust).
        counts_arguments: Whether calls tell overloads apart by their number of arguments, see `coderag.schema.facts`;
            ``methods_apart``, whether a field and a method of one name are different things.
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
    instance_names: ClassVar[Collection[str]] = ("self", "this")
    type_names: ClassVar[Collection[str]] = ()
    made_by: ClassVar[Collection[str]] = ("new",)
    base_names: ClassVar[Collection[str]] = ("super", "base")
    constructors: ClassVar[Collection[str]] = ()
    builtins: ClassVar[Collection[str]] = frozenset()
    wrappers: ClassVar[Collection[str]] = frozenset()
    collections: ClassVar[Collection[str]] = frozenset()
    collections_of_first: ClassVar[Collection[str]] = frozenset()
    type_of: ClassVar[Collection[str]] = frozenset()
    members_in_scope: ClassVar[bool] = True
    scope_hides_types: ClassVar[bool] = False
    types_are_no_scopes: ClassVar[bool] = False
    counts_arguments: ClassVar[bool] = False
    methods_apart: ClassVar[bool] = False
    has_extensions: ClassVar[bool] = False
    counts_type_arguments: ClassVar[bool] = False
    package_before_stars: ClassVar[bool] = False
    inherits_types: ClassVar[bool] = False
    types_are_declared: ClassVar[bool] = False
    hidden_kinds: ClassVar[Collection[str]] = frozenset()
    blocks_are_scopes: ClassVar[bool] = False
    base_is_constructor: ClassVar[bool] = False
    passing_on_binds: ClassVar[bool] = True
    modules_apart: ClassVar[bool] = False
    values_apart: ClassVar[bool] = False
    common_methods: ClassVar[Collection[str]] = frozenset()
    unique: ClassVar[float] = SURENESS["unique"]

    def __init__(self, program: "Program") -> None:
        self.program = program

    def module(self, file: int, module: str) -> Meaning | None:
        """Return what a module, package or path means where a file imports it: a module, a package, or something external.

        Note keys ``module:NAME`` for each name by which a file that is added or removed could change the answer.
        """
        raise NotImplementedError

    def member_of_package(self, resolver: "Resolver", package: str, name: str) -> Meaning | None:
        """Return what a package has by a name."""
        return None

    def submodule(self, file: int, name: str) -> Meaning | None:
        """Return a module inside another one."""
        return None

    def in_package_scope(self, resolver: "Resolver", file: int, name: str) -> Meaning | None:
        """Return what a name means that a file neither declares nor imports: what its package or the language gives it."""
        return None

    def imported(self, resolver: "Resolver", file: int, one: Import) -> Meaning | None:
        """Return what an import brings: the module, or what is taken from it."""
        found = self.module(file, one.module) if one.module else Meaning("module", file)
        if found is None or one.name in ("", "*"):
            return found
        for part in one.name.split("."):
            found = resolver.member(found, part) if found else None
        return found

    def owner_types(self, resolver: "Resolver", file: int, definition: Definition) -> Sequence[tuple[int, int]]:
        """Return the types, as (file, index), to which a definition belongs that stands outside of them."""
        return ()

    def outside_members(self, resolver: "Resolver", file: int, index: int, name: str) -> Sequence[tuple[int, int]]:
        """Return a type's members of a name that stand outside of it: Go methods, Rust impls, C++ definitions."""
        return ()

    def other_parts(self, resolver: "Resolver", file: int, index: int) -> Sequence[tuple[int, int]]:
        """Return the other declarations of a type that is declared in parts."""
        return ()

    def extension(self, resolver: "Resolver", file: int, receiver: Meaning, name: str) -> Meaning | None:
        """Return what a file may call as if it were a method of a value, though its type has none of that name."""
        return None

    def implicit_member(self, resolver: "Resolver", file: int, index: int, name: str) -> Meaning | None:
        """Return a type's own member that the language gives it without a declaration."""
        return None

    def member_of_elements(self, owner: Meaning, name: str) -> Meaning | None:
        """Return a member of a standard collection, if it gives an element, or a collection of the same elements."""
        return None

    def may_override(self, definition: Definition) -> bool:
        """Return whether a method is one that may override another of its name."""
        return True

    def outside_bases(self, resolver: "Resolver", file: int, index: int) -> Iterable[tuple[Meaning, int, str]]:
        """Return what a type is said to extend or implement elsewhere than where it is declared, see `Resolver.bases`."""
        return ()

    def is_own_module(self, one: Import) -> bool:
        """Return whether an import declares a module that is a part of the file's own."""
        return False

    def package_of(self, name: str) -> str:
        """Return the package outside the repository that a module belongs to."""
        return name.partition(".")[0]

    def also_seen(self, file: int) -> Sequence[int]:
        """Return files whose methods a file may call beside those that it imports."""
        return ()

    def shows(self, file: int, interface: "Interface", name: str) -> bool:
        """Return whether a name that a file declares or imports can be had from outside."""
        return True

    def has_members(self, definition: Definition) -> bool:
        """Return whether a value that is declared has members of its own."""
        return False

    def makes_instances(self, definition: Definition) -> bool:
        """Return whether there are instances of something that is no type."""
        return False

    def is_property(self, definition: Definition) -> bool:
        """Return whether a method is used like a field."""
        return False

    def files_of(self, package: str) -> Sequence[int]:
        """Return the files of a package that is imported as a whole: an import leads to those of them that are used."""
        return ()

    def implemented(self, resolver: "Resolver", file: int, index: int) -> Sequence[Meaning]:
        """Return what a type implements without saying so where it is declared."""
        return ()
