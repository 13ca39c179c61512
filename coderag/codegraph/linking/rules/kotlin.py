"""Kotlin: packages by declaration, shared with Java; extensions, receivers of closures, companions."""

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

from coderag.codegraph.linking.overloads import can_take_arguments, strip_arity
from coderag.codegraph.linking.program import MODULE, Program
from coderag.codegraph.linking.queries import ResolutionQueries
from coderag.codegraph.linking.referents import RESOLVER_PRECISION, TYPE_KINDS, Referent
from coderag.codegraph.linking.rules.base import LanguageRules
from coderag.codegraph.linking.rules.jvm_packages import (
    JVM_LANGUAGES,
    JvmPackages,
    find_property_name,
    iterate_accessors,
)
from coderag.codegraph.linking.rules.proximity import select_for_platform
from coderag.codegraph.linking.rules.standard_names import read_names
from coderag.schema.facts import EXTENSION_MODIFIER, RECEIVER_STEP, Definition, Import
from coderag.schema.vocabulary import MIN_RESOLVED_CONFIDENCE

_ELEMENT_METHODS: Final = read_names("kotlin", "element_methods")
_COLLECTION_METHODS: Final = read_names("kotlin", "collection_methods")
_IDENTITY_METHODS: Final = read_names("kotlin", "identity_methods")
_PLATFORM_MODIFIERS: Final = frozenset({"actual", "expect"})
_BUILTIN_MEMBERS: Final = read_names("kotlin", "builtin_members")
_ENUM_MEMBERS: Final = {"values/0": "elements", "entries": "elements", "valueOf/1": ""}
_COMPANION: Final = ".Companion"
_TYPE_INSTANCES: Final = frozenset({"INSTANCE", "Companion"})
_NULLABLE_CLOSURE: Final = re.compile(r"^\((.*->.*)\)\?$")
_CLOSURE_TYPE: Final = re.compile(
    r"(?:suspend\s+)?(?:(?P<receiver>[\w.]+(?:<.*?>)?\??)\.)?\((?P<arguments>.*)\)\s*->.*", re.DOTALL
)


class KotlinRules(LanguageRules):
    """Rules of Kotlin.

    Args:
        program: All files.
    """

    languages = ("kotlin",)
    interoperable_languages = ("java",)
    self_names = ("this",)
    super_names = ("super",)
    overloads_by_arity = True
    has_extension_methods = True
    has_receiver_functions = True
    overrides_fields = True
    call_method = "invoke/"
    prefers_package_to_stars = True
    inherits_nested_types = True
    requires_declared_types = True
    has_block_scope = True
    declares_before_use = True
    unique_method_confidence = 0.9 * MIN_RESOLVED_CONFIDENCE  # the receiver may be of a standard type
    builtins = read_names("kotlin", "builtins")
    collection_types = read_names("kotlin", "collection_types")
    common_methods: ClassVar[frozenset[str]] = (
        _ELEMENT_METHODS
        | _COLLECTION_METHODS
        | _IDENTITY_METHODS
        | _BUILTIN_MEMBERS
        | read_names("kotlin", "common_methods")
    )

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._packages = JvmPackages(program)

    # Packages and imports

    def resolve_module(self, file: int, module: str) -> Referent | None:
        """Return the package of a name, or the type of a qualified name, whatever the folder."""
        if self._packages.has_package(module):
            return Referent("package", file, name=module)
        package, _, name = module.removesuffix(_COMPANION).rpartition(".")
        owner = self.resolve_module(file, package) if package else None
        if owner is not None and owner.kind == "package":
            types = self._packages.find_types(package, name)
            if types:
                return Referent("definition", *select_for_platform(self.program, file, types))
        if owner is not None and owner.kind == "definition":
            nested = self.program.read_interface(owner.file).children.get(owner.index, {}).get(name, ())
            if nested:
                return Referent("definition", owner.file, nested[0])
        return Referent("external", name=module)

    def find_package_member(self, resolver: ResolutionQueries, package: str, name: str) -> Referent | None:
        """Return a declaration of a package, or a package inside it."""
        return self._find_in_package(resolver, -1, package, name)

    def resolve_in_package(self, resolver: ResolutionQueries, file: int, name: str) -> Referent | None:
        """Return a declaration of a file's own package, or the first part of a qualified name."""
        package = self.program.read_interface(file).facts.package
        referent = self._find_top_level(resolver, file, package, name)
        if referent is not None and self._get_build_module(referent.file) != self._get_build_module(file):
            referent = self._find_in_star_imports(resolver, file, name) or referent
        if referent is not None:
            return referent.replace_resolver("package", RESOLVER_PRECISION["package"])
        return Referent("package", file, name=name) if "/" not in name and self._packages.has_package(name) else None

    def resolve_import(self, resolver: ResolutionQueries, file: int, import_: Import) -> Referent | None:
        """Return the referent of an import: a declaration, or a member of an object or a type."""
        referent = self.resolve_module(file, import_.module)
        if referent is None or import_.name in ("", "*"):
            return referent
        if referent.kind == "package":
            member = self._find_in_package(resolver, file, referent.name, import_.name)
            if member is not None and member.kind != "external":
                return member
            return self._find_imported_extension(file, referent.name, import_.name) or member
        if referent.kind != "definition":
            return Referent("external", name=f"{import_.module}.{import_.name}")
        member = resolver.find_member(referent, import_.name)
        if member is None or member.kind == "external":
            module = import_.module.removesuffix(_COMPANION)
            for declaration in self._find_extensions(strip_arity(import_.name)):
                if declaration[0] == referent.file and self._get_module(*declaration) == module:
                    return Referent("definition", *declaration)
        return member

    def extract_package_name(self, name: str) -> str:
        """Return the package of a qualified name: the parts before the first capitalised one."""
        parts = name.split(".")
        first_type = next((n for n, part in enumerate(parts) if part[:1].isupper()), len(parts))
        return ".".join(parts[:first_type]) or name

    # Members

    def find_other_parts(self, resolver: ResolutionQueries, file: int, index: int) -> Sequence[tuple[int, int]]:
        """Return the declarations of the same type for other platforms: ``expect`` and ``actual``."""
        definition = self.program.read_interface(file).definitions[index]
        if _PLATFORM_MODIFIERS.isdisjoint(definition.modifiers.split()):
            return ()
        self.program.record_key(f"name:kotlin:{definition.name}")
        package = self.program.rows[file].package
        return [
            (other_file, other_index)
            for other_file, other_index in self.program.find_declarations(definition.name, self.languages)
            if other_file != file
            and self.program.rows[other_file].package == package
            and (other := self.program.peek(other_file).definitions[other_index]).qualified_name
            == definition.qualified_name
            and not _PLATFORM_MODIFIERS.isdisjoint(other.modifiers.split())
            and other.kind in TYPE_KINDS
        ]

    def find_out_of_line_members(
        self, resolver: ResolutionQueries, file: int, index: int, name: str
    ) -> Sequence[tuple[int, int]]:
        """Return the members of a name in the declarations for other platforms, the nearest first."""
        members = [
            (other_file, member)
            for other_file, other_index in self.find_other_parts(resolver, file, index)
            for member in resolver.find_scope_declarations(other_file, other_index, name)
        ]
        return [select_for_platform(self.program, file, members)] if members else ()

    def find_owner_types(
        self, resolver: ResolutionQueries, file: int, definition: Definition
    ) -> Sequence[tuple[int, int]]:
        """Return the supertypes of the anonymous object around a member; an extension is no member."""
        if not definition.owner or EXTENSION_MODIFIER in definition.modifiers.split():
            return ()
        instances = (
            resolver.resolve_type_text(file, definition.parent, owner, definition.start_line)
            for owner in definition.owner.split("|")
        )
        owners = [(owner.file, owner.index) for owner in instances if owner is not None and owner.kind == "instance"]
        declaring = [
            owner
            for owner in owners
            if resolver.find_own_member(*owner, f"{definition.name}/")
            or resolver.find_own_member(*owner, definition.name)
        ]
        return declaring or owners

    def find_implicit_member(self, resolver: ResolutionQueries, file: int, index: int, name: str) -> Referent | None:
        """Return a member of a companion or an enum, or the property of a Java accessor."""
        interface = self.program.read_interface(file)
        if name in _TYPE_INSTANCES:
            return Referent("instance", file, index)
        if name in _ENUM_MEMBERS and interface.definitions[index].kind == "enum":
            item_kind = _ENUM_MEMBERS[name]
            return Referent("supplier" if "/" in name else "elements", file, index, item_kind if "/" in name else "")
        children = interface.children.get(index, {})
        for companion in self._iterate_companions(file, index):
            if (member := resolver.find_member(Referent("definition", file, companion), name)) is not None:
                return member
        property_name = find_property_name(strip_arity(name)) if self._packages.is_mixed and "/" in name else ""
        properties = children.get(property_name, ())
        return Referent("definition", file, properties[0]) if properties else None

    def find_extension_method(
        self, resolver: ResolutionQueries, file: int, receiver: Referent, name: str
    ) -> Referent | None:
        """Return the visible extension of a name that accepts the receiver."""
        value = resolver.infer_value(receiver)
        if value is not None and value.kind == "definition" and name.endswith("/"):  # ``Foo::bar``
            value = value.replace_kind("instance")
        if value is None or value.kind not in ("instance", "external", "elements"):
            return None
        bare_name, is_called, argument_count = name.partition("/")
        if value.kind == "external" and bare_name in _BUILTIN_MEMBERS:
            return None  # a member has precedence
        if is_called and bare_name in _IDENTITY_METHODS and value.kind == "instance":
            return Referent("supplier", value.file, value.index, "", "return", value.confidence)
        matches: list[tuple[int, tuple[int, int]]] = []
        visible = self.program.memoize(
            "kotlin extensions", (file, bare_name), lambda: list(self._iterate_visible_extensions(file, bare_name))
        )
        for declaration in visible:
            definition = self.program.get_definition(*declaration)
            if argument_count and not can_take_arguments(definition, int(argument_count)):
                continue
            distance = self._measure_extension(resolver, value, *declaration)
            if distance is not None:
                matches.append((distance, declaration))
        if not matches:
            return None
        nearest = [declaration for distance, declaration in matches if distance == min(matches)[0]]
        declaration = select_for_platform(self.program, file, nearest)
        certainty = 1 if value.kind == "instance" else RESOLVER_PRECISION["value"]
        return Referent("definition", *declaration, "", "import", RESOLVER_PRECISION["import"] * certainty)

    def find_collection_member(self, owner: Referent, name: str) -> Referent | None:
        """Return a member of a standard collection that returns an element, or a collection of the same elements."""
        method, is_called, _ = name.partition("/")
        if method not in _ELEMENT_METHODS and method not in _COLLECTION_METHODS:
            return None
        item_kind = "" if method in _ELEMENT_METHODS else "elements"
        if is_called:
            return Referent("supplier", owner.file, owner.index, item_kind, "return", owner.confidence)
        return Referent(
            "elements" if item_kind else "instance", owner.file, owner.index, "", "return", owner.confidence
        )

    def find_closure_value(self, resolver: ResolutionQueries, function: Referent, step: str) -> Referent | None:
        """Return the receiver or the first argument of the closure that a function takes last, by its declared type."""
        if function.kind != "definition":
            return None
        definition = self.program.get_definition(function.file, function.index)
        interface = self.program.read_interface(function.file)
        overloads = [
            index
            for index in interface.by_name.get(definition.name, ())
            if index != function.index and interface.definitions[index].parent == definition.parent
        ]
        for index in (function.index, *overloads):
            if (value := self._find_parameter_value(resolver, function.file, index, step)) is not None:
                return value
        return None

    def _find_parameter_value(self, resolver: ResolutionQueries, file: int, index: int, step: str) -> Referent | None:
        definition = self.program.get_definition(file, index)
        text = _NULLABLE_CLOSURE.sub(r"\1", definition.parameters)
        if text and "->" not in text:
            alias = resolver.resolve_type_text(file, index, text, definition.start_line)
            if alias is None or alias.kind != "instance":
                return None
            file, index = alias.file, alias.index
            definition = self.program.get_definition(file, index)
            text = definition.returns if definition.kind == "type_alias" else ""
        match = _CLOSURE_TYPE.fullmatch(text)
        if match is None:
            return None
        part = match["receiver"] if step == RECEIVER_STEP else match["arguments"].rpartition(":")[2]
        if not part or "," in part:
            return None
        return resolver.resolve_type_text(file, index, part, definition.start_line)

    def can_override(self, definition: Definition) -> bool:
        """Return whether a member overrides another one: it says so."""
        return "override" in definition.modifiers.split()

    def is_property(self, definition: Definition) -> bool:
        """Return whether a function is the code of a property."""
        return not {"get", "set"}.isdisjoint(definition.modifiers.split())

    def iterate_spellings(self, name: str) -> Iterator[str]:
        """Yield the Java accessors of a property."""
        if self._packages.is_mixed:
            yield from iterate_accessors(name)

    # Details

    def _get_build_module(self, file: int) -> str:
        """Return the folder above ``src``: a package of another module may be invisible."""
        return self.program.rows[file].path.partition("/src/")[0]

    def _is_same_module(self, file: int, other_file: int) -> bool:
        """Return whether two files without a package are compiled together: they are in a source tree or in a folder."""
        paths = [self.program.rows[number].path for number in (file, other_file)]
        module, other_module = (
            path.partition("/src/")[0] if "/src/" in path else path.rpartition("/")[0] for path in paths
        )
        return module == other_module

    def _find_in_star_imports(self, resolver: ResolutionQueries, file: int, name: str) -> Referent | None:
        for import_ in self.program.read_interface(file).star_imports:
            module = self.resolve_module(file, import_.module)
            member = resolver.find_member(module, name) if module is not None and module.kind != "external" else None
            if member is not None and member.kind == "definition":
                return member
        return None

    def _find_in_package(self, resolver: ResolutionQueries, file: int, package: str, name: str) -> Referent | None:
        if (referent := self._find_top_level(resolver, file, package, name)) is not None:
            return referent
        nested_package = f"{package}.{name}"
        if self._packages.has_package(nested_package):
            return Referent("package", self._any_file, name=nested_package)
        return Referent("external", name=nested_package) if file >= 0 else None

    def _find_top_level(self, resolver: ResolutionQueries, file: int, package: str, name: str) -> Referent | None:
        """Return the declaration of a package that a name refers to; the nearest one if several modules declare it."""
        declarations: dict[tuple[int, int], None] = {}
        for other_file, index in self._packages.find_declarations(package, strip_arity(name)):
            is_private = "private" in self.program.peek(other_file).definitions[index].modifiers.split()
            if other_file != file and (is_private or not (package or self._is_same_module(file, other_file))):
                continue
            if self.program.rows[other_file].language != "kotlin" and "/" in name:
                declarations[other_file, index] = None
                continue
            for accepting in resolver.find_scope_declarations(other_file, MODULE, name):
                declarations[other_file, accepting] = None
        if not declarations:
            return None
        return Referent("definition", *select_for_platform(self.program, file, list(declarations)))

    def _iterate_companions(self, file: int, index: int) -> Iterator[int]:
        """Yield the named companion of a type."""
        interface = self.program.read_interface(file)
        for indices in interface.children.get(index, {}).values():
            for child in indices:
                definition = interface.definitions[child]
                if definition.kind == "class" and "companion" in definition.modifiers.split():
                    yield child

    def _iterate_visible_extensions(self, file: int, name: str) -> Iterator[tuple[int, int]]:
        """Yield the extensions of a name that a file sees: in its package, imported, or declared in it."""
        interface = self.program.read_interface(file)
        imports = interface.imports.get((MODULE, name), ())
        for declared_name in dict.fromkeys((name, *(import_.name for import_ in imports))):
            modules = {import_.module.removesuffix(_COMPANION) for import_ in imports if import_.name == declared_name}
            if declared_name == name:
                modules |= {interface.facts.package, *(import_.module for import_ in interface.star_imports)}
            for declaration in self._find_extensions(declared_name):
                if declaration[0] == file or (
                    self._get_module(*declaration) in modules
                    and "private" not in self.program.peek(declaration[0]).definitions[declaration[1]].modifiers.split()
                ):
                    yield declaration

    def _find_imported_extension(self, file: int, package: str, name: str) -> Referent | None:
        """Return the extension of a package that an import names; for a call, only if all are of one type."""
        bare_name, is_called, argument_count = name.partition("/")
        extensions = [
            declaration for declaration in self._find_extensions(bare_name) if self._get_module(*declaration) == package
        ]
        if argument_count:
            definitions = [(number, index, self.program.get_definition(number, index)) for number, index in extensions]
            extensions = [
                (number, index)
                for number, index, definition in definitions
                if can_take_arguments(definition, int(argument_count))
            ]
        owners = {self.program.peek(number).definitions[index].owner for number, index in extensions}
        if not extensions or (is_called and len(owners) > 1):
            return None
        return Referent("definition", *select_for_platform(self.program, file, extensions))

    def _find_extensions(self, name: str) -> Sequence[tuple[int, int]]:
        """Return all extensions of a name, as (file, index)."""
        self.program.record_key(f"name:kotlin:{name}")
        return [
            (file, index)
            for file, index in self.program.find_declarations(name, self.languages)
            if EXTENSION_MODIFIER in self.program.peek(file).definitions[index].modifiers.split()
        ]

    def _get_module(self, file: int, index: int) -> str:
        """Return the package of a top-level declaration, or the qualified name of the type around it."""
        package, definitions = self.program.rows[file].package, self.program.peek(file).definitions
        parent = definitions[index].parent
        return package if parent == MODULE else f"{package}.{definitions[parent].qualified_name}".lstrip(".")

    def _measure_extension(self, resolver: ResolutionQueries, value: Referent, file: int, index: int) -> int | None:
        """Return how far the receiver type of an extension is above the type of a value; None if it is no supertype."""
        definition = self.program.get_definition(file, index)
        owner = definition.owner.replace("::", ".")
        receiver = resolver.memoize(
            ("receiver", file, index),
            lambda: resolver.resolve_type_text(file, index, owner, definition.start_line),
        )
        is_parameter = (index, owner) in self.program.read_interface(file).bindings
        if is_parameter and (receiver is None or receiver.kind != "instance"):
            return _MAX_DISTANCE if value.kind == "instance" else None
        if owner == "Any":
            return _MAX_DISTANCE - 1 if value.kind == "instance" else None
        if receiver is None:
            return None
        if value.kind == "instance":
            return self._measure_ancestor(resolver, value, receiver)
        if value.kind == "elements":
            return 0 if owner in self.collection_types else None
        is_same = value.kind == receiver.kind == "external" and _get_last_name(value) == owner.rpartition(".")[2]
        return 0 if is_same else None

    def _measure_ancestor(self, resolver: ResolutionQueries, value: Referent, supertype: Referent) -> int | None:
        """Return how far a type is above the type of a value; None if it is no ancestor. Platforms do not matter."""
        target = supertype.file, supertype.index
        for distance, ancestor in enumerate(resolver.find_ancestors(value.file, value.index)):
            if ancestor.kind != "definition":
                is_match = supertype.kind == "external" and _get_last_name(ancestor) == _get_last_name(supertype)
            else:
                declaration = ancestor.file, ancestor.index
                is_match = declaration == target or target in self.find_other_parts(resolver, *declaration)
            if is_match:
                return distance
        return None

    @property
    def _any_file(self) -> int:
        return next((file for file, row in enumerate(self.program.rows) if row.language in JVM_LANGUAGES), 0)


def _get_last_name(referent: Referent) -> str:
    return referent.name.rpartition(".")[2]


_MAX_DISTANCE: Final = 1000
"""Distance of an extension of any type."""
