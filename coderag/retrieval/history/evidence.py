"""Evidence from the history of code: which commits, people and co-changes answer a question."""

from coderag.errors import HistoryError
from coderag.lineage.code_history import CodeHistory
from coderag.retrieval.history.selection import ChangeSelector
from coderag.retrieval.history.subjects import find_subjects
from coderag.retrieval.query_context import QueryContext
from coderag.schema.history_evidence import HistoryEvidence, HistorySubject, TicketChange
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
    history, asked = context.history, state["analysis"]["reading"].get("history")
    if history is None or asked is None:
        return HistoryEvidence(notes=("The history of the code is not read.",))
    try:
        coverage = history.refresh()
        if coverage.state != "ready":
            return HistoryEvidence(notes=tuple(coverage.notes))
        evidence = _find(context, state, history, asked)
    except HistoryError as error:
        return HistoryEvidence(notes=(f"{error}.",))
    return evidence
