"""Reachability of code without a use that names it: entry points, decorators, exports, dispatch."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from coderag.codegraph.constructors import is_constructor
from coderag.codegraph.graph import CodeGraph
from coderag.codegraph.relations import BASE_RELATIONS
from coderag.codegraph.symbol_graph import GraphNode
from coderag.stores.graph_tables import EXTERNAL_KIND

_ENTRY_NAMES: Final = frozenset(
    {"main", "Main", "wmain", "WinMain", "wWinMain", "DllMain", "LLVMFuzzerTestOneInput", "_start"}
)
_LANGUAGE_ENTRY_NAMES: Final = {"go": frozenset({"init"}), "rust": frozenset({"drop", "fmt"})}
_HOOK_NAMES: Final = frozenset(
    {
        "to_s", "to_str", "inspect", "method_missing", "respond_to_missing", "included", "inherited", "extended", "each",
        "toString", "hashCode", "equals", "compareTo", "clone", "finalize", "toJSON", "valueOf", "deinit", "ToString",
        "GetHashCode", "Equals", "Dispose", "dealloc",
    }
)  # fmt: skip
"""Methods that languages and their libraries call."""

_MAGIC: Final = re.compile(r"__\w+(?:__)?|operator\W.*|~\w+|\W+")
_HARMLESS_MARKS: Final = frozenset(
    {
        "Deprecated", "FunctionalInterface", "JvmField", "JvmName", "JvmOverloads", "JvmStatic", "MainActor",
        "NonNull", "NotNull", "Nullable", "Obsolete", "Override", "Pure", "SafeVarargs", "SuppressWarnings",
        "abstractmethod", "allow", "asynccontextmanager", "available", "cache", "cached_property", "cfg_attr",
        "classmethod", "contextmanager", "dataclass", "deprecated", "derive", "discardableResult", "doc", "expect",
        "final", "inlinable", "inline", "lru_cache", "moduledoc", "must_use", "non_exhaustive", "overload",
        "override", "param", "property", "repr", "return", "returns", "runtime_checkable", "spec", "staticmethod",
        "total_ordering", "type", "typedoc", "usableFromInline", "wraps",
    }
)  # fmt: skip
"""Decorators, annotations and attributes that register nothing."""

_MARK: Final = re.compile(r"\s*(?:@|#\[|#!\[|\[)\s*(?:[\w.]+[.:]+)?(\w+)")
_EXPORTED: Final = re.compile(r"\s*(?:export|pub|public|open)\b|\s*(?:module\.)?exports\b")
_BASES: Final = re.compile(
    r"\bclass\s+[\w:]+\s*(?:\[[^\]]*\])?\(\s*[^)\s]|\b(?:extends|implements)\b|\bclass\s+\w+\s*<\s*\w|(?:class|struct|object)\b[^:]*\s:\s*\w|\)\s*:\s*\w|\bimpl\b.*\bfor\b"
)
_ABSTRACT_KINDS: Final = frozenset({"interface", "trait"})
_MAX_MARK_LINES: Final = 8


def find_hidden_use(graph: CodeGraph, node: GraphNode, lines: Sequence[str]) -> str:
    """Return how a declaration is used without being named; empty if nothing says so.

    Args:
        graph: The graph.
        node: The declaration.
        lines: Lines of its file.
    """
    return next(_iterate_hidden_uses(graph, node, lines), "")


def _iterate_hidden_uses(graph: CodeGraph, node: GraphNode, lines: Sequence[str]) -> Iterator[str]:
    if node.name in _ENTRY_NAMES or node.name in _LANGUAGE_ENTRY_NAMES.get(node.language, ()):
        yield "an entry point"
    if _MAGIC.fullmatch(node.name) or (node.kind == "method" and node.name in _HOOK_NAMES):
        yield "called by the language"
    if mark := find_registering_mark(node, lines):
        yield f"registered by `{mark}`"
    if node.kind != "method" or node.parent < 0:
        return
    parent = graph.symbols.get_node(node.parent)
    if is_constructor(node.language, node.name, parent.name):
        yield "a constructor"
    if parent.kind in _ABSTRACT_KINDS:
        yield "declared by an interface"
    if graph.symbols.find_edges(node.id, "out", ("overrides",)):
        yield "overrides a method"
    if _has_external_base(graph, parent, lines):
        yield "may override a method of a base outside the repository"


def find_registering_mark(node: GraphNode, lines: Sequence[str]) -> str:
    """Return the decorator, annotation or attribute that may register a declaration; empty if there is none."""
    first = max(0, node.start_line - 1 - _MAX_MARK_LINES)
    above = lines[first : node.start_line - 1]
    marks: list[str] = []
    for text in reversed(above):
        if not text.strip() or not (_MARK.match(text) or text.strip().endswith((")", ",", "]"))):
            break
        marks.append(text)
    for text in lines[node.start_line - 1 : node.end_line]:
        if not _MARK.match(text):
            break
        marks.append(text)
    names = ((match[0].strip(), match[1]) for text in marks if (match := _MARK.match(text)))
    return next(
        (f"{mark}]" if mark.startswith(("#[", "[")) else mark for mark, name in names if name not in _HARMLESS_MARKS),
        "",
    )


def is_exported(node: GraphNode, lines: Sequence[str]) -> bool:
    """Return whether the head of a declaration offers it to other code."""
    head = next((text for text in lines[node.start_line - 1 : node.end_line] if not _MARK.match(text)), "")
    if node.language == "go":
        return node.name[:1].isupper()
    return _EXPORTED.match(head) is not None


def _has_external_base(graph: CodeGraph, parent: GraphNode, lines: Sequence[str]) -> bool:
    edges = graph.symbols.find_edges(parent.id, "out", BASE_RELATIONS)
    if any(graph.symbols.kinds[edge.target] == EXTERNAL_KIND for edge in edges):
        return True
    head = " ".join(lines[parent.start_line - 1 : parent.start_line + 1])
    return not edges and _BASES.search(head) is not None
