"""Classification of positions in files: code, import, string, comment or prose."""

from collections.abc import Sequence
from typing import Final

from tree_sitter import Node, Tree

from coderag.ingestion.parsing.languages import LANGUAGES, PLAIN_TEXT
from coderag.ingestion.parsing.trees import SyntaxUnusableError, parse
from coderag.schema.chunks import FileRecord
from coderag.schema.mentions import MentionContext

_MAX_PARSED_BYTES: Final = 200_000
"""Bytes that are parsed for one query; positions in further files are judged by their line."""

_TIMEOUT_S: Final = 0.2
_PROSE_LANGUAGES: Final = frozenset({"markdown", "rst", "asciidoc", "org", "tex", PLAIN_TEXT})
_DATA_LANGUAGES: Final = frozenset({"json", "jsonl", "yaml", "toml", "ini", "xml", "csv"})
_IMPORT_TYPES: Final = frozenset(
    {
        "use_declaration", "namespace_use_declaration", "using_directive", "using_declaration", "preproc_include",
        "extern_crate_declaration",
        "package_declaration", "package_clause", "package_header",
    }
)  # fmt: skip
_INTERPOLATIONS: Final = ("interpol", "substitution", "expansion")
_IMPORT_STARTS: Final = ("import ", "from ", "use ", "using ", "#include", "require ")
_COMMENT_STARTS: Final = ("//", "/*", "* ", "*/", "<!--", "--", ";;", "# ", "#:", '"""', "%%")


class LineContexts:
    """Classifier of positions, for one query.

    Args:
        max_bytes: Maximum number of parsed bytes.
    """

    def __init__(self, max_bytes: int = _MAX_PARSED_BYTES) -> None:
        self._budget = max_bytes
        self._trees: dict[str, Tree | None] = {}

    def classify(self, record: FileRecord, lines: Sequence[str], line: int, column: int) -> MentionContext:
        """Classify a position in a file.

        Args:
            record: The file.
            lines: Its lines.
            line: Number of the line, 1-based.
            column: Position in the line, in characters.
        """
        if record.language in _PROSE_LANGUAGES:
            return "text"
        if record.path not in self._trees:
            self._trees[record.path] = self._parse(lines, record.language)
        tree, text = self._trees[record.path], lines[line - 1]
        context = tree and _classify_node(tree, line - 1, len(text[:column].encode()), record.language)
        return context or _judge_line(text[:column])

    def _parse(self, lines: Sequence[str], name: str) -> Tree | None:
        language = LANGUAGES.get(name)
        if language is None or not language.grammar or language.cells:
            return None
        data = "\n".join(lines).encode("utf-8", "replace")
        if len(data) > self._budget:
            return None
        self._budget -= len(data)
        try:
            return parse(data, language, timeout_s=_TIMEOUT_S)
        except SyntaxUnusableError:
            return None


def _classify_node(tree: Tree, row: int, column: int, language: str) -> MentionContext | None:
    """Classify a place by the nodes around it; None where the grammar does not look inside, as in scripts of markup."""
    node: Node | None = tree.root_node.descendant_for_point_range((row, column), (row, column + 1))
    if node is not None and node.type in ("raw_text", "text", "ERROR"):
        return None
    context: MentionContext = "code"
    is_interpolated = False
    while node is not None:
        if "comment" in node.type:
            return "comment"
        if node.type.startswith("import") or node.type in _IMPORT_TYPES:
            return "import"
        is_interpolated = is_interpolated or any(part in node.type for part in _INTERPOLATIONS)
        if not is_interpolated and context == "code" and ("string" in node.type or "heredoc" in node.type):
            if language not in _DATA_LANGUAGES:
                context = "string"
            if node.parent is not None and node.parent.type == "expression_statement" and language == "python":
                return "comment"  # a docstring
        node = node.parent
    return context


def _judge_line(before: str) -> MentionContext:
    """Classify a position by what stands before it on its line."""
    start = before.lstrip()
    if start.startswith(_IMPORT_STARTS):
        return "import"
    return "comment" if start.startswith(_COMMENT_STARTS) or start in ("*", "#") else "code"
