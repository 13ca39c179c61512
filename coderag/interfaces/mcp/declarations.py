"""Declarations that names and results mean, with their exact lines."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, get_args

from coderag.errors import AmbiguousNameError
from coderag.schema.graph import GraphDeclaration
from coderag.schema.search import SearchHit
from coderag.schema.vocabulary import Kind

if TYPE_CHECKING:
    from coderag.codegraph.graph import CodeGraph

FILE_KIND: Final = "file"
_DECLARATION_KINDS: Final[frozenset[str]] = frozenset(get_args(Kind))


class NamedDeclarations(NamedTuple):
    """The declarations that a name means.

    Attributes:
        name: A name that means them alone.
        declarations: One declaration or its overloads; definitions in place of their prototypes.
        others: Other declarations of an ambiguous name, most central first.
    """

    name: str
    declarations: Sequence[GraphDeclaration]
    others: Sequence[GraphDeclaration] = ()


def find_declarations(graph: "CodeGraph", name: str) -> NamedDeclarations:
    """Resolve a name to a declaration or a file; an ambiguous one to its most central declaration.

    Raises:
        UnknownNameError: No declaration has the name.
    """
    resolver = graph.symbol_resolver
    others: Sequence[GraphDeclaration] = ()
    try:
        symbol_ids = resolver.resolve(name, _DECLARATION_KINDS, {FILE_KIND})
    except AmbiguousNameError as error:
        best, *others = error.candidates
        name = best.name
        symbol_ids = resolver.resolve(name, _DECLARATION_KINDS, {FILE_KIND})
    definitions = dict.fromkeys(map(graph.declaration_groups.find_definition, symbol_ids))
    return NamedDeclarations(name, [resolver.to_declaration(symbol_id) for symbol_id in definitions], others)


def find_enclosing(graph: "CodeGraph", path: str, line: int) -> GraphDeclaration | None:
    """Return the innermost declaration around a line; None if only its file is."""
    node = graph.symbols.find_innermost(path, line)
    declaration = None if node is None else graph.symbol_resolver.to_declaration(node)
    return declaration if declaration is not None and declaration.kind != FILE_KIND else None


def find_hit_declaration(graph: "CodeGraph", hit: SearchHit) -> GraphDeclaration | None:
    """Return the declaration that a result is, or is a part of; None for a section or the code of a module."""
    symbols = graph.symbols
    file = symbols.find_file(str(hit.path))
    if file is None:
        return None
    nodes = [
        node
        for node in symbols.get_file_nodes(file)[1:]
        if symbols.start_lines[node] <= hit.end_line
        and symbols.end_lines[node] >= hit.start_line
        and symbols.qualified_names[node].as_py() == hit.qualified_name
    ]
    best = min(nodes, key=lambda node: abs(int(symbols.start_lines[node]) - hit.start_line), default=None)
    return None if best is None else graph.symbol_resolver.to_declaration(best)
