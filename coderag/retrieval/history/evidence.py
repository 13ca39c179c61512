"""Evidence from the history of code: which commits, people and co-changes answer a question."""

from collections.abc import Sequence

from coderag.errors import HistoryError
from coderag.ingestion.files.roles import classify_role
from coderag.lineage.code_history import CodeHistory
from coderag.retrieval.history.changes import ChangeFinder
from coderag.retrieval.history.subjects import find_subjects
from coderag.retrieval.query_context import QueryContext
from coderag.schema.history_evidence import HistoryEvidence, TicketChange
from coderag.schema.lineage import CommittedChange
from coderag.schema.query import HistoryReading, QueryState

_MAX_CHANGES = 20
_MAX_TICKET_CHANGES = 40


def find_history_evidence(context: QueryContext, state: QueryState) -> HistoryEvidence:
    """Find what the history has for a question.

    Args:
        context: Query context.
        state: State with the analysis and the results.

    Returns:
        The evidence; where the history is missing or cannot be read, only notes that say why.
    """
    reading = state["analysis"]["reading"].get("history")
    if context.open_history is None or reading is None:
        return HistoryEvidence(notes=("The history of the code is not read.",))
    try:
        history = context.open_history()
        coverage = history.refresh()
        if coverage.state != "ready":
            return HistoryEvidence(notes=tuple(map(_format_sentence, coverage.notes)))
        evidence = _find(context, state, history, reading)
    except HistoryError as error:
        return HistoryEvidence(notes=(_format_sentence(str(error)),))
    return evidence


def _format_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}."


def _find(context: QueryContext, state: QueryState, history: CodeHistory, reading: HistoryReading) -> HistoryEvidence:
    subjects = find_subjects(context, state)
    subject = subjects[0] if subjects else None
    if reading["aspect"] == "ticket":
        return _find_ticket(history, reading["tickets"])
    if reading["aspect"] == "people" and subject is not None:
        authors = history.find_authors(subject.path, subject.start_line, subject.end_line)
        return HistoryEvidence(subject, authors=tuple(authors.authors), notes=tuple(authors.notes))
    if reading["aspect"] == "together" and subject is not None:
        together = history.find_co_changes(
            subject.path,
            subject.qualified_name if subject.is_named else "",
            since=reading["since"],
            until=reading["until"],
        )
        return HistoryEvidence(subject, co_changes=tuple(together.changes), notes=tuple(together.notes))
    return ChangeFinder(context, state, history, reading).find(subjects)


def _find_ticket(history: CodeHistory, tickets: Sequence[str]) -> HistoryEvidence:
    """Find what the commits that name tickets changed."""
    commits = [details for ticket in tickets for details in history.find_declarations_by_ticket(ticket)]
    changes = tuple(CommittedChange(details.commit, "", note=details.link) for details in commits[:_MAX_CHANGES])
    ticket_changes = [
        TicketChange(details.commit, change)
        for details in commits
        for change in details.declarations or ()
        if change.kind != "module"
    ]
    ticket_changes.sort(key=lambda change: classify_role(change.declaration.path) == "test")
    notes = () if commits else (f"No commit message refers to {', '.join(tickets)}.",)
    return HistoryEvidence(
        None,
        changes,
        is_deciding=bool(commits),
        total=len(commits),
        ticket_changes=tuple(ticket_changes[:_MAX_TICKET_CHANGES]),
        notes=notes,
    )
