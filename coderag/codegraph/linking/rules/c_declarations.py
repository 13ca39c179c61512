"""Declarations of C-like languages by name: their namespaces, and the definitions of prototypes."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from coderag.codegraph.linking.program import MODULE, Program
from coderag.codegraph.linking.referents import DATA_KINDS, TYPE_KINDS
from coderag.codegraph.linking.rules.c_includes import C_FAMILY, Includes
from coderag.codegraph.linking.rules.proximity import select_nearest
from coderag.codegraph.linking.rules.standard_names import read_names
from coderag.schema.facts import PROTOTYPE_MODIFIER, Definition

_KEYWORDS: Final = read_names("c_family", "keywords")
_RECORD_KINDS: Final = frozenset({"struct", "union", "class"})
_MACRO_KINDS: Final = frozenset({"macro", "constant"})
_STANDARD_NAMESPACES: Final = frozenset({"std"})  # a repository only specialises what it declares there
_FUNCTION_KINDS: Final = frozenset({"function", "method"})
_AMBIGUITY_FACTOR: Final = 0.8
"""Confidence factor of the nearest of several definitions of a prototype, such as those for other platforms."""


class GlobalDeclaration(NamedTuple):
    """A declaration that may be named without a type: of a file, a namespace, or an unscoped enum.

    Attributes:
        namespace: Dotted name of its namespace; empty for the global one.
        is_prototype: Whether another declaration defines it.
        is_internal: Whether other files see it only through an include.
    """

    file: int
    index: int  # type: ignore[assignment]  # hides tuple.index, which is not used
    kind: str
    namespace: str
    is_prototype: bool
    is_internal: bool


class DeclarationIndex:
    """Finds declarations by name.

    Args:
        program: All files.
        includes: Their includes.
    """

    def __init__(self, program: Program, includes: Includes) -> None:
        self._program = program
        self._includes = includes
        self._by_name: dict[str, Sequence[GlobalDeclaration]] = {}

    def find(self, name: str) -> Sequence[GlobalDeclaration]:
        """Return the declarations of a name in all files and namespaces; a keyword has none, whatever a macro hides."""
        if name in _KEYWORDS:
            return ()
        for language in C_FAMILY:
            self._program.record_key(f"name:{language}:{name}")
        if name not in self._by_name:
            self._by_name[name] = [
                declaration
                for file, index in self._program.find_declarations(name, C_FAMILY)
                if (declaration := self._build(file, index)) is not None
            ]
        return self._by_name[name]

    def is_namespace(self, name: str) -> bool:
        """Return whether a file declares a namespace."""
        for language in C_FAMILY:
            self._program.record_key(f"namespace:{language}:{name}")
        return name in self._namespaces

    def find_definition(self, file: int, index: int) -> tuple[int, int, float] | None:
        """Return the definition of a prototype of a file or namespace, as file, index and confidence; None without one.

        A definition in the same file comes first, then those that it includes, then those that the linker sees.
        """
        prototype = self._build(file, index)
        if prototype is None:
            return None
        name = self._program.get_definition(file, index).name
        candidates = [
            other
            for other in self.find(name)
            if not other.is_prototype
            and other.namespace == prototype.namespace
            and _can_define(other.kind, prototype.kind)
        ]
        if not candidates and prototype.kind in _FUNCTION_KINDS:  # ``METHOD(f);`` in a class reads as one
            candidates = [other for other in self.find(name) if other.kind == "macro"]
        visible = self._includes.find_visible_files(file)
        for group in (
            [other for other in candidates if other.file == file],
            [other for other in candidates if other.file in visible],
            [other for other in candidates if not (other.is_internal or other.kind == "macro")],
        ):
            if group:
                return self._select(file, group)
        return None

    def _select(self, file: int, candidates: Sequence[GlobalDeclaration]) -> tuple[int, int, float]:
        """Return the candidate whose file has the same stem, else the nearest one."""
        stem = _get_stem(self._program.rows[file].path)
        same_stem = [other for other in candidates if _get_stem(self._program.rows[other.file].path) == stem]
        group = same_stem or candidates
        target = select_nearest(self._program, file, [(other.file, other.index) for other in group])
        is_ambiguous = len({other.file for other in group}) > 1
        return (*target, _AMBIGUITY_FACTOR if is_ambiguous else 1.0)

    def _build(self, file: int, index: int) -> GlobalDeclaration | None:
        """Return a declaration; None if it is the member of a type, or local."""
        definitions = self._program.peek(file).definitions
        definition = definitions[index]
        if definition.kind in _MACRO_KINDS:  # whatever is around it
            return GlobalDeclaration(file, index, definition.kind, "", is_prototype=False, is_internal=False)
        namespaces: list[str] = []
        if definition.owner:
            namespaces.append(definition.owner.replace("::", "."))
        scope = definition.parent
        while scope != MODULE:
            outer = definitions[scope]
            if outer.kind == "namespace":
                namespaces.append(outer.name)
            elif not self._is_transparent(file, definition, outer):
                return None
            scope = outer.parent
        namespace = ".".join(reversed(namespaces))
        is_member = bool(definition.owner) and namespace not in self._namespaces
        if definition.kind == "namespace" or is_member or namespace.partition(".")[0] in _STANDARD_NAMESPACES:
            return None
        words = definition.modifiers.split()
        return GlobalDeclaration(
            file, index, definition.kind, namespace, PROTOTYPE_MODIFIER in words, "static" in words
        )

    def _is_transparent(self, file: int, definition: Definition, outer: Definition) -> bool:
        """Return whether a declaration's names belong to the scope around it: of an unscoped enum; of a struct in C."""
        if outer.kind == "enum":
            return "class" not in outer.modifiers.split() and "struct" not in outer.modifiers.split()
        is_nested_type = definition.kind in TYPE_KINDS or definition.kind == "field"
        return self._program.rows[file].language == "c" and outer.kind in _RECORD_KINDS and is_nested_type

    @cached_property
    def _namespaces(self) -> frozenset[str]:
        """Declared namespaces and their enclosing namespaces."""
        names = {name for row in self._program.rows if row.language in C_FAMILY for name in row.namespaces}
        return frozenset(outer for name in names if name != "*" for outer in list_outer_namespaces(name))


def list_outer_namespaces(namespace: str) -> Iterable[str]:
    """Return a namespace and its enclosing ones, innermost first, without the global one."""
    parts = namespace.split(".")
    return [".".join(parts[:length]) for length in range(len(parts), 0, -1)]


def _can_define(kind: str, prototype_kind: str) -> bool:
    """Return whether a definition of a kind can be that of a prototype of a kind."""
    if prototype_kind in _FUNCTION_KINDS:
        return kind in _FUNCTION_KINDS
    if prototype_kind == "type_alias":
        return kind in TYPE_KINDS and kind != "type_alias"
    return kind in DATA_KINDS


def _get_stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]
