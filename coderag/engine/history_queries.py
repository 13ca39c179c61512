"""History of the code, as the facade offers it."""

from pathlib import Path
from typing import TYPE_CHECKING

from coderag.engine.open_index import OpenIndex
from coderag.errors import HistoryError, IndexNotFoundError
from coderag.question.places import parse_location
from coderag.schema.history_evidence import HistorySubject

if TYPE_CHECKING:
    from coderag.lineage.code_history import CodeHistory


class HistoryQueries:
    """Base class of the facade: the history of the repository."""

    root: Path
    _open_index: OpenIndex

    @property
    def history(self) -> "CodeHistory":
        """Commits, blame, authors and co-change of the repository; needs git, but no index."""
        return self._open_index.open_history()

    def find_history_subject(self, text: str) -> HistorySubject:
        """Find the path, lines or declaration that a text names.

        Args:
            text: ``path``, ``path:10``, ``path:10-42`` (needs no index; the path may be one of an earlier commit), or a name
                as the code graph takes it: ``login``, ``Session.login``, ``path::name``.

        Raises:
            UnknownNameError: Nothing has the name.
            AmbiguousNameError: Several declarations have it.
            IndexNotFoundError: It is no path, and nothing is indexed yet.
            HistoryError: There is no history.
        """
        path, start, end = parse_location(text)
        has_lines = path != text.strip()
        clean = path.replace("\\", "/").removeprefix("./").rstrip("/") or "."
        if (self.root / clean).exists() or self.history.has_path(clean):
            return HistorySubject(clean, start, end) if has_lines else HistorySubject("" if clean == "." else clean)
        try:
            graph = self._open_index.open_graph()
        except IndexNotFoundError as error:
            message = f"no file and no commit has the path {text!r}, and names need an index"
            raise IndexNotFoundError(message, hint="Run `coderag index` first.") from error
        declaration = graph.find_declaration(text)
        if not declaration.path:
            raise HistoryError(f"{text} is a package outside of the repository", hint="Name a declaration or a path.")
        if declaration.kind == "file":
            return HistorySubject(declaration.path)
        lines = declaration.start_line, declaration.end_line
        return HistorySubject(declaration.path, *lines, declaration.qualified_name, declaration.kind)
