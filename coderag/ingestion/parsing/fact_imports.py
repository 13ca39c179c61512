"""Imports of a file as facts; `coderag.ingestion.parsing.facts` explains the captures."""

from collections.abc import Callable, Mapping

from tree_sitter import Node

from coderag.ingestion.parsing.fact_scopes import ScopeTable
from coderag.ingestion.parsing.import_trees import flatten_import_selectors, flatten_import_tree
from coderag.ingestion.parsing.source_text import Captures, SourceText
from coderag.schema.facts import Import

_MODULE_BINDINGS: Mapping[str, Callable[[str], tuple[str, str]]] = {
    "python": lambda module: (module.partition(".")[0], module.partition(".")[0]),
}
"""For languages in which importing a module binds a name: the imported module and the name.

``import a.b`` in Python binds ``a``.
"""


class ImportReader:
    """Reads the imports of a file.

    Attributes:
        imports: The imports in the order of reading.
        imported_names: Scope, name and line of each imported name.
    """

    def __init__(self, source: SourceText, scopes: ScopeTable, grammar_name: str) -> None:
        self.imports: dict[Import, None] = {}
        self.imported_names: set[tuple[int, str, int]] = set()
        self._source = source
        self._scopes = scopes
        self._bind_module = _MODULE_BINDINGS.get(grammar_name)

    def read(self, captures: Captures) -> None:
        """Read an import of a name or a module."""
        anchor = next(nodes[0] for capture, nodes in captures.items() if capture.startswith("import."))
        quoted = self._source.read_unquoted
        module, name, alias = (quoted(captures, f"import.{part}") for part in ("module", "name", "alias"))
        if "import.relative" in captures and not module.startswith("."):
            module = f"./{module}"
        if "import.all" in captures:
            name = "*"
        elif "import.default" in captures:
            name, alias = "default", quoted(captures, "import.default")
        elif "import.namespace" in captures:
            alias = quoted(captures, "import.namespace")
        scope, line = self._find_scope(anchor), self._source.find_line(anchor.start_byte)
        for part in ("alias", "namespace", "name"):
            for node in captures.get(f"import.{part}", ()):
                self.imported_names.add((scope, self._source.read_node(node), self._source.find_line(node.start_byte)))
        if not (name or alias) and "import.exported" not in captures and self._bind_module:
            imported, alias = self._bind_module(module)
            if imported != module:
                self.imports[Import(imported, "", alias, scope, line)] = None
                alias = ""
        self.imports[Import(module, name, alias, scope, line, "import.exported" in captures)] = None

    def read_path(self, captures: Captures) -> None:
        """Read an import by its whole path, followed by a wildcard or an alias."""
        node = captures["import.path"][0]
        path = self._source.read_node(node).replace("`", "").replace(" ", "")
        siblings = {} if node.parent is None else {sibling.type: sibling for sibling in node.parent.named_children}
        is_wildcard, alias = "wildcard_import" in siblings, siblings.get("import_alias")
        module, _, name = (path, "", "*") if is_wildcard else path.rpartition(".")
        local_name = self._source.read_node(alias.named_children[0]) if alias is not None else ""
        scope, line = self._find_scope(node), self._source.find_line(node.start_byte)
        self.imported_names.add((scope, local_name or name, line))
        self.imports[Import(module, name, local_name, scope, line)] = None

    def read_tree(self, captures: Captures) -> None:
        """Read a tree of paths."""
        for node in captures["import.tree"]:
            scope = self._find_scope(node)
            for leaf in flatten_import_tree(node, self._scopes.list_enclosing_modules(scope)):
                self.imports[Import(leaf.module, leaf.name, leaf.alias, scope, leaf.line)] = None

    def read_selectors(self, captures: Captures) -> None:
        """Read imports whose last part selects names."""
        for node in captures["import.selectors"]:
            scope = self._find_scope(node)
            for leaf in flatten_import_selectors(node):
                self.imports[Import(leaf.module, leaf.name, leaf.alias, scope, leaf.line)] = None

    def read_submodule(self, captures: Captures) -> None:
        """Read the declaration of a module that is in another file."""
        for node in captures["import.submodule"]:
            scope, name = self._find_scope(node), self._source.read_node(node)
            path = ".".join(["self", *self._scopes.list_enclosing_modules(scope), name])
            self.imports[Import(path, "", name, scope, self._source.find_line(node.start_byte))] = None

    def _find_scope(self, node: Node) -> int:
        return self._scopes.find_binding_scope(node.start_byte, self._source.read_node(node), member=False)
