"""History of the code, as the facade offers it."""

from typing import TYPE_CHECKING

from coderag.engine.open_index import OpenIndex

if TYPE_CHECKING:
    from coderag.lineage.code_history import CodeHistory


class HistoryQueries:
    """Base class of the facade: the history of the repository."""

    _open_index: OpenIndex

    @property
    def history(self) -> "CodeHistory":
        """Commits, blame, authors and co-change of the repository; needs git, but no index."""
        return self._open_index.open_history()
