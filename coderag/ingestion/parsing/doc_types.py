"""Types in documentation comments: ``@param``, ``@return``, ``@var`` and ``@property`` of PHP."""

import re
from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from coderag.ingestion.parsing.fact_bindings import BindingReader
from coderag.ingestion.parsing.fact_scopes import ScopeTable
from coderag.ingestion.parsing.source_text import MAX_TYPE_CHARS, SourceText, join_name_parts
from coderag.schema.facts import MODULE_SCOPE, Binding, ReferenceKind

_TAG: Final = re.compile(
    r"@(?:phpstan-|psalm-)?(?P<tag>var|param|return|throws|property(?:-read|-write)?)[ \t]+"
    r"(?P<type>(?:[^\s<({]|<(?:[^<>]|<[^<>]*>)*>|\([^()]*\)|\{[^{}]*\})+)"
    r"(?:[ \t]+&?(?:\.\.\.)?\$(?P<name>\w+))?"
)
_CLASS_NAME: Final = re.compile(r"(?<![\w$\\-])\\?(?:[A-Z]\w*|\w+(?=\\))(?:\\\w+)*(?![\w-])")
_VAGUE_TYPES: Final = frozenset(
    {"", "array", "iterable", "object", "mixed", "callable", "Traversable", "Generator", "Iterator", "self", "static"}
)
"""Types that say less than a documented one."""

_NameUse = tuple[ReferenceKind, int, str, int]


class DocTypeReader:
    """Reads the types in documentation comments of one file.

    A documented type counts where the code has none, or a vaguer one such as ``array``.
    """

    def __init__(self, source: SourceText, scopes: ScopeTable, bindings: BindingReader) -> None:
        self._source = source
        self._scopes = scopes
        self._bindings = bindings
        self._native: dict[tuple[int, str], list[Binding]] = {}
        for group in (bindings.local, bindings.visible):
            for binding in group:
                self._native.setdefault((binding.scope, binding.name), []).append(binding)

    def read(self, comment: Node) -> Iterator[_NameUse]:
        """Add the types of a comment to what is below it, and yield the uses of the named types."""
        text = self._source.read_node(comment)
        if "@" not in text or (below := comment.next_named_sibling) is None:
            return
        declared = self._scopes.find_scope_starting_at(below.start_byte)
        for match in _TAG.finditer(text):
            type_text = match["type"].replace("&", "|")
            if len(type_text) >= MAX_TYPE_CHARS:
                continue
            self._apply(match["tag"], type_text, match["name"] or "", declared, below)
            offset = comment.start_byte + len(text[: match.start()].encode())
            for name in _CLASS_NAME.findall(type_text):
                yield "type", below.start_byte, join_name_parts(name), offset

    def _apply(self, tag: str, type_text: str, name: str, declared: int, below: Node) -> None:
        line = self._source.find_line(below.start_byte)
        if tag == "return" and declared != MODULE_SCOPE:
            returns = self._scopes.returns
            if returns[declared].startswith("=") or _is_vague(returns[declared]):
                returns[declared] = type_text
        elif tag == "param" and declared != MODULE_SCOPE and name:
            self._bind(declared, f"${name}", type_text, line)
        elif tag.startswith("property") and declared != MODULE_SCOPE and name:
            self._bind(declared, name, type_text, line)
        elif tag == "var" and declared != MODULE_SCOPE and self._scopes.kinds[declared] == "field":
            self._bind(self._scopes.parents[declared], self._scopes.names[declared], type_text, line)
        elif tag == "var" and declared == MODULE_SCOPE and name:
            scope = self._scopes.find_binding_scope(below.start_byte, name, member=False)
            if scope != MODULE_SCOPE:
                self._bindings.local[Binding(scope, f"${name}", type_text, "", line)] = None

    def _bind(self, scope: int, name: str, type_text: str, line: int) -> None:
        """Bind a name to its documented type, in place of a vaguer one."""
        existing = self._native.get((scope, name), [])
        if any(binding.type and not _is_vague(binding.type) for binding in existing):
            return
        is_visible = self._scopes.kinds[scope] not in ("function", "method")
        group = self._bindings.visible if is_visible else self._bindings.local
        for binding in existing:
            if binding in group and (binding.type or not binding.value):
                del group[binding]
                line = binding.line
        group[Binding(scope, name, type_text, "", line)] = None


def _is_vague(type_text: str) -> bool:
    """Return whether a type as written says little about a value."""
    parts = (part.strip().lstrip("\\?") for part in type_text.split("|"))
    return all(part in _VAGUE_TYPES or part == "null" for part in parts)
