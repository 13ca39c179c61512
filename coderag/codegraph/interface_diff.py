"""Difference between two versions of a file's interface, by name: files that use none of these names need no relinking.

Linking looks up a name in a file for one of three reasons: the linked file contains the name, or a file that it
consulted does, or a fact about another name of this file. Names that depend on a changed fact therefore count as
changed, too.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coderag.codegraph.linking.rules.c_family import CFamilyRules
from coderag.codegraph.linking.rules.rules_table import BLOCK_SCOPED_LANGUAGES, FULLY_LINKED_LANGUAGES
from coderag.schema.facts import MODULE_SCOPE, Base, Definition, FileFacts, rank_lines

_WORD: Final = re.compile(r"\w+")
_IMPLICIT_NAMES: Final = frozenset(
    {
        "__call__",
        "__getitem__",
        "__init__",
        "__iter__",
        "__new__",
        "__next__",
        "apply",
        "constructor",
        "default",
        "exports",
        "return",
        "using",
    }
)
"""Names that language rules look up although the source does not contain them."""


class InterfaceDiff(NamedTuple):
    """The difference between two versions of an interface.

    Attributes:
        names: Names with changed facts, and names whose resolution may depend on those.
        definitions, bases: Definitions of these names and bases of those definitions, before and after.
        new_positions: New position of each old definition; -1 for those in `names`.
    """

    names: frozenset[str]
    definitions: list[Definition]
    bases: list[Base]
    new_positions: NDArray[np.int64]


def diff_interfaces(before: FileFacts, after: FileFacts) -> InterfaceDiff | None:
    """Return the difference between two interfaces; None if names cannot express it."""
    if _collect_unnamed_facts(before) != _collect_unnamed_facts(after):
        return None
    imports_differ = _list_unnamed_imports(before) != _list_unnamed_imports(after)
    if imports_differ and (before.language not in FULLY_LINKED_LANGUAGES or before.language in CFamilyRules.languages):
        return None  # importing a file may bring any name into scope
    named_facts = _NamedFacts(before), _NamedFacts(after)
    old, new = (entry.facts_by_name for entry in named_facts)
    names = {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
    if before.language == "go" and imports_differ:
        names.update(*(entry.qualified_names for entry in named_facts))
    dependent_names = set(names)
    while dependent_names:
        dependent_names = set().union(*(entry.find_dependent_names(dependent_names) for entry in named_facts)) - names
        names |= dependent_names
    if any(name in _IMPLICIT_NAMES or not name.isidentifier() for name in names):
        return None
    both = before, after
    definitions = [entry for facts in both for entry in facts.definitions if entry.name in names]
    bases = [entry for facts in both for entry in facts.bases if facts.definitions[entry.owner].name in names]
    return InterfaceDiff(frozenset(names), definitions, bases, _map_positions(before, after, names))


def _collect_unnamed_facts(facts: FileFacts) -> tuple[object, ...]:
    """Return the facts of an interface that belong to no name."""
    exported = any(entry.exported for entry in facts.imports) or any(
        {"export", "exports"} & set(entry.modifiers.split())
        for entry in facts.definitions
        if entry.parent == MODULE_SCOPE
    )
    scopes = _identify_scopes(facts.definitions)
    star_imports = [(entry.module, entry.exported, scopes[entry.scope]) for entry in facts.imports if entry.name == "*"]
    namespaces = [entry.qualified_name for entry in facts.definitions if entry.kind == "namespace"]
    # Order selects the declaration where a name has several.
    order = rank_lines(facts) if facts.language in BLOCK_SCOPED_LANGUAGES else []
    names = [entry.name for entry in facts.definitions] if order else []
    return facts.language, facts.package, facts.settings, exported, star_imports, namespaces, names, order


def _map_positions(before: FileFacts, after: FileFacts, names: Collection[str]) -> NDArray[np.int64]:
    positions_by_name: dict[str, list[int]] = defaultdict(list)
    for index, definition in enumerate(after.definitions):
        positions_by_name[definition.name].append(index)
    next_positions = {name: iter(indices) for name, indices in positions_by_name.items()}
    new_positions = (
        -1 if definition.name in names else next(next_positions[definition.name]) for definition in before.definitions
    )
    return np.fromiter(new_positions, np.int64, len(before.definitions))


def _identify_scopes(definitions: Sequence[Definition]) -> list[str]:
    """Return an identity for each scope, the module last, that does not depend on its position."""
    identities: list[str] = []
    counts: dict[str, int] = defaultdict(int)
    for definition in definitions:
        enclosing = "" if definition.parent == MODULE_SCOPE else identities[definition.parent]
        name = f"{enclosing}/{definition.owner}.{definition.name}"
        identities.append(f"{name}#{counts[name]}")
        counts[name] += 1
    return [*identities, ""]


def _list_unnamed_imports(facts: FileFacts) -> list[str]:
    is_simple = facts.language not in FULLY_LINKED_LANGUAGES
    return [import_.module for import_ in facts.imports if is_simple or not (import_.name or import_.alias)]


class _NamedFacts:
    """Facts of an interface, by name.

    Attributes:
        facts_by_name: All facts of each name, in order, without lines.
        qualified_names: Names with a fact that contains a dot: in Go, a package.
    """

    def __init__(self, facts: FileFacts) -> None:
        self.facts_by_name: dict[str, list[tuple[object, ...]]] = defaultdict(list)
        self.qualified_names: set[str] = set()
        self._words_by_name: dict[str, set[str]] = defaultdict(set)
        self._nested_names: dict[str, set[str]] = defaultdict(set)  # names declared inside a name's scopes
        self._definitions = definitions = facts.definitions
        self._scopes = scopes = _identify_scopes(definitions)
        for definition in definitions:
            plain = definition._replace(parent=0, start_line=0, end_line=0, name_line=0)
            self._add_fact(
                definition.name, definition.parent, plain, definition.owner, definition.returns, definition.parameters
            )
        for binding in facts.bindings:
            self._add_fact(binding.name, binding.scope, binding._replace(scope=0, line=0), binding.type, binding.value)
        for import_ in facts.imports:
            if name := import_.alias or import_.name:
                plain_import = import_._replace(scope=0, line=0)
                self._add_fact(name, import_.scope, plain_import, import_.module, import_.name)
        for base in facts.bases:
            name = definitions[base.owner].name
            self.facts_by_name[name].append((scopes[base.owner], base.chain, base.relation))
            self._words_by_name[name].update(_WORD.findall(base.chain))
            if "." in base.chain:
                self.qualified_names.add(name)
        for siblings in _group_interface_methods(definitions) if facts.language == "go" else ():
            for name in siblings:  # implementing an interface depends on all of its methods
                self._nested_names[name] |= siblings

    def find_dependent_names(self, names: Collection[str]) -> set[str]:
        """Return the names whose resolution may change if the facts of some names change."""
        changed_names = set(names)
        dependent_names = {name for name, words in self._words_by_name.items() if not changed_names.isdisjoint(words)}
        return dependent_names.union(
            *(self._nested_names[name] for name in changed_names if name in self._nested_names)
        )

    def _add_fact(self, name: str, scope: int, fact: tuple[object, ...], *texts: str) -> None:
        self.facts_by_name[name].append((self._scopes[scope], *fact))
        self._words_by_name[name].update(word for text in texts for word in _WORD.findall(text))
        if any("." in text for text in texts):
            self.qualified_names.add(name)
        if scope != MODULE_SCOPE:
            self._nested_names[self._definitions[scope].name].add(name)


def _group_interface_methods(definitions: Sequence[Definition]) -> Iterator[set[str]]:
    """Yield the name of each interface together with the names of its methods."""
    methods_by_interface: dict[int, set[str]] = defaultdict(set)
    for definition in definitions:
        if definition.parent != MODULE_SCOPE and definitions[definition.parent].kind == "interface":
            methods_by_interface[definition.parent] |= {definition.name, definitions[definition.parent].name}
    yield from methods_by_interface.values()
