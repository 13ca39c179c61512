"""Commits, people and co-changes that answer a question about the history of code."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from coderag.schema.lineage import AuthorShare, CoChange, Commit, CommittedChange, DeclarationChange


@dataclass(frozen=True, slots=True)
class HistorySubject:
    """Code whose history is asked for: a path, lines of a file, or a declaration.

    Attributes:
        path: File or folder, relative to the root; empty for the whole repository.
        start_line, end_line: Its lines now; 0 for all of a file or folder.
        qualified_name: Name of the declaration; empty without one.
        kind: Kind of the declaration; empty without one.
        is_named: Whether the question names it; otherwise it is the best result of the search.
    """

    path: str
    start_line: int = 0
    end_line: int = 0
    qualified_name: str = ""
    kind: str = ""
    is_named: bool = True

    def __str__(self) -> str:
        place = self._place
        return f"{self.qualified_name} ({place})" if self.qualified_name else place

    @property
    def display_name(self) -> str:
        """Name of the declaration, or else its place."""
        return self.qualified_name or self._place

    @property
    def _place(self) -> str:
        return f"{self.path}:{self.start_line}-{self.end_line}" if self.start_line else self.path


@dataclass(frozen=True, slots=True)
class TicketChange:
    """A declaration that a commit changed for a ticket: its message names the ticket."""

    commit: Commit
    declaration: DeclarationChange


@dataclass(frozen=True, slots=True)
class HistoryEvidence:
    """Evidence from the history for a question.

    Attributes:
        subject: The code that is asked about; None if none is known.
        changes: Changes that answer, best first.
        is_deciding: Whether the first change answers; otherwise it is only the nearest.
        is_described: Whether the changes were found by the words of the question alone, so that the first is only likely.
        total: Number of changes of the subject in the period that is asked for.
        is_limited: Whether there are more than that.
        since, until: The period that counts; empty where the question names none that the history knows.
        authors: Who knows the subject, most lines first.
        co_changes: What changes together with it, most often first.
        ticket_changes: Declarations that commits of the named tickets changed.
        notes: What is not known and why, a sentence each.
    """

    subject: HistorySubject | None = None
    changes: tuple[CommittedChange, ...] = ()
    is_deciding: bool = False
    is_described: bool = False
    total: int = 0
    is_limited: bool = False
    since: str = ""
    until: str = ""
    authors: tuple[AuthorShare, ...] = ()
    co_changes: tuple[CoChange, ...] = ()
    ticket_changes: tuple[TicketChange, ...] = ()
    notes: tuple[str, ...] = ()


@cache
def _get_adapter() -> TypeAdapter[HistoryEvidence]:
    return TypeAdapter(HistoryEvidence)


def to_history_record(evidence: HistoryEvidence) -> dict[str, Any]:
    """Convert evidence to a plain dict, for the state of a query."""
    record: dict[str, Any] = _get_adapter().dump_python(evidence, mode="json")
    return record


def from_history_record(record: dict[str, Any]) -> HistoryEvidence:
    """Restore evidence from its record."""
    return _get_adapter().validate_python(record)
