"""History of the changed code, as far as it is known."""

from collections.abc import Sequence
from typing import Protocol

from coderag.engine.changes.revision_pair import RevisionPair
from coderag.schema.change_review import ChangeHistory
from coderag.schema.lineage import DeclarationChange


class HistorySource(Protocol):
    """Source of the history of files and declarations."""


def review_history(
    history: HistorySource | None, pair: RevisionPair, changes: Sequence[DeclarationChange]
) -> ChangeHistory:
    """Return the history of the changed code; empty without a source."""
    del history, pair, changes
    return ChangeHistory()
