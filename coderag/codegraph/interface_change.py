"""What differs between two interfaces of a file, by name: whoever never meets such a name need not be linked again.

Linking asks a file for names, and it has them from what is written: in the file that is linked, in other files that it asked,
or in what the file says of another name. So what is said of a name that differs makes other names of the file differ, too.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coderag.codegraph.linking.rules.ecmascript import EcmaScriptRules
from coderag.codegraph.linking.rules.rules_table import FULLY_LINKED_LANGUAGES
from coderag.schema.facts import MODULE_SCOPE, Base, Definition, FileFacts, rank_lines

_WORD: Final = re.compile(r"\w+")
_UNWRITTEN: Final = frozenset(
    {"__call__", "__getitem__", "__init__", "__iter__", "__new__", "__next__", "constructor", "default", "exports"}
)
"""Names that the rules of a language ask for though nobody wrote them."""

_WITH_BLOCKS: Final = frozenset(EcmaScriptRules.languages)


class InterfaceChange(NamedTuple):
    """A difference between two interfaces.

    Attributes:
        names: All of which something else is said than before, or for which something else may follow.
        definitions, bases: What is declared and extended by these names, before and now.
        moved: For each definition of before its position now; -1 for those of `names`.
    """

    names: frozenset[str]
    definitions: list[Definition]
    bases: list[Base]
    moved: NDArray[np.int64]


def interface_change(before: FileFacts, after: FileFacts) -> InterfaceChange | None:
    """Return how an interface differs from before; None if that cannot be told by names."""
    if _whole(before) != _whole(after):
        return None
    imports_differ = _unnamed_imports(before) != _unnamed_imports(after)
    if imports_differ and before.language not in FULLY_LINKED_LANGUAGES:
        return None  # an import of a file may bring any name
    sayings = _Sayings(before), _Sayings(after)
    old, new = (one.said for one in sayings)
    names = {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
    if before.language == "go" and imports_differ:
        names.update(*(one.qualified for one in sayings))
    reached = set(names)
    while reached:
        reached = set().union(*(one.following(reached) for one in sayings)) - names
        names |= reached
    if any(name in _UNWRITTEN or not name.isidentifier() for name in names):
        return None
    both = before, after
    definitions = [one for facts in both for one in facts.definitions if one.name in names]
    bases = [one for facts in both for one in facts.bases if facts.definitions[one.owner].name in names]
    return InterfaceChange(frozenset(names), definitions, bases, _moved(before, after, names))


def _whole(facts: FileFacts) -> tuple[object, ...]:
    """Return what an interface says that no name stands for."""
    exported = any(one.exported for one in facts.imports) or any(
        {"export", "exports"} & set(one.modifiers.split()) for one in facts.definitions if one.parent == MODULE_SCOPE
    )
    scopes = _identities(facts.definitions)
    stars = [(one.module, one.exported, scopes[one.scope]) for one in facts.imports if one.name == "*"]
    namespaces = [one.qualified_name for one in facts.definitions if one.kind == "namespace"]
    # Which of several of a name is meant is told by what stands around them.
    order = rank_lines(facts) if facts.language in _WITH_BLOCKS else []
    names = [one.name for one in facts.definitions] if order else []
    return facts.language, facts.package, facts.settings, exported, stars, namespaces, names, order


def _moved(before: FileFacts, after: FileFacts, names: Collection[str]) -> NDArray[np.int64]:
    places: dict[str, list[int]] = defaultdict(list)
    for index, one in enumerate(after.definitions):
        places[one.name].append(index)
    ordered = {name: iter(indices) for name, indices in places.items()}
    moved = (-1 if one.name in names else next(ordered[one.name]) for one in before.definitions)
    return np.fromiter(moved, np.int64, len(before.definitions))


def _identities(definitions: Sequence[Definition]) -> list[str]:
    """Return for each scope, the module last, what tells it from others wherever it stands."""
    found: list[str] = []
    counts: dict[str, int] = defaultdict(int)
    for one in definitions:
        around = "" if one.parent == MODULE_SCOPE else found[one.parent]
        name = f"{around}/{one.owner}.{one.name}"
        found.append(f"{name}#{counts[name]}")
        counts[name] += 1
    return [*found, ""]


def _unnamed_imports(facts: FileFacts) -> list[str]:
    is_simple = facts.language not in FULLY_LINKED_LANGUAGES
    return [one.module for one in facts.imports if is_simple or not (one.name or one.alias)]


class _Sayings:
    """What an interface says, by name.

    Attributes:
        said: For each name all that is said of it, in order, without lines.
        qualified: Names of which something is said with a dot in it: in Go, with a package.
    """

    def __init__(self, facts: FileFacts) -> None:
        self.said: dict[str, list[tuple[object, ...]]] = defaultdict(list)
        self.qualified: set[str] = set()
        self._words: dict[str, set[str]] = defaultdict(set)
        self._inside: dict[str, set[str]] = defaultdict(set)  # names in the scopes of a name
        self._definitions = definitions = facts.definitions
        self._scopes = scopes = _identities(definitions)
        for one in definitions:
            plain = one._replace(parent=0, start_line=0, end_line=0, name_line=0)
            self._note(one.name, one.parent, plain, one.owner, one.returns, one.parameters)
        for bound in facts.bindings:
            self._note(bound.name, bound.scope, bound._replace(scope=0, line=0), bound.type, bound.value)
        for brought in facts.imports:
            if name := brought.alias or brought.name:
                plain_import = brought._replace(scope=0, line=0)
                self._note(name, brought.scope, plain_import, brought.module, brought.name)
        for base in facts.bases:
            name = definitions[base.owner].name
            self.said[name].append((scopes[base.owner], base.chain, base.relation))
            self._words[name].update(_WORD.findall(base.chain))
            if "." in base.chain:
                self.qualified.add(name)
        for siblings in _methods_of_interfaces(definitions) if facts.language == "go" else ():
            for name in siblings:  # what implements an interface is told by all of them
                self._inside[name] |= siblings

    def following(self, names: Collection[str]) -> set[str]:
        """Return the names for which something else may follow if something else is said of some names."""
        wanted = set(names)
        found = {name for name, words in self._words.items() if not wanted.isdisjoint(words)}
        return found.union(*(self._inside[name] for name in wanted if name in self._inside))

    def _note(self, name: str, scope: int, saying: tuple[object, ...], *texts: str) -> None:
        self.said[name].append((self._scopes[scope], *saying))
        self._words[name].update(word for text in texts for word in _WORD.findall(text))
        if any("." in text for text in texts):
            self.qualified.add(name)
        if scope != MODULE_SCOPE:
            self._inside[self._definitions[scope].name].add(name)


def _methods_of_interfaces(definitions: Sequence[Definition]) -> Iterator[set[str]]:
    """Yield for each interface its name with those of its methods."""
    found: dict[int, set[str]] = defaultdict(set)
    for one in definitions:
        if one.parent != MODULE_SCOPE and definitions[one.parent].kind == "interface":
            found[one.parent] |= {one.name, definitions[one.parent].name}
    yield from found.values()
