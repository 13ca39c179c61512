"""No file of the package imports itself through others, be it inside a function or for type checking only."""

from graphlib import CycleError, TopologicalSorter

import grimp


def test_no_cycle_of_files():
    graph = grimp.build_graph("coderag")
    modules = graph.modules - {"coderag"}  # its `__init__` names the public parts, for type checkers only
    imports = {module: graph.find_modules_directly_imported_by(module) & modules for module in modules}
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        cycle = " imports ".join(reversed(error.args[1]))
        raise AssertionError(f"cycle of imports: {cycle}") from error
