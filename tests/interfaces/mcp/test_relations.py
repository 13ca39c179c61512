"""Declarations and relations of a name, as tools of agents show them."""

from coderag.codegraph.graph import CodeGraph
from coderag.codegraph.symbol_graph import SymbolGraph
from coderag.interfaces.mcp.declarations import find_declarations
from tests.support.programs import build

PROGRAM = {
    "bell.h": "void ring(int times);\nvoid mute(void);\n",
    "bell.c": '#include "bell.h"\nvoid ring(int times) {}\n',
}


def test_declarations_of_a_name_are_definitions_where_there_are_any() -> None:
    graph = CodeGraph(SymbolGraph(build(PROGRAM)))
    places = {name: [found.path for found in find_declarations(graph, name).declarations] for name in ("ring", "mute")}
    assert places == {"ring": ["bell.c"], "mute": ["bell.h"]}
