"""The imports of a file, as facts; the captures are explained in `coderag.ingestion.parsing.facts`."""

from collections.abc import Callable, Mapping

from tree_sitter import Node

from coderag.ingestion.parsing.fact_scopes import Scopes
from coderag.ingestion.parsing.import_trees import leaves
from coderag.ingestion.parsing.source_text import Captures, SourceText
from coderag.schema.facts import Import

_BARE: Mapping[str, Callable[[str], tuple[str, str]]] = {
    "python": lambda module: (module.partition(".")[0], module.partition(".")[0]),
}
"""For languages in which a module that is imported by itself gets a name: what it brings, and the name.

``import a.b`` in Python brings ``a``.
"""


class Imports:
    """Reads the imports of a file.

    Attributes:
        found: In the order in which they were read.
        named: Scope, name and line of each name that an import brings.
    """

    def __init__(self, source: SourceText, scopes: Scopes, grammar_name: str) -> None:
        self.found: dict[Import, None] = {}
        self.named: set[tuple[int, str, int]] = set()
        self._source = source
        self._scopes = scopes
        self._bare = _BARE.get(grammar_name)

    def read(self, captures: Captures) -> None:
        """Read an import of one name, or of a module."""
        anchor = next(nodes[0] for capture, nodes in captures.items() if capture.startswith("import."))
        quoted = self._source.quoted
        module, name, alias = (quoted(captures, f"import.{part}") for part in ("module", "name", "alias"))
        if "import.all" in captures:
            name = "*"
        elif "import.default" in captures:
            name, alias = "default", quoted(captures, "import.default")
        elif "import.namespace" in captures:
            alias = quoted(captures, "import.namespace")
        scope, line = self._scope(anchor), self._source.line(anchor.start_byte)
        for part in ("alias", "namespace", "name"):
            for node in captures.get(f"import.{part}", ()):
                self.named.add((scope, self._source.of(node), self._source.line(node.start_byte)))
        if not (name or alias) and "import.exported" not in captures and self._bare:
            brought, alias = self._bare(module)
            if brought != module:
                self.found[Import(brought, "", alias, scope, line)] = None
                alias = ""
        self.found[Import(module, name, alias, scope, line, "import.exported" in captures)] = None

    def read_tree(self, captures: Captures) -> None:
        """Read a tree of paths."""
        for node in captures["import.tree"]:
            scope = self._scope(node)
            for one in leaves(node, self._scopes.modules_around(scope)):
                self.found[Import(one.module, one.name, one.alias, scope, one.line)] = None

    def read_submodule(self, captures: Captures) -> None:
        """Read the declaration of a module that is another file."""
        for node in captures["import.submodule"]:
            scope, name = self._scope(node), self._source.of(node)
            path = ".".join(["self", *self._scopes.modules_around(scope), name])
            self.found[Import(path, "", name, scope, self._source.line(node.start_byte))] = None

    def _scope(self, node: Node) -> int:
        return self._scopes.binding_at(node.start_byte, self._source.of(node), member=False)
