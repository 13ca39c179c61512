"""Java: packages by declaration, whatever the folders; the files of a package see each other's names."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import ClassVar, Final

from coderag.codegraph.linking.program import Program
from coderag.codegraph.linking.queries import ResolutionQueries
from coderag.codegraph.linking.referents import RESOLVER_PRECISION, Referent
from coderag.codegraph.linking.rules.base import LanguageRules
from coderag.codegraph.linking.rules.jvm_packages import (
    JVM_LANGUAGES,
    JvmPackages,
    find_property_name,
    iterate_accessors,
)
from coderag.codegraph.linking.rules.proximity import select_nearest
from coderag.codegraph.linking.rules.standard_names import read_names
from coderag.schema.facts import Definition, Import

_ELEMENT_METHODS: Final = read_names("java", "element_methods")
_COLLECTION_METHODS: Final = read_names("java", "collection_methods")


class JavaRules(LanguageRules):
    """Rules of Java."""

    languages = ("java",)
    interoperable_languages = ("kotlin",)
    self_names = ("this",)
    super_names = ("super",)
    overloads_by_arity = True
    separates_methods = True
    prefers_package_to_stars = True
    inherits_nested_types = True
    requires_declared_types = True
    calls_members_of_subtypes = False
    builtins = read_names("java", "builtins")
    collection_types = read_names("java", "collection_types")
    common_methods: ClassVar[frozenset[str]] = (
        _ELEMENT_METHODS | _COLLECTION_METHODS | read_names("java", "common_methods")
    )

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._packages = JvmPackages(program)

    def resolve_module(self, file: int, module: str) -> Referent | None:
        """Return the package of a name, or the type of a qualified name, whatever the folder."""
        if self._packages.has_package(module):
            return Referent("package", file, name=module)
        package, _, name = module.rpartition(".")
        if package:
            owner = self.resolve_module(file, package)
            if owner is not None and owner.kind == "package":
                return self._find_top_level(file, package, name) or Referent("external", name=module)
            if owner is not None and owner.kind == "definition":
                nested_indices = self.program.read_interface(owner.file).children.get(owner.index, {}).get(name, ())
                return (
                    Referent("definition", owner.file, nested_indices[0])
                    if nested_indices
                    else Referent("external", name=module)
                )
        return Referent("external", name=module)

    def find_package_member(self, resolver: ResolutionQueries, package: str, name: str) -> Referent | None:
        """Return a type of a package, or a package inside it."""
        return self._find_in_package(-1, package, name)

    def resolve_in_package(self, resolver: ResolutionQueries, file: int, name: str) -> Referent | None:
        """Return a type of a file's own package, or the first part of a qualified name."""
        if "/" in name:
            return None
        package = self.program.read_interface(file).facts.package
        referent = self._find_top_level(file, package, name)
        if referent is not None:
            return referent.replace_resolver("package", RESOLVER_PRECISION["package"])
        return Referent("package", file, name=name) if self._packages.has_package(name) else None

    def resolve_import(self, resolver: ResolutionQueries, file: int, import_: Import) -> Referent | None:
        """Return the referent of an import: a type, or a static member, which may be a method."""
        referent = self.resolve_module(file, import_.module)
        if referent is None or import_.name in ("", "*"):
            return referent
        if referent.kind == "package":
            return self._find_in_package(file, referent.name, import_.name)
        if referent.kind not in ("definition", "module"):
            return Referent("external", name=f"{import_.module}.{import_.name}")
        return resolver.find_member(referent, import_.name) or (
            None if "/" in import_.name else resolver.find_member(referent, f"{import_.name}/")
        )

    def find_owner_types(
        self, resolver: ResolutionQueries, file: int, definition: Definition
    ) -> Sequence[tuple[int, int]]:
        """Return the base of the anonymous class around a method."""
        if not definition.owner:
            return ()
        owner_type = resolver.resolve_type_text(file, definition.parent, definition.owner, definition.start_line)
        return [(owner_type.file, owner_type.index)] if owner_type is not None and owner_type.kind == "instance" else ()

    def find_implicit_member(self, resolver: ResolutionQueries, file: int, index: int, name: str) -> Referent | None:
        """Return an accessor of a record, a method that every enum has, or the accessor of a property in Kotlin."""
        interface = self.program.read_interface(file)
        if name in ("values/0", "valueOf/1") and interface.definitions[index].kind == "enum":
            return Referent("supplier", file, index, "elements" if name == "values/0" else "")
        children = interface.children.get(index, {})
        if "/" not in name and self._packages.is_mixed:
            accessors = (children.get(accessor) for accessor in iterate_accessors(name))
            indices = next(filter(None, accessors), ())
            return Referent("definition", file, indices[0]) if indices else None
        component = name.removesuffix("/0")
        if component == name or (index, component) not in interface.bindings or component in children:
            return None
        referent = resolver.find_own_member(file, index, component)
        if referent is None or referent.kind not in ("instance", "elements"):
            return referent
        return Referent("supplier", referent.file, referent.index, "elements" if referent.kind == "elements" else "")

    def is_property(self, definition: Definition) -> bool:
        """Return whether a method is used like a field: an accessor, in Kotlin."""
        return self._packages.is_mixed and bool(find_property_name(definition.name))

    def iterate_spellings(self, name: str) -> Iterator[str]:
        """Yield the Kotlin property of an accessor."""
        if self._packages.is_mixed and (property_name := find_property_name(name)):
            yield property_name

    def find_collection_member(self, owner: Referent, name: str) -> Referent | None:
        """Return a method of a standard collection that returns an element, or a collection of the same elements."""
        method = name.partition("/")[0]
        if method in _ELEMENT_METHODS or method in _COLLECTION_METHODS:
            return Referent(
                "supplier",
                owner.file,
                owner.index,
                "" if method in _ELEMENT_METHODS else "elements",
                "return",
                owner.confidence,
            )
        return None

    def can_override(self, definition: Definition) -> bool:
        """Return whether a method can override another one."""
        return not {"static", "private"} & set(definition.modifiers.split())

    def extract_package_name(self, name: str) -> str:
        """Return the package of a qualified name: the parts before the first capitalised one."""
        parts = name.split(".")
        first_type = next((n for n, part in enumerate(parts) if part[:1].isupper()), len(parts))
        return ".".join(parts[:first_type]) or name

    def _find_in_package(self, file: int, package: str, name: str) -> Referent | None:
        if (referent := self._find_top_level(file, package, name)) is not None:
            return referent
        nested_package = f"{package}.{name}"
        if self._packages.has_package(nested_package):
            return Referent("package", self._any_file, name=nested_package)
        return Referent("external", name=nested_package) if file >= 0 else None

    def _find_top_level(self, file: int, package: str, name: str) -> Referent | None:
        """Return the type of a package; if several modules declare it, the one nearest to a file."""
        declarations = self._packages.find_types(package, name)
        if not declarations:
            facade = self._packages.find_facade(package, name)
            return None if facade is None else Referent("module", facade)
        return Referent("definition", *select_nearest(self.program, file, declarations))

    @cached_property
    def _any_file(self) -> int:
        return next(file for file, row in enumerate(self.program.rows) if row.language in JVM_LANGUAGES)
