"""Swift: modules by folder, whose files see one another; extensions of types and protocols in any file."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import ClassVar, Final

from coderag.codegraph.linking.overloads import can_take_arguments, strip_arity
from coderag.codegraph.linking.program import MODULE, Program
from coderag.codegraph.linking.queries import ResolutionQueries
from coderag.codegraph.linking.referents import RESOLVER_PRECISION, TYPE_KINDS, Referent
from coderag.codegraph.linking.rules.base import LanguageRules
from coderag.codegraph.linking.rules.proximity import select_nearest
from coderag.codegraph.linking.rules.standard_names import read_names
from coderag.schema.facts import ARGUMENT_STEP, Definition
from coderag.schema.vocabulary import MIN_RESOLVED_CONFIDENCE

_ELEMENT_METHODS: Final = read_names("swift", "element_methods")
_COLLECTION_METHODS: Final = read_names("swift", "collection_methods")
_TARGET_FOLDER: Final = re.compile(r"(?:.*/)?(?:Benchmarks|Examples|Plugins|Sources?|Tests?)/(?P<name>[^/]+)(?=/)")
_PRIVATE_MODIFIERS: Final = frozenset({"private", "fileprivate"})
_CLOSURE_TYPE: Final = re.compile(r"\((?P<arguments>.*)\)\s*(?:async\s*|throws\s*|rethrows\s*)*->.*", re.DOTALL)

_UNKNOWN_TYPE: Final = "?"
_SEQUENCES: Final = "Collection Sequence BidirectionalCollection RandomAccessCollection MutableCollection"
_SUPERTYPES: Final = {
    "String": f"StringProtocol {_SEQUENCES} RangeReplaceableCollection LosslessStringConvertible",
    "Substring": f"StringProtocol {_SEQUENCES} RangeReplaceableCollection",
    "Array": f"{_SEQUENCES} RangeReplaceableCollection",
    "Set": "Collection Sequence SetAlgebra",
    "Dictionary": "Collection Sequence",
    "Int": "BinaryInteger FixedWidthInteger SignedInteger Numeric Comparable",
    "Double": "FloatingPoint BinaryFloatingPoint Numeric Comparable",
}
"""Protocols of types of the standard library that are extended most."""


class SwiftRules(LanguageRules):
    """Rules of Swift.

    Args:
        program: All files.
    """

    languages = ("swift",)
    self_names = ("self",)
    self_type_names = ("Self", "init")
    super_names = ("super",)
    overloads_by_arity = True
    has_extension_methods = True
    has_receiver_functions = True
    overrides_fields = True
    call_method = "callAsFunction/"
    inherits_nested_types = True
    requires_declared_types = True
    declares_before_use = True
    unique_method_confidence = 0.9 * MIN_RESOLVED_CONFIDENCE  # only the file itself is searched
    builtins = read_names("swift", "builtins")
    collection_types = read_names("swift", "collection_types")
    wrapper_types = frozenset({"Optional", "UnsafePointer", "UnsafeMutablePointer", "Published", "Binding", "State"})
    common_methods: ClassVar[frozenset[str]] = (
        _ELEMENT_METHODS | _COLLECTION_METHODS | read_names("swift", "common_methods")
    )

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._targets = [_find_target(row.path) for row in program.rows]

    # Modules

    def resolve_module(self, file: int, module: str) -> Referent | None:
        """Return the module of a name; external if no folder is one."""
        name = module.partition(".")[0]
        self.program.record_key(f"module:{name}")
        return (
            Referent("package", file, name=name) if name in self._files_by_module else Referent("external", name=name)
        )

    def find_package_member(self, resolver: ResolutionQueries, package: str, name: str) -> Referent | None:
        """Return a declaration of a module."""
        declarations = [
            declaration
            for declaration in self._find_top_level(resolver, name)
            if _get_module_name(self._targets[declaration[0]]) == package
        ]
        return Referent("definition", *declarations[0]) if declarations else None

    def find_package_files(self, package: str) -> Sequence[int]:
        """Return the files of a module."""
        return self._files_by_module.get(package, ())

    def find_visible_files(self, file: int) -> Sequence[int]:
        """Return no further files: the types of receivers lead to those that matter."""
        return ()

    def resolve_in_package(self, resolver: ResolutionQueries, file: int, name: str) -> Referent | None:
        """Return a declaration of a file's own module, or of a module that it imports; or the module of a name."""
        visible = [
            declaration for declaration in self._find_top_level(resolver, name) if self._is_visible(file, *declaration)
        ]
        own_target = self._targets[file]
        own = [declaration for declaration in visible if self._targets[declaration[0]] == own_target]
        if own or visible:
            resolver_name = "package" if own else "import"
            declaration = select_nearest(self.program, file, own or visible)
            return Referent("definition", *declaration, "", resolver_name, RESOLVER_PRECISION[resolver_name])
        is_module = "/" not in name and name in self._files_by_module
        return Referent("package", file, name=name) if is_module else None

    def extract_package_name(self, name: str) -> str:
        """Return the module of an import."""
        return name.partition(".")[0]

    # Types and their extensions

    def find_owner_types(
        self, resolver: ResolutionQueries, file: int, definition: Definition
    ) -> Sequence[tuple[int, int]]:
        """Return the type that an extension extends."""
        if definition.kind != "impl":
            return ()
        name = f"{definition.owner.replace('::', '.')}.{definition.name}".lstrip(".")
        owner = self.program.memoize(
            "swift extension",
            (file, definition.parent, name),
            lambda: resolver.resolve_type_text(file, definition.parent, name, definition.start_line),
        )
        is_declared = owner is not None and owner.kind == "instance"
        return [(owner.file, owner.index)] if owner is not None and is_declared else ()

    def find_other_parts(self, resolver: ResolutionQueries, file: int, index: int) -> Sequence[tuple[int, int]]:
        """Return the extensions of a type; for an extension the type and its other extensions."""
        definition = self.program.read_interface(file).definitions[index]
        if definition.kind not in TYPE_KINDS:
            return ()
        owners = self.find_owner_types(resolver, file, definition) if definition.kind == "impl" else [(file, index)]
        return [
            part
            for owner in owners
            for part in (owner, *self._find_extensions(resolver, *owner))
            if part != (file, index)
        ]

    def find_out_of_line_members(
        self, resolver: ResolutionQueries, file: int, index: int, name: str
    ) -> Sequence[tuple[int, int]]:
        """Return the members of a name in the other parts of a type."""
        return [
            (part_file, member)
            for part_file, part in self.find_other_parts(resolver, file, index)
            for member in resolver.find_scope_declarations(part_file, part, name)
        ]

    def find_implicit_member(self, resolver: ResolutionQueries, file: int, index: int, name: str) -> Referent | None:
        """Return the initializer that every type has, the cases of an enum, or a type parameter of an extended type."""
        if strip_arity(name) == "init":
            return Referent("supplier", file, index)
        definition = self.program.read_interface(file).definitions[index]
        if definition.kind == "enum" and name == "allCases":
            return Referent("elements", file, index)
        for owner_file, owner in self.find_owner_types(resolver, file, definition):
            is_parameter = (owner, name) in self.program.read_interface(owner_file).bindings
            member = resolver.find_own_member(owner_file, owner, name)
            return member or (Referent("external", name=name) if is_parameter else None)
        return None

    def find_overridden_member(
        self, resolver: ResolutionQueries, ancestor: Referent, definition: Definition
    ) -> Referent | None:
        """Return the member of an ancestor with the same argument labels as another member."""
        overridden = super().find_overridden_member(resolver, ancestor, definition)
        if overridden is None or overridden.kind != "definition":
            return overridden
        interface = self.program.read_interface(overridden.file)
        parent, labels = interface.definitions[overridden.index].parent, _get_labels(definition)
        for index in (overridden.index, *interface.by_name.get(definition.name, ())):
            other = interface.definitions[index]
            if other.parent == parent and _get_labels(other) == labels:
                return overridden._replace(index=index)
        return None

    def find_extension_method(
        self, resolver: ResolutionQueries, file: int, receiver: Referent, name: str
    ) -> Referent | None:
        """Return the visible member of an extension of a type that the repository does not declare."""
        value = resolver.infer_value(receiver)
        type_name = "" if value is None else self._get_external_name(value)
        if value is None or not type_name:
            return None
        supertypes = {type_name, *_SUPERTYPES.get(type_name, "").split()}
        members = self._find_extension_members(file, name)
        matching = [member for member in members if self._get_extended_name(*member) in supertypes]
        certainty = RESOLVER_PRECISION["import"] * RESOLVER_PRECISION["value"]
        if not matching and value.kind == "external" and strip_arity(name) not in self.common_methods:
            is_known = type_name in self.builtins  # its supertypes are in the table
            declared = self.program.find_declarations(strip_arity(name), self.languages)
            matching = list(members) if len(members) == len(declared) == 1 and not is_known else []
            certainty = RESOLVER_PRECISION["unique"]
        if not matching:
            return None
        declaration = select_nearest(self.program, file, matching)
        return Referent("definition", *declaration, "", "import", certainty)

    def find_implied_member(self, resolver: ResolutionQueries, file: int, name: str) -> Referent | None:
        """Return the only visible case or static member of a name: the context may expect another type."""
        bare_name = strip_arity(name)
        if bare_name in self.common_methods or bare_name in self.builtins:
            return None
        self.program.record_key(f"name:swift:{bare_name}")
        members = [
            (other_file, index)
            for other_file, index in self.program.find_declarations(bare_name, self.languages)
            if self._is_static(other_file, index) and self._is_visible(file, other_file, index)
        ]
        owners = {(member[0], self.program.peek(member[0]).definitions[member[1]].parent) for member in members}
        if len(owners) != 1:
            return None
        return Referent("definition", *members[0], "", "unique", RESOLVER_PRECISION["unique"])

    def _is_static(self, file: int, index: int) -> bool:
        """Return whether a declaration is a static member or the case of an enum."""
        definitions = self.program.peek(file).definitions
        definition = definitions[index]
        if definition.parent == MODULE or definitions[definition.parent].kind not in TYPE_KINDS:
            return False
        is_case = definition.kind == "field" and definitions[definition.parent].kind == "enum"
        return is_case or "static" in definition.modifiers.split()

    def _find_extension_members(self, file: int, name: str) -> Sequence[tuple[int, int]]:
        """Return the visible members of a name in extensions of types that the repository does not declare."""
        bare_name, _, argument_count = name.partition("/")
        self.program.record_key(f"name:swift:{bare_name}")
        members = []
        for other_file, index in self.program.find_declarations(bare_name, self.languages):
            definitions = self.program.peek(other_file).definitions
            parent = definitions[index].parent
            if parent == MODULE or definitions[parent].kind != "impl":
                continue
            if argument_count and not can_take_arguments(definitions[index], int(argument_count)):
                continue
            if self._is_visible(file, other_file, index) and not self._is_declared(definitions[parent].name):
                members.append((other_file, index))
        return members

    def _is_declared(self, name: str) -> bool:
        """Return whether the repository declares a type of a name."""
        self.program.record_key(f"name:swift:{name}")
        return any(
            (kind := self.program.peek(file).definitions[index].kind) in TYPE_KINDS and kind != "impl"
            for file, index in self.program.find_declarations(name, self.languages)
        )

    def _get_extended_name(self, file: int, index: int) -> str:
        definitions = self.program.peek(file).definitions
        return definitions[definitions[index].parent].name

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
        """Return the first argument of the closure that a function takes last, by its declared type."""
        if function.kind != "definition" or step != ARGUMENT_STEP:
            return None
        definition = self.program.get_definition(function.file, function.index)
        match = _CLOSURE_TYPE.search(definition.parameters)
        if match is None or not match["arguments"]:
            return None
        first = match["arguments"].partition(",")[0].rpartition(":")[2]
        return resolver.resolve_type_text(function.file, function.index, first, definition.start_line)

    def can_override(self, definition: Definition) -> bool:
        """Return whether a member can override another one, or implement a requirement."""
        return definition.name != "deinit" and _PRIVATE_MODIFIERS.isdisjoint(definition.modifiers.split())

    def is_property(self, definition: Definition) -> bool:
        """Return whether a function is the code of a property."""
        return "var" in definition.modifiers.split()

    # Details

    def _find_extensions(self, resolver: ResolutionQueries, file: int, index: int) -> Sequence[tuple[int, int]]:
        """Return the extensions of a type, as (file, index)."""
        name = self.program.get_definition(file, index).name
        self.program.record_key(f"name:swift:{name}")
        return [
            (other_file, extension)
            for other_file, extension in self.program.find_declarations(name, self.languages)
            if (definition := self.program.peek(other_file).definitions[extension]).kind == "impl"
            and (file, index) in self.find_owner_types(resolver, other_file, definition)
        ]

    def _get_external_name(self, value: Referent) -> str:
        """Return the name of a type that the repository extends without declaring it; empty for any other."""
        if value.kind == "external":
            name = strip_arity(value.name.rpartition(".")[2])
            return name if name[:1].isupper() else _UNKNOWN_TYPE
        if value.kind == "elements":
            return "Array"
        if value.kind != "instance":
            return ""
        definition = self.program.get_definition(value.file, value.index)
        return definition.name if definition.kind == "impl" else ""

    def _find_top_level(self, resolver: ResolutionQueries, name: str) -> Iterator[tuple[int, int]]:
        """Yield the top-level declarations that a name refers to in any module, as (file, index)."""
        bare_name = strip_arity(name)
        self.program.record_key(f"name:swift:{bare_name}")
        files = dict.fromkeys(
            file
            for file, index in self.program.find_declarations(bare_name, self.languages)
            if (definition := self.program.peek(file).definitions[index]).parent == MODULE and definition.kind != "impl"
        )
        for file in files:
            for index in resolver.find_scope_declarations(file, MODULE, name):
                yield file, index

    def _is_visible(self, file: int, other_file: int, index: int) -> bool:
        """Return whether a file sees a declaration at the top level: in its own module, or in one that it imports."""
        if file == other_file:
            return True
        definition = self.program.peek(other_file).definitions[index]
        if definition.parent == MODULE and not _PRIVATE_MODIFIERS.isdisjoint(definition.modifiers.split()):
            return False
        target, other_target = self._targets[file], self._targets[other_file]
        return target == other_target or not other_target or _get_module_name(other_target) in self._get_imports(file)

    def _get_imports(self, file: int) -> frozenset[str]:
        return self.program.memoize(
            "swift imports",
            file,
            lambda: frozenset(
                import_.module.partition(".")[0] for import_ in self.program.read_interface(file).facts.imports
            ),
        )

    @cached_property
    def _files_by_module(self) -> dict[str, list[int]]:
        """Files of each module by its name."""
        files: dict[str, list[int]] = {}
        for file, row in enumerate(self.program.rows):
            if row.language in self.languages and self._targets[file]:
                files.setdefault(_get_module_name(self._targets[file]), []).append(file)
        return files


def _find_target(path: str) -> str:
    """Return the folder of the target that a file belongs to, such as ``Sources/Core``; empty if it is in none."""
    match = _TARGET_FOLDER.match(path)
    return match[0] if match else ""


def _get_labels(definition: Definition) -> str:
    """Return the argument labels of a function; empty for any other member."""
    return next((word for word in definition.modifiers.split() if word.startswith("(")), "")


def _get_module_name(target: str) -> str:
    return target.rpartition("/")[2]
