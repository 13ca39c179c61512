"""C, C++ and CUDA: what a file includes is visible in it; namespaces are open; a prototype stands for its definition."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

from coderag.codegraph.linking.program import MODULE, Program
from coderag.codegraph.linking.queries import ResolutionQueries
from coderag.codegraph.linking.referents import CALLABLE_KINDS, RESOLVER_PRECISION, TYPE_KINDS, Referent
from coderag.codegraph.linking.rules.base import LanguageRules
from coderag.codegraph.linking.rules.c_declarations import DeclarationIndex, GlobalDeclaration, list_outer_namespaces
from coderag.codegraph.linking.rules.c_includes import C_FAMILY, Includes
from coderag.codegraph.linking.rules.proximity import select_nearest
from coderag.codegraph.linking.rules.standard_names import read_names
from coderag.schema.facts import PROTOTYPE_MODIFIER, Binding, Definition, Import
from coderag.schema.vocabulary import MIN_RESOLVED_CONFIDENCE

_ELEMENT_METHODS: Final = read_names("c_family", "element_methods")
_COLLECTION_METHODS: Final = read_names("c_family", "collection_methods")
_POINTER_METHODS: Final = read_names("c_family", "pointer_methods")
_STANDARD_FUNCTIONS: Final = read_names("c_family", "functions")
_SHARED_KINDS: Final = frozenset({"macro", "constant", *TYPE_KINDS})
_MAX_NEARBY_FILES: Final = 64  # beyond these, the directly included files alone have candidates
_CANDIDATE_CONFIDENCE: Final = 0.8 * MIN_RESOLVED_CONFIDENCE


class CFamilyRules(LanguageRules):
    """Rules of C and C++."""

    languages = C_FAMILY
    self_names = ("this",)
    super_names = ()
    factory_methods = ()
    prefers_package_to_stars = True
    inherits_nested_types = True
    requires_declared_types = True
    indexes_pointers = True
    hidden_kinds = frozenset({"namespace"})
    wrapper_types = read_names("c_family", "wrapper_types")
    collection_types = read_names("c_family", "collection_types")
    unique_method_confidence = _CANDIDATE_CONFIDENCE
    common_methods: ClassVar[frozenset[str]] = (
        _ELEMENT_METHODS | _COLLECTION_METHODS | _POINTER_METHODS | read_names("plain", "common_methods")
    )

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._includes = Includes(program)
        self._declarations = DeclarationIndex(program, self._includes)

    # Files and namespaces

    def resolve_module(self, file: int, module: str) -> Referent | None:
        """Return the file of an include, or the namespace of a ``using`` directive."""
        target = self._includes.resolve(file, module)
        if target is not None:
            return Referent("module", target)
        return self._find_namespace(file, module.replace("::", ".")) or Referent("external", name=module)

    def extract_package_name(self, name: str) -> str:
        """Return the include as written."""
        return name

    def find_visible_files(self, file: int) -> Sequence[int]:
        """Return the files that a file includes, directly or not; none if there are very many."""
        files = self._includes.find_visible_files(file) - {file}
        return sorted(files) if len(files) <= _MAX_NEARBY_FILES else ()

    def find_package_member(self, resolver: ResolutionQueries, package: str, name: str) -> Referent | None:
        """Return the declaration of a namespace by a name, or a namespace inside it.

        Args:
            package: Number of the file that names the namespace, a colon, and the namespace.
        """
        file, _, namespace = package.partition(":")
        return self._find_in_namespaces(int(file), name, [namespace]) or self._find_namespace(
            int(file), f"{namespace}.{name}", is_relative=False
        )

    def resolve_in_package(self, resolver: ResolutionQueries, file: int, name: str) -> Referent | None:
        """Return a declaration of the file's namespaces that its includes show, or a namespace."""
        return self._find_in_namespaces(file, name, self._get_namespaces(file)) or self._find_namespace(file, name)

    def resolve_import(self, resolver: ResolutionQueries, file: int, import_: Import) -> Referent | None:
        """Return the file of an include, or the target of a ``using`` declaration."""
        if import_.module:
            return self.resolve_module(file, import_.module)
        first_name, *names = import_.name.replace("::", ".").split(".")
        referent = self._find_namespace(file, first_name) or self._find_in_namespaces(
            file, first_name, self._get_namespaces(file)
        )
        for name in names:
            referent = resolver.find_member(referent, name) if referent else None
        return referent

    def _find_namespace(self, file: int, name: str, *, is_relative: bool = True) -> Referent | None:
        """Return the namespace of a name, as seen from a file's namespaces if it `is_relative`."""
        for outer in self._get_namespaces(file) if is_relative else [""]:
            namespace = f"{outer}.{name}".lstrip(".")
            if self._declarations.is_namespace(namespace):
                return Referent("package", file, name=f"{file}:{namespace}")
        return None

    def _get_namespaces(self, file: int) -> Sequence[str]:
        """Return the namespaces that a file declares and their enclosing ones, longest first, then the global one.

        Namespaces that visible files use as a whole come last.
        """
        return self.program.memoize("namespaces around", file, lambda: self._collect_namespaces(file))

    def _collect_namespaces(self, file: int) -> Sequence[str]:
        definitions = self.program.read_interface(file).definitions
        names = {definition.qualified_name for definition in definitions if definition.kind == "namespace"}
        outer_names = {outer for name in names for outer in list_outer_namespaces(name)}
        own_names = [*sorted(outer_names, key=lambda name: (-name.count("."), name)), ""]
        used_names = {
            import_.module.replace("::", ".")
            for visible_file in self._includes.find_visible_files(file)
            for import_ in self.program.read_interface(visible_file).star_imports
            if import_.scope == MODULE
        }
        used = (f"{outer}.{name}".lstrip(".") for name in sorted(used_names) for outer in own_names)
        return [*dict.fromkeys([*own_names, *filter(self._declarations.is_namespace, used)])]

    # Declarations

    def _find_in_namespaces(self, file: int, name: str, namespaces: Sequence[str]) -> Referent | None:
        """Return the declaration of a name in the first namespace that has it."""
        declarations = self._declarations.find(name)
        if not declarations:
            return None
        visible_files = self._includes.find_visible_files(file)
        for namespace in namespaces:
            visible = [
                declaration
                for declaration in declarations
                if declaration.namespace == namespace and declaration.file in visible_files
            ]
            if visible:
                return self._select(file, visible, RESOLVER_PRECISION["import"])
        return self._find_unseen(file, name, declarations, namespaces)

    def _find_unseen(
        self, file: int, name: str, declarations: Sequence[GlobalDeclaration], namespaces: Sequence[str]
    ) -> Referent | None:
        """Return the only definition that a file may name without an include that leads to it.

        Linkers find functions by their bare names, and a file that others include sees what they see. The definition is a
        candidate only, unless it is in the folder of a file that is visible.
        """
        definitions = [
            declaration
            for declaration in declarations
            if declaration.namespace in namespaces
            and not (declaration.is_prototype or declaration.is_internal)
            and (declaration.kind == "function" or self._is_shared(declaration))
        ]
        if len({declaration.file for declaration in definitions}) != 1 or name in _STANDARD_FUNCTIONS:
            return None
        confidence = _CANDIDATE_CONFIDENCE
        if self._includes.get_folder(definitions[-1].file) in self._includes.find_visible_folders(file):
            is_type = definitions[-1].kind in TYPE_KINDS  # the file may declare it without its body: ``class Foo;``
            confidence = RESOLVER_PRECISION["star" if is_type else "unique"]
        return Referent("definition", definitions[-1].file, definitions[-1].index, "", "unique", confidence)

    def _is_shared(self, declaration: GlobalDeclaration) -> bool:
        """Return whether a macro or type is in a header: other files may see it."""
        return declaration.kind in _SHARED_KINDS and self._includes.is_header(declaration.file)

    def _select(self, file: int, declarations: Sequence[GlobalDeclaration], confidence: float) -> Referent:
        """Return one of several visible declarations: a definition; of those in several files the nearest."""
        definitions = [declaration for declaration in declarations if not declaration.is_prototype]
        group = definitions or declarations
        own = [declaration for declaration in group if declaration.file == file] or group
        target = select_nearest(self.program, file, [(declaration.file, declaration.index) for declaration in own])
        if len({declaration.file for declaration in own}) > 1:
            confidence *= RESOLVER_PRECISION["union"] if definitions else 1
        return Referent("definition", *target, "", "import", confidence)

    def find_definition(self, resolver: ResolutionQueries, file: int, index: int) -> Referent | None:
        """Return the definition of a prototype; None for any other declaration, or if there is none."""
        definition = self.program.get_definition(file, index)
        if PROTOTYPE_MODIFIER not in definition.modifiers.split():
            return None
        key = file, index
        return self.program.memoize("definition", key, lambda: self._find_definition(resolver, file, index, definition))

    def _find_definition(
        self, resolver: ResolutionQueries, file: int, index: int, definition: Definition
    ) -> Referent | None:
        target = self._declarations.find_definition(file, index)
        if target is None and definition.kind == "method":
            target = self._find_method_definition(resolver, file, index, definition)
        return target and Referent("definition", target[0], target[1], "", "scope", target[2])

    def _find_method_definition(
        self, resolver: ResolutionQueries, file: int, index: int, prototype: Definition
    ) -> tuple[int, int, float] | None:
        """Return the definition of a method that its type only declares; of overloads, that at the same position."""
        for language in self.languages:
            self.program.record_key(f"name:{language}:{prototype.name}")
        type_name = self.program.get_definition(file, prototype.parent).name if prototype.parent != MODULE else ""
        bodies = [
            (other_file, other_index)
            for other_file, other_index in self.program.find_declarations(prototype.name, self.languages)
            if (other := self.program.peek(other_file).definitions[other_index]).owner.rpartition("::")[2] == type_name
            and type_name
            and PROTOTYPE_MODIFIER not in other.modifiers
            and (file, prototype.parent) in self.find_owner_types(resolver, other_file, other)
        ]
        if not bodies:
            return None
        nearest_file = select_nearest(self.program, file, bodies)[0]
        same_file = [other_index for other_file, other_index in bodies if other_file == nearest_file]
        definitions = self.program.read_interface(file).definitions
        overloads = [
            other
            for other in self.program.read_interface(file).children[prototype.parent][prototype.name]
            if PROTOTYPE_MODIFIER in definitions[other].modifiers
        ]
        position = overloads.index(index)
        return nearest_file, same_file[position if len(same_file) == len(overloads) else 0], 1.0

    # Types

    def find_owner_types(
        self, resolver: ResolutionQueries, file: int, definition: Definition
    ) -> Sequence[tuple[int, int]]:
        """Return the type that qualifies an out-of-line definition, or the fixture of a test."""
        if not definition.owner:
            return ()
        return self.program.memoize(
            "owner", (file, definition.parent, definition.owner), lambda: self._find_owner(resolver, file, definition)
        )

    def _find_owner(self, resolver: ResolutionQueries, file: int, definition: Definition) -> Sequence[tuple[int, int]]:
        owner = resolver.resolve_type_text(file, definition.parent, definition.owner, definition.start_line)
        return [(owner.file, owner.index)] if owner is not None and owner.kind == "instance" else ()

    def can_override(self, definition: Definition) -> bool:
        """Return whether a method can override another one."""
        return "static" not in definition.modifiers.split() and not definition.name.startswith("~")

    def is_overridable(self, definition: Definition) -> bool:
        """Return whether a method is virtual."""
        return bool({"virtual", "override", "final"} & set(definition.modifiers.split()))

    def find_implicit_member(self, resolver: ResolutionQueries, file: int, index: int, name: str) -> Referent | None:
        """Return a constant of an unscoped enum in a type, or a method of the smart pointer around a value."""
        interface = self.program.read_interface(file)
        for enum_indices in interface.children.get(index, {}).values():
            for enum in enum_indices:
                definition = interface.definitions[enum]
                if definition.kind == "enum" and "class" not in definition.modifiers.split():
                    for constant in interface.children.get(enum, {}).get(name, ()):
                        return Referent("definition", file, constant)
        return Referent("supplier", file, index) if name in _POINTER_METHODS else None

    def find_collection_member(self, owner: Referent, name: str) -> Referent | None:
        """Return a method of a standard container that returns an element or an iterator, or what an iterator points to."""
        if name in ("first", "second"):
            return Referent("instance", owner.file, owner.index, "", "return", owner.confidence)
        if name in _ELEMENT_METHODS or name in _COLLECTION_METHODS:
            kind = "" if name in _ELEMENT_METHODS else "elements"
            return Referent("supplier", owner.file, owner.index, kind, "return", owner.confidence)
        return None

    def find_slot_values(self, resolver: ResolutionQueries, owner: Referent | None, name: str) -> Sequence[Referent]:
        """Return the functions that initialisers put into a field of a struct."""
        return [
            function
            for function, table_type in self._iterate_slot_values(resolver, name)
            if owner is None or table_type is None or (owner.file, owner.index) == (table_type.file, table_type.index)
        ]

    def _iterate_slot_values(
        self, resolver: ResolutionQueries, field: str
    ) -> Iterator[tuple[Referent, Referent | None]]:
        """Yield the functions that initialisers put into a field, each with the type of its struct if that is known."""
        for file, binding in self.program.find_bindings(field, self.languages):
            if binding.scope == MODULE or not binding.value:
                continue
            function = self._find_function(resolver, file, binding)
            if function is not None:
                table = resolver.infer_value(Referent("definition", file, binding.scope))
                yield function, table if table is not None and table.kind == "instance" else None

    def _find_function(self, resolver: ResolutionQueries, file: int, binding: Binding) -> Referent | None:
        """Return the function that a binding has as its value."""
        referent = resolver.infer_first_binding(file, [binding])
        if referent is None or referent.kind != "definition":
            return None
        is_function = self.program.get_definition(referent.file, referent.index).kind in CALLABLE_KINDS
        return Referent("definition", referent.file, referent.index) if is_function else None
