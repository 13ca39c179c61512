"""C#: namespaces, whatever the folders; what a file's namespaces and its ``using`` directives have is known in it."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final

from coderag.codegraph.linking.meanings import SURENESS, TYPES, Meaning
from coderag.codegraph.linking.overloads import bare, n_type_parameters, takes
from coderag.codegraph.linking.program import MODULE
from coderag.codegraph.linking.rules.base import Rules, words
from coderag.codegraph.linking.rules.nearness import nearest
from coderag.codegraph.linking.type_text import parse_type
from coderag.schema.facts import Definition, Import

if TYPE_CHECKING:
    from coderag.codegraph.linking.resolver import Resolver

_ELEMENT_OF: Final = words(
    """
    First FirstOrDefault Single SingleOrDefault Last LastOrDefault ElementAt ElementAtOrDefault Dequeue
    Pop Peek Value Current GetValueOrDefault GetOrAdd AddOrUpdate Invoke Min Max MinBy MaxBy Find
    """
)
_ELEMENTS_OF: Final = words(
    """
    Where OrderBy OrderByDescending ThenBy ThenByDescending Skip Take SkipWhile TakeWhile Distinct Reverse
    Concat Union Except Intersect ToList ToArray ToHashSet AsEnumerable AsReadOnly Values GetEnumerator
    Append Prepend FindAll ToImmutableArray ToImmutableList AsParallel AsQueryable
    """
)
_ALL_USINGS: Final = "namespace:c_sharp:*"


class CSharpRules(Rules):
    """C#."""

    languages = ("c_sharp",)
    instance_names = ("this",)
    base_names = ("base",)
    counts_arguments = True
    counts_type_arguments = True
    has_extensions = True
    package_before_stars = True
    inherits_types = True
    types_are_declared = True
    wrappers = frozenset({"Task", "ValueTask", "Nullable"})
    collections = words(
        """
        List IList ICollection IEnumerable IEnumerator IReadOnlyList IReadOnlyCollection
        IAsyncEnumerable IQueryable HashSet ISet SortedSet Queue Stack LinkedList Collection
        ReadOnlyCollection ObservableCollection Dictionary IDictionary IReadOnlyDictionary
        ConcurrentDictionary SortedDictionary SortedList ConcurrentBag ConcurrentQueue ConcurrentStack
        BlockingCollection KeyValuePair ImmutableArray ImmutableList ImmutableDictionary
        ImmutableHashSet Lazy Func ThreadLocal AsyncLocal Span ReadOnlySpan Memory ReadOnlyMemory
        ArraySegment IOptions IOptionsMonitor IOptionsSnapshot FrozenDictionary FrozenSet
        """
    )
    common_methods: ClassVar[frozenset[str]] = (
        _ELEMENT_OF
        | _ELEMENTS_OF
        | words(
            """
            Add AddRange Remove RemoveAt Clear Contains ContainsKey Count Any All Select SelectMany Sum
            GroupBy ToDictionary ToLookup Cast OfType Aggregate TryGetValue Insert IndexOf CopyTo ToString
            Equals GetHashCode GetType CompareTo Dispose DisposeAsync Close Open Read Write WriteLine
            Flush ReadAsync WriteAsync Run Start Stop Wait Split Join Trim Replace Substring StartsWith
            EndsWith Format Parse TryParse Execute ExecuteAsync ConfigureAwait Set Get Create Build Send
            SendAsync Push Enqueue Next Reset Copy Clone Cancel Match IsMatch Invoke InvokeAsync
            GetAwaiter GetResult
            """
        )
    )

    def module(self, file: int, module: str) -> Meaning | None:
        """Return the namespace of a name, or the type of a qualified one."""
        name, _, arguments = module.partition("<")
        name = f"{name}`{arguments.count(',') + 1}" if arguments else name
        self.program.note(f"namespace:c_sharp:{name}")
        if name in self._namespaces:
            return Meaning("package", file, name=name)
        namespace, _, last = name.rpartition(".")
        found = self._type(file, namespace, last)
        if found is None and namespace:
            owner = self.module(file, namespace)
            if owner is not None and owner.kind == "definition":
                inside = self.program.interface(owner.file).children.get(owner.index, {}).get(last, ())
                found = Meaning("definition", owner.file, inside[0]) if inside else None
        return found or Meaning("external", name=name)

    def member_of_package(self, resolver: "Resolver", package: str, name: str) -> Meaning | None:
        """Return a type of a namespace, or a namespace inside it."""
        return self._in_namespace(self._any_file, package, name)

    def in_package_scope(self, resolver: "Resolver", file: int, name: str) -> Meaning | None:
        """Return what a file's namespaces have, innermost first, then those that its project uses everywhere."""
        if "/" in name:
            return None
        for namespace in self._namespaces_around(file):
            if (found := self._in_namespace(file, namespace, name)) is not None:
                return found.by("package", SURENESS["package"])
        for target in self._used_everywhere(file):
            if target.kind == "package":  # what most are: no other rules need be asked
                found = self.member_of_package(resolver, target.name, name)
            else:
                found = resolver.member(target, name)
            if found is not None and found.kind == "definition":
                return found.by("import", SURENESS["star"])
        return None

    def imported(self, resolver: "Resolver", file: int, one: Import) -> Meaning | None:
        """Return a namespace, or what an alias stands for, seen from the file's namespaces."""
        found = self.module(file, one.module)
        if found is not None and found.kind == "external":
            for namespace in self._namespaces_around(file):
                inside = self.module(file, f"{namespace}.{one.module}") if namespace else None
                if inside is not None and inside.kind != "external":
                    return inside
        return found

    def other_parts(self, resolver: "Resolver", file: int, index: int) -> Sequence[tuple[int, int]]:
        """Return the other parts of a partial type."""
        definition = self.program.interface(file).definitions[index]
        if "partial" not in definition.modifiers.split():
            return ()
        self.program.note(f"name:c_sharp:{definition.name}")
        return [one for one in self._parts(file, index) if one != (file, index)]

    def outside_members(self, resolver: "Resolver", file: int, index: int, name: str) -> Sequence[tuple[int, int]]:
        """Return the members of a name in the other parts of a type."""
        return [
            (part_file, found)
            for part_file, part in self.other_parts(resolver, file, index)
            for found in resolver.declared_in(part_file, part, name)
        ]

    def extension(self, resolver: "Resolver", file: int, receiver: Meaning, name: str) -> Meaning | None:
        """Return the extension method of a name that a file knows and a value's type fits."""
        method, is_called, count = name.partition("/")
        value = resolver.value(receiver)
        if not is_called or value is None or value.kind not in ("instance", "external", "elements"):
            return None
        self.program.note(f"name:c_sharp:{method}")
        known = [
            (other, index)
            for other, index in self._extensions(method)
            if takes(self.program.definition(other, index), int(count) + 1) and self._knows(file, other, index)
        ]
        fitting = [one for one in known if self._fits(resolver, value, *one)]
        if not fitting or (value.kind != "instance" and method in self.common_methods):
            return None
        return Meaning(
            "definition",
            *fitting[0],
            "",
            "import",
            SURENESS["import"] * (1 if value.kind == "instance" else SURENESS["value"]),
        )

    def member_of_elements(self, owner: Meaning, name: str) -> Meaning | None:
        """Return a method or property of a standard collection that gives an element, or as many of them."""
        method, is_called, _ = name.partition("/")
        if method not in _ELEMENT_OF and method not in _ELEMENTS_OF:
            return None
        kind = "" if method in _ELEMENT_OF else "elements"
        supplier = Meaning("supplier", owner.file, owner.index, kind, "return", owner.confidence)
        if is_called:
            return supplier
        return Meaning("elements" if kind else "instance", owner.file, owner.index, "", "return", owner.confidence)

    def may_override(self, definition: Definition) -> bool:
        """Return whether a method may override or implement another one."""
        return not {"static", "private", "new"} & set(definition.modifiers.split())

    def package_of(self, name: str) -> str:
        """Return the namespace of a name outside: its first two parts."""
        return ".".join(name.split(".")[:2])

    def _fits(self, resolver: "Resolver", value: Meaning, file: int, index: int) -> bool:
        """Return whether a value may be the first argument of an extension method."""
        definition = self.program.definition(file, index)
        wanted = resolver.once(
            ("receiver", file, index),
            lambda: resolver.instance(file, index, definition.parameters, definition.start_line),
        )
        if wanted is None:
            return False
        if value.kind == "instance" and wanted.kind == "instance":
            return any(
                (one.file, one.index) == (wanted.file, wanted.index)
                for one in resolver.ancestors(value.file, value.index)
            )
        if value.kind == "external" and wanted.kind == "external":
            return not value.name or value.name.rpartition(".")[2] == wanted.name.rpartition(".")[2]
        is_parameter = (index, bare(parse_type(definition.parameters)[0].name)) in self.program.interface(file).bindings
        return value.kind == wanted.kind == "elements" or (value.kind == "instance" and is_parameter)

    def _knows(self, file: int, other: int, index: int) -> bool:
        """Return whether a file has or uses the namespace of an extension method."""
        namespace = self._namespace_of(other, index)
        if namespace in self._namespaces_around(file) or namespace in self._usings_everywhere(file):
            return True
        return any(one.module == namespace for one in self.program.interface(file).stars)

    def _namespaces_around(self, file: int) -> Sequence[str]:
        """Return the namespaces of a file's code and those around them, innermost first, the nameless one last."""
        return self.program.remembered("namespaces around", file, lambda: self._find_namespaces_around(file))

    def _find_namespaces_around(self, file: int) -> Sequence[str]:
        facts = self.program.interface(file).facts
        own = [facts.package, *(one.qualified_name for one in facts.definitions if one.kind == "namespace")]
        return list(
            dict.fromkeys(outer for namespace in own for outer in _outwards(namespace) if outer or namespace == own[-1])
        )

    def _in_namespace(self, file: int, namespace: str, name: str) -> Meaning | None:
        if (found := self._type(file, namespace, name)) is not None:
            return found
        inner = f"{namespace}.{name}".lstrip(".")
        self.program.note(f"namespace:c_sharp:{inner}")
        return Meaning("package", self._any_file, name=inner) if inner in self._namespaces else None

    def _type(self, file: int, namespace: str, name: str) -> Meaning | None:
        """Return the type of a namespace; of several, or of its parts, the one nearest to a file."""
        self.program.note(f"name:c_sharp:{bare(name)}")
        found = self._types(namespace, name)
        if not found:
            return None
        in_file = [
            one for one in found if self.program.rows[one[0]].path.rpartition("/")[2].partition(".")[0] == bare(name)
        ]
        return Meaning("definition", *nearest(self.program, file, in_file or found))

    def _usings_everywhere(self, file: int) -> Sequence[str]:
        """Return the namespaces that the projects around a file use in all of their files."""
        return self.program.remembered("usings everywhere", file, lambda: self._find_usings_everywhere(file))

    def _find_usings_everywhere(self, file: int) -> Sequence[str]:
        self.program.note(_ALL_USINGS)
        path = self.program.rows[file].path
        return [name for folder, names in self._global_usings.items() if path.startswith(folder) for name in names]

    def _used_everywhere(self, file: int) -> Sequence[Meaning]:
        """Return what `_usings_everywhere` mean, without what is outside the repository."""
        return self.program.remembered("used everywhere", file, lambda: self._find_used_everywhere(file))

    def _find_used_everywhere(self, file: int) -> Sequence[Meaning]:
        targets = (self.module(file, one) for one in self._usings_everywhere(file))
        return [one for one in targets if one is not None and one.kind != "external"]

    @cached_property
    def _global_usings(self) -> dict[str, list[str]]:
        """By folder of a project, with its last ``/``, the namespaces that all files below it use."""
        projects = {
            path: one["project_usings"] for path, one in self.program.settings.items() if "project_usings" in one
        }
        folders = sorted({_folder(path) for path in projects if path.endswith("proj")}, key=len, reverse=True)
        found: dict[str, list[str]] = defaultdict(list)
        for path, names in projects.items():
            found[_folder(path)] += names
        for file, row in enumerate(self.program.rows):
            if row.language in self.languages and "*" in row.namespaces:
                used = [one.module for one in self.program.peek(file).stars if one.exported]
                found[next((folder for folder in folders if row.path.startswith(folder)), "")] += used
        return {folder: list(dict.fromkeys(names)) for folder, names in found.items() if names}

    def _namespace_of(self, file: int, index: int) -> str:
        definitions = self.program.peek(file).definitions
        outer = definitions[index].parent
        while outer != MODULE and definitions[outer].kind != "namespace":
            outer = definitions[outer].parent
        return self.program.peek(file).facts.package if outer == MODULE else definitions[outer].qualified_name

    def _key(self, file: int, index: int) -> tuple[str, str, int]:
        definition = self.program.peek(file).definitions[index]
        namespace = self._namespace_of(file, index)
        return namespace, definition.qualified_name.removeprefix(f"{namespace}."), n_type_parameters(definition)

    def _named(self, name: str) -> Iterator[tuple[int, int, Definition]]:
        for file, index in self.program.named(name, self.languages):
            yield file, index, self.program.peek(file).definitions[index]

    def _types(self, namespace: str, name: str) -> Sequence[tuple[int, int]]:
        """Return the types of a namespace that are in no other one, by a name with the number of type parameters."""
        if name not in self._known_types:
            self._known_types[name] = self._find_types(name)
        return self._known_types[name].get(namespace, ())

    def _find_types(self, name: str) -> dict[str, list[tuple[int, int]]]:
        """Return the types that are in no other one, by their namespace."""
        last, _, count = name.partition("`")
        found: dict[str, list[tuple[int, int]]] = {}
        for file, index, one in self._named(last):
            if one.kind not in TYPES or n_type_parameters(one) != int(count or 0):
                continue
            if one.parent == MODULE or self.program.peek(file).definitions[one.parent].kind == "namespace":
                found.setdefault(self._namespace_of(file, index), []).append((file, index))
        return found

    @cached_property
    def _known_types(self) -> dict[str, dict[str, list[tuple[int, int]]]]:
        return {}

    def _parts(self, file: int, index: int) -> Sequence[tuple[int, int]]:
        """Return the declarations of a partial type, this one too."""
        key = self._key(file, index)
        if key not in self._known_parts:
            self._known_parts[key] = [
                (other, part)
                for other, part, one in self._named(self.program.peek(file).definitions[index].name)
                if one.kind in TYPES and "partial" in one.modifiers.split() and self._key(other, part) == key
            ]
        return self._known_parts[key]

    @cached_property
    def _known_parts(self) -> dict[tuple[str, str, int], list[tuple[int, int]]]:
        return {}

    def _extensions(self, name: str) -> Sequence[tuple[int, int]]:
        """Return the extension methods of a name."""
        return [(file, index) for file, index, one in self._named(name) if one.kind == "method" and one.parameters]

    @cached_property
    def _namespaces(self) -> frozenset[str]:
        """The declared namespaces, and those around them."""
        rows = [row for row in self.program.rows if row.language in self.languages]
        found = {name for row in rows for name in (row.package, *row.namespaces)} - {"*"}
        return frozenset(outer for namespace in found for outer in _outwards(namespace) if outer)

    @cached_property
    def _any_file(self) -> int:
        return next((file for file, row in enumerate(self.program.rows) if row.language in self.languages), 0)


def _outwards(namespace: str) -> list[str]:
    """Return a namespace and those around it, the nameless one last."""
    parts = namespace.split(".") if namespace else []
    return [".".join(parts[:length]) for length in range(len(parts), -1, -1)]


def _folder(path: str) -> str:
    return path[: path.rfind("/") + 1]
