"""C#: namespaces by declaration, whatever the folders; a file sees its namespaces and its ``using`` directives."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import ClassVar, Final

from coderag.codegraph.linking.overloads import can_take_arguments, count_type_parameters, strip_arity
from coderag.codegraph.linking.program import MODULE
from coderag.codegraph.linking.queries import ResolutionQueries
from coderag.codegraph.linking.referents import RESOLVER_PRECISION, TYPE_KINDS, Referent
from coderag.codegraph.linking.rules.base import LanguageRules
from coderag.codegraph.linking.rules.proximity import select_nearest
from coderag.codegraph.linking.rules.standard_names import read_names
from coderag.codegraph.linking.type_expressions import parse_type
from coderag.schema.facts import EXTENSION_MODIFIER, Definition, Import

_ELEMENT_METHODS: Final = read_names("csharp", "element_methods")
_COLLECTION_METHODS: Final = read_names("csharp", "collection_methods")
_GLOBAL_USINGS_KEY: Final = "namespace:c_sharp:*"


class CSharpRules(LanguageRules):
    """Rules of C#."""

    languages = ("c_sharp",)
    self_names = ("this",)
    super_names = ("base",)
    overloads_by_arity = True
    overloads_types_by_arity = True
    has_extension_methods = True
    prefers_package_to_stars = True
    inherits_nested_types = True
    requires_declared_types = True
    calls_members_of_subtypes = False
    wrapper_types = frozenset({"Task", "ValueTask", "Nullable"})
    collection_types = read_names("csharp", "collection_types")
    common_methods: ClassVar[frozenset[str]] = (
        _ELEMENT_METHODS | _COLLECTION_METHODS | read_names("csharp", "common_methods")
    )

    def resolve_module(self, file: int, module: str) -> Referent | None:
        """Return the namespace of a name, or the type of a qualified name."""
        name, _, arguments = module.partition("<")
        name = f"{name}`{arguments.count(',') + 1}" if arguments else name
        self.program.record_key(f"namespace:c_sharp:{name}")
        if name in self._namespaces:
            return Referent("package", file, name=name)
        namespace, _, last_name = name.rpartition(".")
        referent = self._find_type(file, namespace, last_name)
        if referent is None and namespace:
            owner = self.resolve_module(file, namespace)
            if owner is not None and owner.kind == "definition":
                nested_indices = (
                    self.program.read_interface(owner.file).children.get(owner.index, {}).get(last_name, ())
                )
                referent = Referent("definition", owner.file, nested_indices[0]) if nested_indices else None
        return referent or Referent("external", name=name)

    def find_package_member(self, resolver: ResolutionQueries, package: str, name: str) -> Referent | None:
        """Return a type of a namespace, or a namespace inside it."""
        return self._find_in_namespace(self._any_file, package, name)

    def resolve_in_package(self, resolver: ResolutionQueries, file: int, name: str) -> Referent | None:
        """Return a declaration of a file's namespaces, innermost first, else of its project's global usings."""
        if "/" in name:
            return None
        for namespace in self._get_enclosing_namespaces(file):
            if (referent := self._find_in_namespace(file, namespace, name)) is not None:
                return referent.replace_resolver("package", RESOLVER_PRECISION["package"])
        for target in self._get_global_using_targets(file):
            if target.kind == "package":  # the common case, without a detour through the resolver
                referent = self.find_package_member(resolver, target.name, name)
            else:
                referent = resolver.find_member(target, name)
            if referent is not None and referent.kind == "definition":
                return referent.replace_resolver("import", RESOLVER_PRECISION["star"])
        return None

    def resolve_import(self, resolver: ResolutionQueries, file: int, import_: Import) -> Referent | None:
        """Return the namespace or the target of an alias, as seen from the file's namespaces."""
        referent = self.resolve_module(file, import_.module)
        if referent is not None and referent.kind == "external":
            for namespace in self._get_enclosing_namespaces(file):
                nested = self.resolve_module(file, f"{namespace}.{import_.module}") if namespace else None
                if nested is not None and nested.kind != "external":
                    return nested
        return referent

    def find_other_parts(self, resolver: ResolutionQueries, file: int, index: int) -> Sequence[tuple[int, int]]:
        """Return the other parts of a partial type."""
        definition = self.program.read_interface(file).definitions[index]
        if "partial" not in definition.modifiers.split():
            return ()
        self.program.record_key(f"name:c_sharp:{definition.name}")
        return [declaration for declaration in self._find_parts(file, index) if declaration != (file, index)]

    def find_out_of_line_members(
        self, resolver: ResolutionQueries, file: int, index: int, name: str
    ) -> Sequence[tuple[int, int]]:
        """Return the members of a name in the other parts of a type."""
        return [
            (part_file, member_index)
            for part_file, part_index in self.find_other_parts(resolver, file, index)
            for member_index in resolver.find_scope_declarations(part_file, part_index, name)
        ]

    def find_extension_method(
        self, resolver: ResolutionQueries, file: int, receiver: Referent, name: str
    ) -> Referent | None:
        """Return the visible extension method of a name that accepts the receiver."""
        method, is_called, argument_count = name.partition("/")
        value = resolver.infer_value(receiver)
        if not is_called or value is None or value.kind not in ("instance", "external", "elements"):
            return None
        self.program.record_key(f"name:c_sharp:{method}")
        visible = [
            (other_file, index)
            for other_file, index in self._find_extension_methods(method)
            if self._can_take_arguments(other_file, index, int(argument_count))
            and self._is_namespace_visible(file, other_file, index)
        ]
        applicable = [declaration for declaration in visible if self._can_extend(resolver, value, *declaration)]
        if not applicable or (value.kind != "instance" and method in self.common_methods):
            return None
        return Referent(
            "definition",
            *applicable[0],
            "",
            "import",
            RESOLVER_PRECISION["import"] * (1 if value.kind == "instance" else RESOLVER_PRECISION["value"]),
        )

    def find_collection_member(self, owner: Referent, name: str) -> Referent | None:
        """Return a member of a standard collection that returns an element, or a collection of the same elements."""
        method, is_called, _ = name.partition("/")
        if method not in _ELEMENT_METHODS and method not in _COLLECTION_METHODS:
            return None
        item_kind = "" if method in _ELEMENT_METHODS else "elements"
        supplier = Referent("supplier", owner.file, owner.index, item_kind, "return", owner.confidence)
        if is_called:
            return supplier
        return Referent(
            "elements" if item_kind else "instance", owner.file, owner.index, "", "return", owner.confidence
        )

    def _can_take_arguments(self, file: int, index: int, argument_count: int) -> bool:
        """Return whether an extension method takes this number of arguments besides its receiver."""
        definition = self.program.get_definition(file, index)
        is_in_block = EXTENSION_MODIFIER in definition.modifiers.split()
        return can_take_arguments(definition, argument_count + (not is_in_block))

    def can_override(self, definition: Definition) -> bool:
        """Return whether a method can override or implement another one."""
        return not {"static", "private", "new"} & set(definition.modifiers.split())

    def extract_package_name(self, name: str) -> str:
        """Return the first two parts of an external namespace."""
        return ".".join(name.split(".")[:2])

    def _can_extend(self, resolver: ResolutionQueries, value: Referent, file: int, index: int) -> bool:
        """Return whether a value can be the first argument of an extension method."""
        definition = self.program.get_definition(file, index)
        receiver_type = resolver.memoize(
            ("receiver", file, index),
            lambda: resolver.resolve_type_text(file, index, definition.parameters, definition.start_line),
        )
        if receiver_type is None:
            return False
        if value.kind == "instance" and receiver_type.kind == "instance":
            return any(
                (ancestor.file, ancestor.index) == (receiver_type.file, receiver_type.index)
                for ancestor in resolver.find_ancestors(value.file, value.index)
            )
        if value.kind == "external" and receiver_type.kind == "external":
            return not value.name or value.name.rpartition(".")[2] == receiver_type.name.rpartition(".")[2]
        is_parameter = (index, strip_arity(parse_type(definition.parameters)[0].name)) in self.program.read_interface(
            file
        ).bindings
        return value.kind == receiver_type.kind == "elements" or (value.kind == "instance" and is_parameter)

    def _is_namespace_visible(self, file: int, method_file: int, index: int) -> bool:
        """Return whether a file declares or uses the namespace of an extension method."""
        namespace = self._find_namespace(method_file, index)
        if namespace in self._get_enclosing_namespaces(file) or namespace in self._get_global_usings(file):
            return True
        return any(import_.module == namespace for import_ in self.program.read_interface(file).star_imports)

    def _get_enclosing_namespaces(self, file: int) -> Sequence[str]:
        """Return the namespaces of a file and their enclosing namespaces, innermost first, the global one last."""
        return self.program.memoize("namespaces around", file, lambda: self._find_enclosing_namespaces(file))

    def _find_enclosing_namespaces(self, file: int) -> Sequence[str]:
        facts = self.program.read_interface(file).facts
        own_namespaces = [
            facts.package,
            *(definition.qualified_name for definition in facts.definitions if definition.kind == "namespace"),
        ]
        return list(
            dict.fromkeys(
                outer
                for namespace in own_namespaces
                for outer in _list_enclosing_namespaces(namespace)
                if outer or namespace == own_namespaces[-1]
            )
        )

    def _find_in_namespace(self, file: int, namespace: str, name: str) -> Referent | None:
        if (referent := self._find_type(file, namespace, name)) is not None:
            return referent
        nested_namespace = f"{namespace}.{name}".lstrip(".")
        self.program.record_key(f"namespace:c_sharp:{nested_namespace}")
        return (
            Referent("package", self._any_file, name=nested_namespace) if nested_namespace in self._namespaces else None
        )

    def _find_type(self, file: int, namespace: str, name: str) -> Referent | None:
        """Return the type of a namespace; of several declarations or parts, the nearest to a file."""
        self.program.record_key(f"name:c_sharp:{strip_arity(name)}")
        declarations = self._get_types(namespace, name)
        if not declarations:
            return None
        same_named = [
            declaration
            for declaration in declarations
            if self.program.rows[declaration[0]].path.rpartition("/")[2].partition(".")[0] == strip_arity(name)
        ]
        return Referent("definition", *select_nearest(self.program, file, same_named or declarations))

    def _get_global_usings(self, file: int) -> Sequence[str]:
        """Return the global usings of the projects around a file."""
        return self.program.memoize("usings everywhere", file, lambda: self._find_global_usings(file))

    def _find_global_usings(self, file: int) -> Sequence[str]:
        self.program.record_key(_GLOBAL_USINGS_KEY)
        path = self.program.rows[file].path
        return [name for folder, names in self._usings_by_folder.items() if path.startswith(folder) for name in names]

    def _get_global_using_targets(self, file: int) -> Sequence[Referent]:
        """Return the referents of the global usings, without external ones."""
        return self.program.memoize("used everywhere", file, lambda: self._find_global_using_targets(file))

    def _find_global_using_targets(self, file: int) -> Sequence[Referent]:
        targets = (self.resolve_module(file, target) for target in self._get_global_usings(file))
        return [target for target in targets if target is not None and target.kind != "external"]

    @cached_property
    def _usings_by_folder(self) -> dict[str, list[str]]:
        """Global usings by project folder, with its trailing ``/``."""
        projects = {
            path: entry["project_usings"] for path, entry in self.program.settings.items() if "project_usings" in entry
        }
        folders = sorted({_get_folder(path) for path in projects if path.endswith("proj")}, key=len, reverse=True)
        usings: dict[str, list[str]] = defaultdict(list)
        for path, names in projects.items():
            usings[_get_folder(path)] += names
        for file, row in enumerate(self.program.rows):
            if row.language in self.languages and "*" in row.namespaces:
                file_usings = [entry.module for entry in self.program.peek(file).star_imports if entry.exported]
                usings[next((folder for folder in folders if row.path.startswith(folder)), "")] += file_usings
        return {folder: list(dict.fromkeys(names)) for folder, names in usings.items() if names}

    def _find_namespace(self, file: int, index: int) -> str:
        definitions = self.program.peek(file).definitions
        scope = definitions[index].parent
        while scope != MODULE and definitions[scope].kind != "namespace":
            scope = definitions[scope].parent
        return self.program.peek(file).facts.package if scope == MODULE else definitions[scope].qualified_name

    def _build_part_key(self, file: int, index: int) -> tuple[str, str, int]:
        definition = self.program.peek(file).definitions[index]
        namespace = self._find_namespace(file, index)
        return namespace, definition.qualified_name.removeprefix(f"{namespace}."), count_type_parameters(definition)

    def _iterate_declarations(self, name: str) -> Iterator[tuple[int, int, Definition]]:
        for file, index in self.program.find_declarations(name, self.languages):
            yield file, index, self.program.peek(file).definitions[index]

    def _get_types(self, namespace: str, name: str) -> Sequence[tuple[int, int]]:
        """Return the top-level types of a namespace by name, with its number of type parameters."""
        if name not in self._types_by_name:
            self._types_by_name[name] = self._find_types(name)
        return self._types_by_name[name].get(namespace, ())

    def _find_types(self, name: str) -> dict[str, list[tuple[int, int]]]:
        """Return the top-level types of a name by namespace."""
        base_name, _, parameter_count = name.partition("`")
        types_by_namespace: dict[str, list[tuple[int, int]]] = {}
        for file, index, definition in self._iterate_declarations(base_name):
            if definition.kind not in TYPE_KINDS or count_type_parameters(definition) != int(parameter_count or 0):
                continue
            if (
                definition.parent == MODULE
                or self.program.peek(file).definitions[definition.parent].kind == "namespace"
            ):
                types_by_namespace.setdefault(self._find_namespace(file, index), []).append((file, index))
        return types_by_namespace

    @cached_property
    def _types_by_name(self) -> dict[str, dict[str, list[tuple[int, int]]]]:
        return {}

    def _find_parts(self, file: int, index: int) -> Sequence[tuple[int, int]]:
        """Return all declarations of a partial type."""
        key = self._build_part_key(file, index)
        if key not in self._parts_by_key:
            self._parts_by_key[key] = [
                (part_file, part)
                for part_file, part, definition in self._iterate_declarations(
                    self.program.peek(file).definitions[index].name
                )
                if definition.kind in TYPE_KINDS
                and "partial" in definition.modifiers.split()
                and self._build_part_key(part_file, part) == key
            ]
        return self._parts_by_key[key]

    @cached_property
    def _parts_by_key(self) -> dict[tuple[str, str, int], list[tuple[int, int]]]:
        return {}

    def _find_extension_methods(self, name: str) -> Sequence[tuple[int, int]]:
        """Return the extension methods of a name."""
        return [
            (file, index)
            for file, index, definition in self._iterate_declarations(name)
            if definition.kind == "method" and definition.parameters
        ]

    @cached_property
    def _namespaces(self) -> frozenset[str]:
        """Declared namespaces and their enclosing namespaces."""
        rows = [row for row in self.program.rows if row.language in self.languages]
        namespaces = {name for row in rows for name in (row.package, *row.namespaces)} - {"*"}
        return frozenset(outer for namespace in namespaces for outer in _list_enclosing_namespaces(namespace) if outer)

    @cached_property
    def _any_file(self) -> int:
        return next((file for file, row in enumerate(self.program.rows) if row.language in self.languages), 0)


def _list_enclosing_namespaces(namespace: str) -> list[str]:
    """Return a namespace and its enclosing namespaces, the global one last."""
    parts = namespace.split(".") if namespace else []
    return [".".join(parts[:length]) for length in range(len(parts), -1, -1)]


def _get_folder(path: str) -> str:
    return path[: path.rfind("/") + 1]
