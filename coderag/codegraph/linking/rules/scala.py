"""Scala: packages by declaration, objects beside types of their name, members by import, extension methods."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import ClassVar, Final

from coderag.codegraph.linking.companions import is_object, select_companion
from coderag.codegraph.linking.program import MODULE
from coderag.codegraph.linking.queries import ResolutionQueries
from coderag.codegraph.linking.referents import RESOLVER_PRECISION, TYPE_KINDS, Referent
from coderag.codegraph.linking.rules.base import LanguageRules
from coderag.codegraph.linking.rules.proximity import select_nearest
from coderag.codegraph.linking.rules.standard_names import read_names
from coderag.schema.facts import Definition, Import

_ROOT: Final = "_root_"
_ELEMENT_METHODS: Final = read_names("scala", "element_methods")
_ELEMENT_GETTERS: Final = read_names("scala", "element_getters")
_COLLECTION_METHODS: Final = read_names("scala", "collection_methods")
_COLLECTION_GETTERS: Final = read_names("scala", "collection_getters")
_EXTENSION_MODIFIERS: Final = frozenset({"extension", "implicit"})


class ScalaRules(LanguageRules):
    """Rules of Scala."""

    languages = ("scala",)
    self_names = ("this",)
    self_type_names = ("this.type",)
    super_names = ("super",)
    factory_methods = ()
    call_method = "apply"
    inherits_nested_types = True
    requires_declared_types = True
    separates_values = True
    has_companions = True
    has_argument_lists = True
    has_extension_methods = True
    has_block_scope = True
    collection_types = read_names("scala", "collection_types")
    common_methods: ClassVar[frozenset[str]] = (
        _ELEMENT_METHODS
        | _ELEMENT_GETTERS
        | _COLLECTION_METHODS
        | _COLLECTION_GETTERS
        | read_names("scala", "common_methods")
    )
    unique_method_confidence = 0.4  # implicit conversions give methods to values of any type

    # Packages and imports

    def resolve_module(self, file: int, module: str) -> Referent | None:
        """Return the package, object or type of a path, as seen from a file."""
        return self.program.memoize("scala path", (file, module), lambda: self._resolve_path(file, module))

    def find_package_member(self, resolver: ResolutionQueries, package: str, name: str) -> Referent | None:
        """Return a declaration of a package, or a package inside it."""
        return self._find_in_package(-1, package, name)

    def resolve_in_package(self, resolver: ResolutionQueries, file: int, name: str) -> Referent | None:
        """Return a declaration of a file's package, or a package that is visible by its last name."""
        if name == _ROOT:
            return Referent("package", file)
        packages = self._get_visible_packages(file)
        if (declaration := self._find_top_level(file, packages[0], name)) is not None:
            return declaration.replace_resolver("package", RESOLVER_PRECISION["package"])
        for prefix in packages:
            nested = f"{prefix}.{name}".lstrip(".")
            self.program.record_key(f"namespace:scala:{nested}")
            if nested in self._packages:
                return Referent("package", file, name=nested)
        return Referent("external", name=name) if name[:1].isupper() else None

    def resolve_import(self, resolver: ResolutionQueries, file: int, import_: Import) -> Referent | None:
        """Return the referent of an import: a package, or a member of a package or object."""
        referent = self.resolve_module(file, import_.module)
        if referent is None or import_.name in ("", "*"):
            return referent
        if referent.kind == "package":
            return self._find_in_package(file, referent.name, import_.name) or Referent(
                "external", name=f"{import_.module}.{import_.name}"
            )
        if referent.kind != "definition":
            return Referent("external", name=f"{import_.module}.{import_.name}")
        return resolver.find_member(self._to_object(referent), import_.name)

    def extract_package_name(self, name: str) -> str:
        """Return the package of a qualified name: the parts before the first capitalised one, at most three."""
        parts = name.split(".")
        first_type = next((n for n, part in enumerate(parts) if part[:1].isupper()), len(parts))
        return ".".join(parts[: min(first_type, 3)]) or name

    # Members

    def is_property(self, definition: Definition) -> bool:
        """Return whether a method is used like a field: any may be called without an argument list."""
        return True

    def is_called_by_name(self, definition: Definition) -> bool:
        """Return whether the name alone is a call: the method has no parameter list."""
        return "def" in definition.modifiers.split()

    def can_override(self, definition: Definition) -> bool:
        """Return whether a method can override another one."""
        return "private" not in definition.modifiers.split()

    def find_owner_types(
        self, resolver: ResolutionQueries, file: int, definition: Definition
    ) -> Sequence[tuple[int, int]]:
        """Return the base of the anonymous class around a method."""
        if not definition.owner:
            return ()
        owner_type = resolver.resolve_type_text(file, definition.parent, definition.owner, definition.start_line)
        return [(owner_type.file, owner_type.index)] if owner_type is not None and owner_type.kind == "instance" else ()

    def find_applied_member(self, resolver: ResolutionQueries, referent: Referent) -> Referent | None:
        """Return the ``apply`` method that a call of an object's name runs; None if that makes an instance of its class."""
        definition = self.program.get_definition(referent.file, referent.index)
        if not is_object(definition):
            return None
        interface = self.program.read_interface(referent.file)
        siblings = interface.children.get(definition.parent, {}).get(definition.name, ())
        if any("case" in interface.definitions[sibling].modifiers.split() for sibling in siblings):
            return None
        applied = resolver.find_member(referent, self.call_method)
        return applied if applied is not None and applied.kind == "definition" else None

    def find_extension_method(
        self, resolver: ResolutionQueries, file: int, receiver: Referent, name: str
    ) -> Referent | None:
        """Return the method of a name in a visible extension or implicit class for the receiver's type."""
        value = resolver.infer_value(receiver)
        if value is None or value.kind not in ("instance", "external"):
            return None
        self.program.record_key(f"name:scala:{name}")
        extensions = self._find_extensions(name)
        visible_files = self._get_visible_files(file) if extensions else ()
        for other_file, owner, index in extensions:
            if other_file in visible_files and self._can_extend(resolver, value, other_file, owner):
                return Referent("definition", other_file, index, "", "import", RESOLVER_PRECISION["import"])
        return None

    def find_collection_member(self, owner: Referent, name: str) -> Referent | None:
        """Return a member of a standard collection that returns an element, or a collection of the same elements."""
        attribution = ("return", owner.confidence)
        if name in _ELEMENT_GETTERS:
            return Referent("instance", owner.file, owner.index, "", *attribution)
        if name in _COLLECTION_GETTERS:
            return Referent("elements", owner.file, owner.index, "", *attribution)
        if name in _ELEMENT_METHODS or name in _COLLECTION_METHODS:
            item_kind = "elements" if name in _COLLECTION_METHODS else ""
            return Referent("supplier", owner.file, owner.index, item_kind, *attribution)
        return None

    def _find_extensions(self, name: str) -> Sequence[tuple[int, int, int]]:
        """Return the methods of a name in extensions: file, extension and method."""
        return self.program.memoize("scala extensions", name, lambda: list(self._iterate_extensions(name)))

    def _iterate_extensions(self, name: str) -> Iterator[tuple[int, int, int]]:
        for file, index in self.program.find_declarations(name, self.languages):
            definitions = self.program.peek(file).definitions
            owner = definitions[index].parent
            if definitions[index].kind == "method" and owner != MODULE:
                modifiers = definitions[owner].modifiers.split()
                if definitions[owner].kind in TYPE_KINDS and not _EXTENSION_MODIFIERS.isdisjoint(modifiers):
                    yield file, owner, index

    def _can_extend(self, resolver: ResolutionQueries, value: Referent, file: int, owner: int) -> bool:
        """Return whether the parameter of an extension takes a value."""
        bindings = self.program.read_interface(file).facts.bindings
        parameter = next((binding for binding in bindings if binding.scope == owner and binding.type), None)
        if parameter is None:
            return False
        accepted = resolver.memoize(
            ("receiver", file, owner),
            lambda: resolver.resolve_type_text(file, owner, parameter.type, parameter.line),
        )
        if accepted is None or accepted.kind != value.kind:
            return False
        if value.kind == "external":
            return bool(value.name) and value.name.rpartition(".")[2] == accepted.name.rpartition(".")[2]
        return any(
            (ancestor.file, ancestor.index) == (accepted.file, accepted.index)
            for ancestor in resolver.find_ancestors(value.file, value.index)
        )

    def _get_visible_files(self, file: int) -> frozenset[int]:
        """Return the files of the same and of imported packages, and those with imported objects."""
        return self.program.memoize("scala visible", file, lambda: frozenset(self._iterate_visible_files(file)))

    def _iterate_visible_files(self, file: int) -> Iterator[int]:
        facts = self.program.read_interface(file).facts
        yield file
        yield from self._files_by_package.get(facts.package, ())
        for import_ in facts.imports:
            referent = self.resolve_module(file, import_.module)
            if referent is not None and referent.kind == "package":
                yield from self._files_by_package.get(referent.name, ())
            elif referent is not None and referent.file >= 0:
                yield referent.file

    # Paths

    def _resolve_path(self, file: int, module: str) -> Referent:
        """Return the referent of a path that begins with an imported name, a name of the file or a visible package."""
        path = module.removeprefix(f"{_ROOT}.")
        first_name, _, rest = path.partition(".")
        interface = self.program.read_interface(file)
        for import_ in interface.imports.get((MODULE, first_name), ()):
            target = f"{import_.module}.{import_.name}"
            if import_.module.partition(".")[0] != first_name:
                return self.resolve_module(file, f"{target}.{rest}".rstrip(".")) or Referent("external", name=module)
        for prefix in [""] if module.startswith(_ROOT) else self._get_visible_packages(file):
            referent = self._resolve_absolute(file, f"{prefix}.{path}".lstrip("."))
            if referent is not None:
                return referent
        own_types = [index for index in interface.by_name.get(first_name, ()) if self._is_type(file, index)]
        if own_types:
            referent = self._follow_path(self._to_object(Referent("definition", file, own_types[0])), rest)
            return referent or Referent("external", name=module)
        return Referent("external", name=module)

    def _resolve_absolute(self, file: int, path: str) -> Referent | None:
        """Return the package of a full path, or the declaration in its longest package."""
        parts = path.split(".")
        for length in range(len(parts), -1, -1):
            package = ".".join(parts[:length])
            self.program.record_key(f"namespace:scala:{package}")
            if package and package not in self._packages:
                continue
            if length == len(parts):
                return Referent("package", file, name=package)
            declaration = self._find_top_level(file, package, parts[length])
            if declaration is not None:
                return self._follow_path(self._to_object(declaration), ".".join(parts[length + 1 :]))
        return None

    def _follow_path(self, referent: Referent, path: str) -> Referent | None:
        """Return the declaration that a path leads to from an object."""
        for name in path.split(".") if path else ():
            indices = self.program.read_interface(referent.file).children.get(referent.index, {}).get(name, ())
            if not indices:
                return None
            referent = self._to_object(referent._replace(index=indices[0]))
        return referent

    def _to_object(self, referent: Referent) -> Referent:
        """Return the object of the same name as a type, if there is one."""
        return select_companion(self.program, referent, is_value=True) if referent.kind == "definition" else referent

    def _get_visible_packages(self, file: int) -> Sequence[str]:
        """Return the package of a file, those of its outer package clauses, and the root."""
        return self.program.memoize("scala packages", file, lambda: self._list_visible_packages(file))

    def _list_visible_packages(self, file: int) -> Sequence[str]:
        interface = self.program.read_interface(file)
        package = interface.facts.package
        imported = {import_.module for import_ in interface.star_imports if package.startswith(f"{import_.module}.")}
        return list(dict.fromkeys([package, *sorted(imported, key=len, reverse=True), ""]))

    def _find_in_package(self, file: int, package: str, name: str) -> Referent | None:
        if (referent := self._find_top_level(file, package, name)) is not None:
            return referent
        nested_package = f"{package}.{name}".lstrip(".")
        self.program.record_key(f"namespace:scala:{nested_package}")
        if nested_package in self._packages:
            return Referent("package", self._any_file, name=nested_package)
        return None

    def _find_top_level(self, file: int, package: str, name: str) -> Referent | None:
        """Return the declaration of a package, or of its package object; of several the nearest to a file."""
        self.program.record_key(f"name:scala:{name}")
        declarations = self.program.memoize(
            "scala top", (package, name), lambda: list(self._iterate_top_level(package, name))
        )
        return Referent("definition", *select_nearest(self.program, file, declarations)) if declarations else None

    def _iterate_top_level(self, package: str, name: str) -> Iterator[tuple[int, int]]:
        for file, index in self.program.find_declarations(name, self.languages):
            definitions = self.program.peek(file).definitions
            if definitions[index].kind in ("impl", "namespace") or definitions[index].owner:
                continue
            parent = definitions[index].parent
            if parent == MODULE:
                container = self.program.rows[file].package
            elif definitions[parent].kind == "namespace":
                container = f"{self.program.rows[file].package}.{definitions[parent].qualified_name}".lstrip(".")
            else:
                continue
            if container == package:
                yield file, index

    def _is_type(self, file: int, index: int) -> bool:
        return self.program.peek(file).definitions[index].kind in TYPE_KINDS - {"impl"}

    @cached_property
    def _files_by_package(self) -> dict[str, list[int]]:
        files: dict[str, list[int]] = {}
        for file, row in enumerate(self.program.rows):
            if row.language in self.languages:
                for package in (row.package, *(f"{row.package}.{name}".lstrip(".") for name in row.namespaces)):
                    files.setdefault(package, []).append(file)
        return files

    @cached_property
    def _packages(self) -> frozenset[str]:
        """Declared packages and their enclosing packages."""
        packages: set[str] = set()
        for package in self._files_by_package:
            packages.update(_iterate_enclosing_packages(package))
        return frozenset(packages - {""})

    @cached_property
    def _any_file(self) -> int:
        return next(file for file, row in enumerate(self.program.rows) if row.language in self.languages)


def _iterate_enclosing_packages(package: str) -> Iterator[str]:
    """Yield a package and the packages around it, the root last."""
    while package:
        yield package
        package = package.rpartition(".")[0]
    yield ""
