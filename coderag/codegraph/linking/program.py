"""All files of a repository as linking sees them: interfaces read when asked for, and a note of who asked for what."""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, Final, Literal, NamedTuple, TypeVar

from coderag.codegraph.linking.overloads import bare
from coderag.schema.facts import MODULE_SCOPE, TEST, Base, Binding, Definition, FileFacts, Import
from coderag.stores.facts_codec import FactsBody, unpack_body, unpack_interface

Made = TypeVar("Made")

_OF_WHOLE_FILES: Final = frozenset({"test", "generated", "vendored"})
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


class Interface:
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
        found: dict[int, dict[str, list[int]]] = {}
        for index, one in enumerate(self.facts.definitions):
            if one.owner or one.kind == "impl":
                continue
            found.setdefault(one.parent, {}).setdefault(one.name, []).append(index)
        return found

    @cached_property
    def owned(self) -> dict[str, dict[str, list[int]]]:
        """For each type that qualifies names outside of it, those names: methods of a Go type, of a C++ class."""
        found: dict[str, dict[str, list[int]]] = {}
        for index, one in enumerate(self.facts.definitions):
            if one.owner:
                found.setdefault(one.owner, {}).setdefault(one.name, []).append(index)
        return found

    @cached_property
    def known(self) -> dict[int, set[str]]:
        """For each scope, all names that it declares, imports or binds."""
        found: dict[int, set[str]] = {}
        for scope, children in self.children.items():
            found.setdefault(scope, set()).update(children)
        for scope, name in (*self.imports, *self.bindings):
            found.setdefault(scope, set()).add(name)
        return found

    @cached_property
    def top(self) -> dict[str, int]:
        """What it declares outside of everything or in its namespaces, by name; the last of several."""
        namespaces = (index for index, one in enumerate(self.definitions) if one.kind == "namespace")
        found: dict[str, int] = {}
        for scope in reversed([MODULE_SCOPE, *namespaces]):
            found |= {name: indices[-1] for name, indices in self.children.get(scope, {}).items()}
        return found

    @cached_property
    def by_name(self) -> dict[str, list[int]]:
        """All that it declares, by name."""
        found: dict[str, list[int]] = {}
        for index, one in enumerate(self.facts.definitions):
            found.setdefault(one.name, []).append(index)
        return found

    @cached_property
    def repeated(self) -> frozenset[str]:
        """Names that it declares more than once."""
        return frozenset(name for name, indices in self.by_name.items() if len(indices) > 1)

    @cached_property
    def methods(self) -> dict[str, list[int]]:
        """Its methods by name."""
        found: dict[str, list[int]] = {}
        for index, one in enumerate(self.facts.definitions):
            if one.kind == "method":
                found.setdefault(one.name, []).append(index)
        return found

    @cached_property
    def tests(self) -> frozenset[int]:
        """What only tests have: all that is declared in something that says so."""
        found: set[int] = set()
        for index, one in enumerate(self.definitions):
            if TEST in one.modifiers or one.parent in found:  # what is around something comes before it
                found.add(index)
        return frozenset(found)

    @cached_property
    def bindings(self) -> dict[tuple[int, str], list[Binding]]:
        """For each scope and name, its bindings."""
        return by_scope_and_name(self.facts.bindings)

    @cached_property
    def imports(self) -> dict[tuple[int, str], list[Import]]:
        """For each scope and name in it, the imports that bring it; what is exported only has no name here."""
        found: dict[tuple[int, str], list[Import]] = defaultdict(list)
        for one in self.facts.imports:
            if one.name != "*" and (one.module or not one.exported) and (name := one.alias or one.name):
                found[one.scope, name].append(one)
        return dict(found)

    @cached_property
    def exports(self) -> dict[str, Import]:
        """The names that it passes on under a name of their own."""
        return {one.alias or one.name: one for one in self.facts.imports if one.exported and one.name != "*"}

    @cached_property
    def stars(self) -> list[Import]:
        """The imports of all that a module has."""
        return [one for one in self.facts.imports if one.name == "*"]

    @cached_property
    def star_scopes(self) -> frozenset[int]:
        """The scopes into which all is imported that a module has."""
        return frozenset(one.scope for one in self.stars)

    @cached_property
    def bases(self) -> dict[int, list[Base]]:
        """For each type, what it extends and implements."""
        found: dict[int, list[Base]] = defaultdict(list)
        for one in self.facts.bases:
            found[one.owner].append(one)
        return dict(found)


def by_scope_and_name(bindings: Sequence[Binding]) -> dict[tuple[int, str], list[Binding]]:
    """Return bindings by their scope and name."""
    found: dict[tuple[int, str], list[Binding]] = {}
    for one in bindings:
        found.setdefault((one.scope, one.name), []).append(one)
    return found


def declared_names(facts: FileFacts) -> list[str]:
    """Return the names by which something in a file may be known to others: of what it declares, binds and passes on."""
    names = {bare(one.name) for one in facts.definitions}
    names.update(one.alias for one in facts.imports)
    names.update(one.name for one in facts.bindings)
    return sorted(names)


def extended_names(facts: FileFacts) -> list[str]:
    """Return the last names of what the types of a file extend and implement, as written there."""
    return sorted({one.chain.rpartition(".")[2] for one in facts.bases})


def namespace_names(facts: FileFacts) -> list[str]:
    """Return the qualified names of a file's namespace blocks, and ``*`` if it passes on all that another module has."""
    names = {one.qualified_name for one in facts.definitions if one.kind == "namespace"}
    names.update(one.name for one in facts.imports if one.exported and one.name == "*")
    return sorted(names)


@dataclass(slots=True)
class Consulted:
    """What was asked for: files by number, and keys of other things, see `Program.note`."""

    files: set[int] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)


class _Interfaces(dict[int, Interface]):
    """The interfaces that were asked for, by file."""

    def __init__(self, rows: Sequence[FactsRow], known: Mapping[int, FileFacts]) -> None:
        super().__init__((file, Interface(facts)) for file, facts in known.items())
        self._rows = rows

    def __missing__(self, file: int) -> Interface:
        self[file] = interface = Interface(unpack_interface(self._rows[file].interface))
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
        self.file_of = {row.path: file for file, row in enumerate(rows)}
        self._interfaces = _Interfaces(rows, interfaces or {})
        self._declared: dict[frozenset[str], frozenset[str]] = {}
        self._files_by_name: dict[tuple[str, tuple[str, ...]], dict[str, list[int]]] = {}
        self._named: dict[tuple[str, tuple[str, ...]], list[tuple[int, int]]] = {}
        self.consulted = Consulted()
        self._note_file = self.consulted.files.add
        self._remembered: dict[tuple[str, Hashable], tuple[Any, Consulted]] = {}

    def interface(self, file: int) -> Interface:
        """Return what a file shows to others; noted as asked for."""
        self._note_file(file)
        return self._interfaces[file]

    def body(self, file: int) -> FactsBody:
        """Return a file's local bindings, references and mentions."""
        return unpack_body(self.rows[file].body)

    def definition(self, file: int, index: int) -> Definition:
        """Return one definition."""
        self._note_file(file)
        return self._interfaces[file].definitions[index]

    def role(self, file: int, index: int) -> str:
        """Return what a definition, or the file itself, is for; not noted: whoever links to something asks for it anyway."""
        role = self.rows[file].role
        return role if role in _OF_WHOLE_FILES or index not in self._interfaces[file].tests else "test"

    def note(self, key: str) -> None:
        """Note that an answer depends on something beside the interfaces that were asked for.

        Args:
            key: ``module:NAME``, whether there is a file or folder of that name; ``folder:PATH``, which files are in a folder;
                ``path:PATH``, whether there is a file of that path; ``package:NAME``, which files declare a package;
                ``namespace:LANGUAGE:NAME``, whether any does; ``name:LANGUAGE:NAME``, which declarations there are of a
                name, with ``*`` those of all languages; ``in:PATH:NAME``, which in a folder; ``member:LANGUAGE:NAME``,
                which belong to a type of that name outside of it; ``base:LANGUAGE:NAME``, which types extend or implement
                one of that name; ``unknown:NAME``, that nothing has that name.
        """
        self.consulted.keys.add(key)

    @contextmanager
    def consulting(self) -> Iterator[Consulted]:
        """Within the block, collect what is asked for; it counts for the block around it too."""
        outer = self.begin()
        try:
            yield self.consulted
        finally:
            self.end(outer)

    def begin(self) -> Consulted:
        """Begin to collect what is asked for, and return what was collected so far, for `end`."""
        outer, self.consulted = self.consulted, Consulted()
        self._note_file = self.consulted.files.add
        return outer

    def end(self, outer: Consulted) -> Consulted:
        """Return what was collected since `begin`; it counts for what is around it too."""
        consulted, self.consulted = self.consulted, outer
        self._note_file = outer.files.add
        outer.files |= consulted.files
        outer.keys |= consulted.keys
        return consulted

    def again(self, consulted: Consulted) -> None:
        """Note what an answer depends on that was kept."""
        self.consulted.files |= consulted.files
        self.consulted.keys |= consulted.keys

    def remembered(self, kind: str, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what is made once for a key; what it depends on is noted each time.

        Args:
            kind: Tells apart equal keys of different things.
        """
        known = self._remembered.get((kind, key))
        if known is not None:
            self.again(known[1])
            made: Made = known[0]
            return made
        outer = self.begin()
        consulted = self.consulted
        try:
            made = make()
        finally:
            self.end(outer)
        self._remembered[kind, key] = made, consulted
        return made

    def declared_for(self, languages: Collection[str], others: Collection[str]) -> Set[str]:
        """Return the names of the declarations in files of some languages, and of all that are not in others."""
        key = frozenset(languages)
        if key not in self._declared:
            self._declared[key] = frozenset(
                chain.from_iterable(
                    row.declares for row in self.rows if row.language in key or row.language not in others
                )
            )
        return self._declared[key]

    def extending(self, languages: tuple[str, ...], name: str) -> Sequence[tuple[int, int]]:
        """Return the types in some languages that extend or implement one of a name, as written there: (file, index)."""
        for language in languages:
            self.note(f"base:{language}:{name}")
        return [
            (file, one.owner)
            for file in self._files_with("extends", name, languages)
            for one in self.peek(file).facts.bases
            if one.chain.rpartition(".")[2] == name
        ]

    def named(self, name: str, languages: tuple[str, ...] = ()) -> Sequence[tuple[int, int]]:
        """Return the declarations of a name in files of some languages, else in all files, as (file, index)."""
        key = name, languages
        if key not in self._named:
            self._named[key] = [
                (file, index)
                for file in self._files_with("declares", bare(name), languages)
                for index in self.peek(file).by_name.get(name, ())
            ]
        return self._named[key]

    def qualified(self, file: int, index: int) -> str:
        """Return the qualified name of a definition with the module it is in, dotted."""
        module = self.rows[file].path.rpartition(".")[0].replace("/", ".")
        return f"{module}.{self.peek(file).definitions[index].qualified_name}".replace("::", ".")

    def _files_with(
        self, column: Literal["declares", "extends"], name: str, languages: tuple[str, ...]
    ) -> Sequence[int]:
        """Return the files in some languages, else all, that have a name in a column: no other interface is unpacked."""
        key = column, languages
        if key not in self._files_by_name:
            found = self._files_by_name[key] = {}
            for file, row in enumerate(self.rows):
                if not languages or row.language in languages:
                    for one in getattr(row, column):
                        found.setdefault(one, []).append(file)
        return self._files_by_name[key].get(name, ())

    def peek(self, file: int) -> Interface:
        """Return an interface without a note of it: what is asked is noted by a key."""
        return self._interfaces[file]

    @cached_property
    def settings(self) -> dict[str, dict[str, Any]]:
        """What files of configuration say of modules, by path."""
        return {row.path: dict(unpack_interface(row.interface).settings) for row in self.rows if row.configures}


MODULE = MODULE_SCOPE
