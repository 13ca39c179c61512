"""All files of a repository as linking sees them: interfaces read on demand, with their use recorded as dependencies."""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from sys import intern
from typing import Any, Final, Literal, NamedTuple, TypeVar

from coderag.codegraph.linking.aging_table import AgingTable
from coderag.codegraph.linking.overloads import strip_arity
from coderag.schema.facts import (
    CALLBACK_MODIFIER,
    MODULE_SCOPE,
    TEST_MODIFIER,
    TITLE_MODIFIER,
    Base,
    Binding,
    Definition,
    FileFacts,
    Import,
)
from coderag.stores.facts_codec import FactsBody, unpack_body, unpack_interface

ValueT = TypeVar("ValueT")

_MAX_MEMOIZED: Final = 50_000  # results, of about half a kilobyte each
_MAX_UNPACKED_BYTES: Final = 8_000_000  # of packed interfaces; their objects take about ten times as much

_FILE_WIDE_ROLES: Final = frozenset({"test", "generated", "vendored"})
"""Roles that apply to all contents of a file: tests in vendored code are not the repository's tests."""


class FactsRow(NamedTuple):
    """One file of the program: a row of the facts table, see `coderag.stores.graph_tables.build_facts_schema`."""

    path: str
    language: str
    role: str
    lines: int
    package: str
    configures: bool
    declares: Sequence[str]
    extends: Sequence[str]
    namespaces: Sequence[str]
    interface: bytes
    body: bytes
    digest: bytes


class FileInterface:
    """Everything that other files may see of a file, by name.

    Attributes:
        facts: All facts of the interface.
        definitions: Declared names.
    """

    def __init__(self, facts: FileFacts) -> None:
        self.facts = facts
        self.definitions: Sequence[Definition] = facts.definitions

    @cached_property
    def children(self) -> dict[int, dict[str, list[int]]]:
        """Definitions by scope and name; without implementations, out-of-line members and test cases named by a title."""
        children_by_scope: dict[int, dict[str, list[int]]] = {}
        for index, definition in enumerate(self.facts.definitions):
            if definition.owner or definition.kind == "impl" or TITLE_MODIFIER in definition.modifiers:
                continue
            children_by_scope.setdefault(definition.parent, {}).setdefault(definition.name, []).append(index)
        return children_by_scope

    @cached_property
    def members_by_owner(self) -> dict[str, dict[str, list[int]]]:
        """Out-of-line members by their type and name: methods of a Go type or a C++ class."""
        members: dict[str, dict[str, list[int]]] = {}
        for index, definition in enumerate(self.facts.definitions):
            if definition.owner:
                members.setdefault(definition.owner, {}).setdefault(definition.name, []).append(index)
        return members

    @cached_property
    def names_by_scope(self) -> dict[int, set[str]]:
        """All names that a scope declares, imports or binds."""
        names_by_scope: dict[int, set[str]] = {}
        for scope, children in self.children.items():
            names_by_scope.setdefault(scope, set()).update(children)
        for scope, name in (*self.imports, *self.bindings):
            names_by_scope.setdefault(scope, set()).add(name)
        return names_by_scope

    @cached_property
    def top_level(self) -> dict[str, int]:
        """Declarations by name, at module level or in namespaces; the last one of a name."""
        namespaces = (index for index, definition in enumerate(self.definitions) if definition.kind == "namespace")
        declarations: dict[str, int] = {}
        for scope in reversed([MODULE_SCOPE, *namespaces]):
            declarations |= {name: indices[-1] for name, indices in self.children.get(scope, {}).items()}
        return declarations

    @cached_property
    def by_name(self) -> dict[str, list[int]]:
        """All definitions by name; without test cases named by a title."""
        indices_by_name: dict[str, list[int]] = {}
        for index, definition in enumerate(self.facts.definitions):
            if TITLE_MODIFIER not in definition.modifiers:
                indices_by_name.setdefault(definition.name, []).append(index)
        return indices_by_name

    @cached_property
    def redeclared_names(self) -> frozenset[str]:
        """Names that are declared more than once."""
        return frozenset(name for name, indices in self.by_name.items() if len(indices) > 1)

    @cached_property
    def methods(self) -> dict[str, list[int]]:
        """Methods and callbacks by name."""
        indices_by_name: dict[str, list[int]] = {}
        for index, definition in enumerate(self.facts.definitions):
            is_method = definition.kind == "method" and TITLE_MODIFIER not in definition.modifiers
            if is_method or CALLBACK_MODIFIER in definition.modifiers:
                indices_by_name.setdefault(definition.name, []).append(index)
        return indices_by_name

    @cached_property
    def test_definitions(self) -> frozenset[int]:
        """Definitions that are part of tests: marked as such, or nested in one that is."""
        test_indices: set[int] = set()
        for index, definition in enumerate(self.definitions):
            if (
                TEST_MODIFIER in definition.modifiers or definition.parent in test_indices
            ):  # an enclosing definition comes first
                test_indices.add(index)
        return frozenset(test_indices)

    def get_role(self, index: int, file_role: str) -> str:
        """Return the role of a definition, or of the file itself, in a file of a role."""
        return file_role if file_role in _FILE_WIDE_ROLES or index not in self.test_definitions else "test"

    @cached_property
    def bindings(self) -> dict[tuple[int, str], list[Binding]]:
        """Bindings by scope and name."""
        return group_bindings(self.facts.bindings)

    @cached_property
    def imports(self) -> dict[tuple[int, str], list[Import]]:
        """Imports by scope and name; a pure re-export binds no name here."""
        imports_by_name: dict[tuple[int, str], list[Import]] = defaultdict(list)
        for import_ in self.facts.imports:
            if (
                import_.name != "*"
                and (import_.module or not import_.exported)
                and (name := import_.alias or import_.name)
            ):
                imports_by_name[import_.scope, name].append(import_)
        return dict(imports_by_name)

    @cached_property
    def reexports(self) -> dict[str, Import]:
        """Re-exports by their exported name."""
        return {
            import_.alias or import_.name: import_
            for import_ in self.facts.imports
            if import_.exported and import_.name != "*"
        }

    @cached_property
    def star_imports(self) -> list[Import]:
        """Imports of all names of a module."""
        return [import_ for import_ in self.facts.imports if import_.name == "*"]

    @cached_property
    def star_scopes(self) -> frozenset[int]:
        """Scopes with star imports."""
        return frozenset(import_.scope for import_ in self.star_imports)

    @cached_property
    def bases(self) -> dict[int, list[Base]]:
        """Bases of each type."""
        bases_by_owner: dict[int, list[Base]] = defaultdict(list)
        for base in self.facts.bases:
            bases_by_owner[base.owner].append(base)
        return dict(bases_by_owner)


def group_bindings(bindings: Sequence[Binding]) -> dict[tuple[int, str], list[Binding]]:
    """Return bindings by scope and name."""
    groups: dict[tuple[int, str], list[Binding]] = {}
    for binding in bindings:
        groups.setdefault((binding.scope, binding.name), []).append(binding)
    return groups


def collect_declared_names(facts: FileFacts) -> list[str]:
    """Return the names by which other files may know something here: declared, bound or re-exported."""
    names = {strip_arity(fact.name) for fact in facts.definitions if TITLE_MODIFIER not in fact.modifiers}
    names.update([name.rpartition(".")[2] for name in names if "." in name])  # modules of Elixir
    names.update(fact.alias for fact in facts.imports)
    names.update(fact.name for fact in facts.bindings)
    return sorted(names)


def collect_base_names(facts: FileFacts) -> list[str]:
    """Return the last names of all bases in a file, as written."""
    return sorted({base.chain.rpartition(".")[2] for base in facts.bases})


def collect_namespace_names(facts: FileFacts) -> list[str]:
    """Return the qualified names of a file's namespace blocks, and ``*`` if it re-exports a whole module."""
    names = {fact.qualified_name for fact in facts.definitions if fact.kind == "namespace"}
    names.update(fact.name for fact in facts.imports if fact.exported and fact.name == "*")
    return sorted(names)


class FrozenDependencies(NamedTuple):
    """Complete dependencies of a memoised result: a fifth of the memory of `Dependencies`."""

    files: tuple[int, ...]
    keys: tuple[str, ...]


@dataclass(slots=True)
class Dependencies:
    """Dependencies of a result: file numbers, and keys of other things, see `Program.record_key`."""

    files: set[int] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)

    def freeze(self) -> FrozenDependencies:
        """Return the dependencies so far; equal keys of different results share their memory."""
        return FrozenDependencies(tuple(self.files), tuple(map(intern, self.keys)))


class InterfaceCache(AgingTable[int, FileInterface]):
    """Interfaces by file, unpacked on first use.

    Args:
        rows: All files; they may still be added.
    """

    def __init__(self, rows: Sequence[FactsRow]) -> None:
        super().__init__()
        self._rows = rows
        self._packed_bytes = 0

    def __missing__(self, file: int) -> FileInterface:
        packed = self._rows[file].interface
        if (interface := self.find_earlier(file)) is None:
            return self.add(file, unpack_interface(packed), len(packed))
        self._packed_bytes += len(packed)
        return interface

    def add(self, file: int, facts: FileFacts, packed_bytes: int) -> FileInterface:
        """Add the unpacked interface of a file."""
        self[file] = interface = FileInterface(facts)
        self._packed_bytes += packed_bytes
        return interface

    def trim(self) -> None:
        """Forget interfaces that were not used for some time, if there are many."""
        if self._packed_bytes > _MAX_UNPACKED_BYTES:
            self.begin_period()
            self._packed_bytes = 0


class Program:
    """The files of a repository.

    Args:
        rows: All files, in the order of their paths.
        interfaces: Their interfaces, of which some may be unpacked.

    Attributes:
        file_by_path: Number of each path.
        dependencies: Everything that was used since the last `begin_tracking`.
    """

    def __init__(self, rows: Sequence[FactsRow], interfaces: InterfaceCache | None = None) -> None:
        self.rows = rows
        self.file_by_path = {row.path: file for file, row in enumerate(rows)}
        self._interfaces = InterfaceCache(rows) if interfaces is None else interfaces
        self._declared_names: dict[frozenset[str], frozenset[str]] = {}
        self._files_by_name: dict[tuple[str, tuple[str, ...]], dict[str, list[int]]] = {}
        self._declarations_by_name: dict[tuple[str, tuple[str, ...]], list[tuple[int, int]]] = {}
        self.dependencies = Dependencies()
        self._record_file = self.dependencies.files.add
        self._memo: AgingTable[tuple[str, Hashable], tuple[Any, FrozenDependencies]] = AgingTable()

    def read_interface(self, file: int) -> FileInterface:
        """Return the interface of a file, recorded as a dependency."""
        self._record_file(file)
        return self._interfaces[file]

    def read_body(self, file: int) -> FactsBody:
        """Return a file's local bindings, references and mentions."""
        return unpack_body(self.rows[file].body)

    def get_definition(self, file: int, index: int) -> Definition:
        """Return one definition."""
        self._record_file(file)
        return self._interfaces[file].definitions[index]

    def get_role(self, file: int, index: int) -> str:
        """Return the role of a definition or file; not recorded, because a link to it is a dependency anyway."""
        return self._interfaces[file].get_role(index, self.rows[file].role)

    def record_key(self, key: str) -> None:
        """Record a dependency on something other than an interface.

        Args:
            key: One of

                - ``module:NAME``: whether a file or folder of that name exists;
                - ``folder:PATH``: files in a folder;
                - ``path:PATH``: whether a file of that path exists;
                - ``package:NAME``: files that declare a package;
                - ``namespace:LANGUAGE:NAME``: whether any file declares a namespace;
                - ``name:LANGUAGE:NAME``: declarations of a name; with ``*`` those of all languages;
                - ``in:PATH:NAME``: declarations of a name in a folder;
                - ``member:LANGUAGE:NAME``: out-of-line members of the types of that name;
                - ``bound:NAME``: bindings of a name;
                - ``base:LANGUAGE:NAME``: types with a base of that name;
                - ``unknown:NAME``: that nothing has that name.
        """
        self.dependencies.keys.add(key)

    @contextmanager
    def track_dependencies(self) -> Iterator[Dependencies]:
        """Collect the dependencies of a block; they count for the enclosing block, too."""
        outer_dependencies = self.begin_tracking()
        try:
            yield self.dependencies
        finally:
            self.end_tracking(outer_dependencies)

    def begin_tracking(self) -> Dependencies:
        """Start collecting dependencies, and return those collected so far, for `end_tracking`."""
        outer_dependencies, self.dependencies = self.dependencies, Dependencies()
        self._record_file = self.dependencies.files.add
        return outer_dependencies

    def end_tracking(self, outer_dependencies: Dependencies) -> Dependencies:
        """Return the dependencies since `begin_tracking`; they count for the enclosing block, too."""
        dependencies, self.dependencies = self.dependencies, outer_dependencies
        self._record_file = outer_dependencies.files.add
        outer_dependencies.files |= dependencies.files
        outer_dependencies.keys |= dependencies.keys
        return dependencies

    def add_dependencies(self, dependencies: FrozenDependencies) -> None:
        """Record the dependencies of a memoised result."""
        self.dependencies.files.update(dependencies.files)
        self.dependencies.keys.update(dependencies.keys)

    def memoize(self, kind: str, key: Hashable, compute: Callable[[], ValueT]) -> ValueT:
        """Return a value that is computed once for a key; its dependencies are recorded at each use.

        Args:
            kind: Separates equal keys of different values.
        """
        entry = self._memo.get((kind, key)) or self._memo.find_earlier((kind, key))
        if entry is not None:
            self.add_dependencies(entry[1])
            value: ValueT = entry[0]
            return value
        outer_dependencies = self.begin_tracking()
        dependencies = self.dependencies
        try:
            value = compute()
        finally:
            self.end_tracking(outer_dependencies)
        self._memo[kind, key] = value, dependencies.freeze()
        return value

    def trim(self) -> None:
        """Forget memoised results and unpacked interfaces that were not used for some time, if there are many.

        No query may be active.
        """
        if len(self._memo) > _MAX_MEMOIZED:
            self._memo.begin_period()
        if len(self._declarations_by_name) > _MAX_MEMOIZED:
            self._declarations_by_name.clear()
        self._interfaces.trim()

    def find_declared_names(self, languages: Collection[str], other_languages: Collection[str]) -> Set[str]:
        """Return the names declared in files of some languages, and in all files outside the other languages."""
        key = frozenset(languages)
        if key not in self._declared_names:
            self._declared_names[key] = frozenset(
                chain.from_iterable(
                    row.declares for row in self.rows if row.language in key or row.language not in other_languages
                )
            )
        return self._declared_names[key]

    def find_extending_types(self, languages: tuple[str, ...], name: str) -> Sequence[tuple[int, int]]:
        """Return the types of some languages with a base of a name, as written: (file, index)."""
        for language in languages:
            self.record_key(f"base:{language}:{name}")
        return [
            (file, base.owner)
            for file in self._find_files("extends", name, languages)
            for base in self.peek(file).facts.bases
            if base.chain.rpartition(".")[2] == name
        ]

    def find_declarations(self, name: str, languages: tuple[str, ...] = ()) -> Sequence[tuple[int, int]]:
        """Return the declarations of a name in files of some languages, or in all files, as (file, index)."""
        key = name, languages
        if key not in self._declarations_by_name:
            self._declarations_by_name[key] = [
                (file, index)
                for file in self._find_files("declares", strip_arity(name), languages)
                for index in self.peek(file).by_name.get(name, ())
            ]
        return self._declarations_by_name[key]

    def find_bindings(self, name: str, languages: tuple[str, ...]) -> Sequence[tuple[int, Binding]]:
        """Return the bindings of a name in files of some languages, each with its file."""
        self.record_key(f"bound:{name}")
        return [
            (file, binding)
            for file in self._find_files("declares", name, languages)
            for binding in self.peek(file).facts.bindings
            if binding.name == name
        ]

    def format_qualified_name(self, file: int, index: int) -> str:
        """Return the dotted qualified name of a definition, with its module."""
        module = self.rows[file].path.rpartition(".")[0].replace("/", ".")
        definition = self.peek(file).definitions[index]
        name = f"{module}.{definition.qualified_name}".replace("::", ".")
        return name if name.endswith(definition.name) else f"{name.rpartition('.')[0]}.{definition.name}"

    def _find_files(
        self, column: Literal["declares", "extends"], name: str, languages: tuple[str, ...]
    ) -> Sequence[int]:
        """Return the files of some languages, or all, with a name in a column; interfaces without it stay packed."""
        key = column, languages
        if key not in self._files_by_name:
            files_by_name = self._files_by_name[key] = {}
            for file, row in enumerate(self.rows):
                if not languages or row.language in languages:
                    for entry in getattr(row, column):
                        files_by_name.setdefault(entry, []).append(file)
        return self._files_by_name[key].get(name, ())

    def peek(self, file: int) -> FileInterface:
        """Return an interface without recording it: the caller records a key instead."""
        return self._interfaces[file]

    @cached_property
    def settings(self) -> dict[str, dict[str, Any]]:
        """Module settings of configuration files, by path."""
        return {row.path: dict(unpack_interface(row.interface).settings) for row in self.rows if row.configures}


MODULE = MODULE_SCOPE
