"""All files of a repository as linking sees them: interfaces read when asked for, and a note of who asked for what."""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, Final, Literal, NamedTuple, TypeVar

from coderag.codegraph.linking.overloads import strip_arity
from coderag.schema.facts import MODULE_SCOPE, TEST_MODIFIER, Base, Binding, Definition, FileFacts, Import
from coderag.stores.facts_codec import FactsBody, unpack_body, unpack_interface

ValueT = TypeVar("ValueT")

_FILE_WIDE_ROLES: Final = frozenset({"test", "generated", "vendored"})
"""Roles of files that whatever is in them has: tests in another one's code are not the repository's."""


class FactsRow(NamedTuple):
    """One file of the program: a row of the table of facts, see `coderag.stores.graph_tables.build_facts_schema`."""

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
    """What other files may ask of a file, by name.

    Attributes:
        facts: All of it.
        definitions: What it declares.
    """

    def __init__(self, facts: FileFacts) -> None:
        self.facts = facts
        self.definitions: Sequence[Definition] = facts.definitions

    @cached_property
    def children(self) -> dict[int, dict[str, list[int]]]:
        """For each scope, the definitions in it by name; without implementations, and members of types outside of them."""
        children_by_scope: dict[int, dict[str, list[int]]] = {}
        for index, definition in enumerate(self.facts.definitions):
            if definition.owner or definition.kind == "impl":
                continue
            children_by_scope.setdefault(definition.parent, {}).setdefault(definition.name, []).append(index)
        return children_by_scope

    @cached_property
    def members_by_owner(self) -> dict[str, dict[str, list[int]]]:
        """For each type that qualifies names outside of it, those names: methods of a Go type, of a C++ class."""
        members: dict[str, dict[str, list[int]]] = {}
        for index, definition in enumerate(self.facts.definitions):
            if definition.owner:
                members.setdefault(definition.owner, {}).setdefault(definition.name, []).append(index)
        return members

    @cached_property
    def names_by_scope(self) -> dict[int, set[str]]:
        """For each scope, all names that it declares, imports or binds."""
        names_by_scope: dict[int, set[str]] = {}
        for scope, children in self.children.items():
            names_by_scope.setdefault(scope, set()).update(children)
        for scope, name in (*self.imports, *self.bindings):
            names_by_scope.setdefault(scope, set()).add(name)
        return names_by_scope

    @cached_property
    def top_level(self) -> dict[str, int]:
        """What it declares outside of everything or in its namespaces, by name; the last of several."""
        namespaces = (index for index, definition in enumerate(self.definitions) if definition.kind == "namespace")
        declarations: dict[str, int] = {}
        for scope in reversed([MODULE_SCOPE, *namespaces]):
            declarations |= {name: indices[-1] for name, indices in self.children.get(scope, {}).items()}
        return declarations

    @cached_property
    def by_name(self) -> dict[str, list[int]]:
        """All that it declares, by name."""
        indices_by_name: dict[str, list[int]] = {}
        for index, definition in enumerate(self.facts.definitions):
            indices_by_name.setdefault(definition.name, []).append(index)
        return indices_by_name

    @cached_property
    def redeclared_names(self) -> frozenset[str]:
        """Names that it declares more than once."""
        return frozenset(name for name, indices in self.by_name.items() if len(indices) > 1)

    @cached_property
    def methods(self) -> dict[str, list[int]]:
        """Its methods by name."""
        indices_by_name: dict[str, list[int]] = {}
        for index, definition in enumerate(self.facts.definitions):
            if definition.kind == "method":
                indices_by_name.setdefault(definition.name, []).append(index)
        return indices_by_name

    @cached_property
    def test_definitions(self) -> frozenset[int]:
        """What only tests have: all that is declared in something that says so."""
        test_indices: set[int] = set()
        for index, definition in enumerate(self.definitions):
            if (
                TEST_MODIFIER in definition.modifiers or definition.parent in test_indices
            ):  # what is around something comes before it
                test_indices.add(index)
        return frozenset(test_indices)

    @cached_property
    def bindings(self) -> dict[tuple[int, str], list[Binding]]:
        """For each scope and name, its bindings."""
        return group_bindings(self.facts.bindings)

    @cached_property
    def imports(self) -> dict[tuple[int, str], list[Import]]:
        """For each scope and name in it, the imports that bring it; what is exported only has no name here."""
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
        """The names that it passes on under a name of their own."""
        return {
            import_.alias or import_.name: import_
            for import_ in self.facts.imports
            if import_.exported and import_.name != "*"
        }

    @cached_property
    def star_imports(self) -> list[Import]:
        """The imports of all that a module has."""
        return [import_ for import_ in self.facts.imports if import_.name == "*"]

    @cached_property
    def star_scopes(self) -> frozenset[int]:
        """The scopes into which all is imported that a module has."""
        return frozenset(import_.scope for import_ in self.star_imports)

    @cached_property
    def bases(self) -> dict[int, list[Base]]:
        """For each type, what it extends and implements."""
        bases_by_owner: dict[int, list[Base]] = defaultdict(list)
        for base in self.facts.bases:
            bases_by_owner[base.owner].append(base)
        return dict(bases_by_owner)


def group_bindings(bindings: Sequence[Binding]) -> dict[tuple[int, str], list[Binding]]:
    """Return bindings by their scope and name."""
    groups: dict[tuple[int, str], list[Binding]] = {}
    for binding in bindings:
        groups.setdefault((binding.scope, binding.name), []).append(binding)
    return groups


def collect_declared_names(facts: FileFacts) -> list[str]:
    """Return the names by which something in a file may be known to others: of what it declares, binds and passes on."""
    names = {strip_arity(fact.name) for fact in facts.definitions}
    names.update(fact.alias for fact in facts.imports)
    names.update(fact.name for fact in facts.bindings)
    return sorted(names)


def collect_base_names(facts: FileFacts) -> list[str]:
    """Return the last names of what the types of a file extend and implement, as written there."""
    return sorted({base.chain.rpartition(".")[2] for base in facts.bases})


def collect_namespace_names(facts: FileFacts) -> list[str]:
    """Return the qualified names of a file's namespace blocks, and ``*`` if it passes on all that another module has."""
    names = {fact.qualified_name for fact in facts.definitions if fact.kind == "namespace"}
    names.update(fact.name for fact in facts.imports if fact.exported and fact.name == "*")
    return sorted(names)


@dataclass(slots=True)
class Dependencies:
    """What was asked for: files by number, and keys of other things, see `Program.note`."""

    files: set[int] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)


class _InterfaceCache(dict[int, FileInterface]):
    """The interfaces that were asked for, by file."""

    def __init__(self, rows: Sequence[FactsRow], unpacked: Mapping[int, FileFacts]) -> None:
        super().__init__((file, FileInterface(facts)) for file, facts in unpacked.items())
        self._rows = rows

    def __missing__(self, file: int) -> FileInterface:
        self[file] = interface = FileInterface(unpack_interface(self._rows[file].interface))
        return interface


class Program:
    """The files of a repository.

    Args:
        rows: All files, in the order of their paths.
        interfaces: Those that were unpacked already, by file.

    Attributes:
        file_of: Number of each path.
        consulted: What was asked for since the last `begin`.
    """

    def __init__(self, rows: Sequence[FactsRow], interfaces: Mapping[int, FileFacts] | None = None) -> None:
        self.rows = rows
        self.file_by_path = {row.path: file for file, row in enumerate(rows)}
        self._interfaces = _InterfaceCache(rows, interfaces or {})
        self._declared_names: dict[frozenset[str], frozenset[str]] = {}
        self._files_by_name: dict[tuple[str, tuple[str, ...]], dict[str, list[int]]] = {}
        self._declarations_by_name: dict[tuple[str, tuple[str, ...]], list[tuple[int, int]]] = {}
        self.dependencies = Dependencies()
        self._record_file = self.dependencies.files.add
        self._memo: dict[tuple[str, Hashable], tuple[Any, Dependencies]] = {}

    def read_interface(self, file: int) -> FileInterface:
        """Return what a file shows to others; noted as asked for."""
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
        """Return what a definition, or the file itself, is for; not noted: whoever links to something asks for it anyway."""
        role = self.rows[file].role
        return role if role in _FILE_WIDE_ROLES or index not in self._interfaces[file].test_definitions else "test"

    def record_key(self, key: str) -> None:
        """Note that an answer depends on something beside the interfaces that were asked for.

        Args:
            key: ``module:NAME``, whether there is a file or folder of that name; ``folder:PATH``, which files are in a folder;
                ``path:PATH``, whether there is a file of that path; ``package:NAME``, which files declare a package;
                ``namespace:LANGUAGE:NAME``, whether any does; ``name:LANGUAGE:NAME``, which declarations there are of a
                name, with ``*`` those of all languages; ``in:PATH:NAME``, which in a folder; ``member:LANGUAGE:NAME``,
                which belong to a type of that name outside of it; ``base:LANGUAGE:NAME``, which types extend or implement
                one of that name; ``unknown:NAME``, that nothing has that name.
        """
        self.dependencies.keys.add(key)

    @contextmanager
    def track_dependencies(self) -> Iterator[Dependencies]:
        """Within the block, collect what is asked for; it counts for the block around it too."""
        outer_dependencies = self.begin_tracking()
        try:
            yield self.dependencies
        finally:
            self.end_tracking(outer_dependencies)

    def begin_tracking(self) -> Dependencies:
        """Begin to collect what is asked for, and return what was collected so far, for `end`."""
        outer_dependencies, self.dependencies = self.dependencies, Dependencies()
        self._record_file = self.dependencies.files.add
        return outer_dependencies

    def end_tracking(self, outer_dependencies: Dependencies) -> Dependencies:
        """Return what was collected since `begin`; it counts for what is around it too."""
        dependencies, self.dependencies = self.dependencies, outer_dependencies
        self._record_file = outer_dependencies.files.add
        outer_dependencies.files |= dependencies.files
        outer_dependencies.keys |= dependencies.keys
        return dependencies

    def add_dependencies(self, dependencies: Dependencies) -> None:
        """Note what an answer depends on that was kept."""
        self.dependencies.files |= dependencies.files
        self.dependencies.keys |= dependencies.keys

    def memoize(self, kind: str, key: Hashable, compute: Callable[[], ValueT]) -> ValueT:
        """Return what is made once for a key; what it depends on is noted each time.

        Args:
            kind: Tells apart equal keys of different things.
        """
        entry = self._memo.get((kind, key))
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
        self._memo[kind, key] = value, dependencies
        return value

    def find_declared_names(self, languages: Collection[str], other_languages: Collection[str]) -> Set[str]:
        """Return the names of the declarations in files of some languages, and of all that are not in others."""
        key = frozenset(languages)
        if key not in self._declared_names:
            self._declared_names[key] = frozenset(
                chain.from_iterable(
                    row.declares for row in self.rows if row.language in key or row.language not in other_languages
                )
            )
        return self._declared_names[key]

    def find_extending_types(self, languages: tuple[str, ...], name: str) -> Sequence[tuple[int, int]]:
        """Return the types in some languages that extend or implement one of a name, as written there: (file, index)."""
        for language in languages:
            self.record_key(f"base:{language}:{name}")
        return [
            (file, base.owner)
            for file in self._find_files("extends", name, languages)
            for base in self.peek(file).facts.bases
            if base.chain.rpartition(".")[2] == name
        ]

    def find_declarations(self, name: str, languages: tuple[str, ...] = ()) -> Sequence[tuple[int, int]]:
        """Return the declarations of a name in files of some languages, else in all files, as (file, index)."""
        key = name, languages
        if key not in self._declarations_by_name:
            self._declarations_by_name[key] = [
                (file, index)
                for file in self._find_files("declares", strip_arity(name), languages)
                for index in self.peek(file).by_name.get(name, ())
            ]
        return self._declarations_by_name[key]

    def format_qualified_name(self, file: int, index: int) -> str:
        """Return the qualified name of a definition with the module it is in, dotted."""
        module = self.rows[file].path.rpartition(".")[0].replace("/", ".")
        return f"{module}.{self.peek(file).definitions[index].qualified_name}".replace("::", ".")

    def _find_files(
        self, column: Literal["declares", "extends"], name: str, languages: tuple[str, ...]
    ) -> Sequence[int]:
        """Return the files in some languages, else all, that have a name in a column: no other interface is unpacked."""
        key = column, languages
        if key not in self._files_by_name:
            files_by_name = self._files_by_name[key] = {}
            for file, row in enumerate(self.rows):
                if not languages or row.language in languages:
                    for entry in getattr(row, column):
                        files_by_name.setdefault(entry, []).append(file)
        return self._files_by_name[key].get(name, ())

    def peek(self, file: int) -> FileInterface:
        """Return an interface without a note of it: what is asked is noted by a key."""
        return self._interfaces[file]

    @cached_property
    def settings(self) -> dict[str, dict[str, Any]]:
        """What files of configuration say of modules, by path."""
        return {row.path: dict(unpack_interface(row.interface).settings) for row in self.rows if row.configures}


MODULE = MODULE_SCOPE
