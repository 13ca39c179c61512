"""History of the code, as the facade offers it."""

from pathlib import Path
from typing import TYPE_CHECKING

from coderag.config.settings import Settings
from coderag.stores.index_store import IndexStore

if TYPE_CHECKING:
    from coderag.lineage.code_history import CodeHistory


class HistoryQueries:
    """Base class of the facade: the history of the repository."""

    root: Path
    settings: Settings
    _store: IndexStore
    _code_history: "CodeHistory | None" = None

    @property
    def history(self) -> "CodeHistory":
        """Commits, blame, authors and co-change of the repository; needs git, but no index."""
        if self._code_history is None:
            from coderag.lineage.code_history import CodeHistory  # noqa: PLC0415  # parses code; seldom needed

            settings = self.settings
            self._code_history = CodeHistory(self.root, settings.lineage, settings.privacy, self._store.directory)
        return self._code_history
