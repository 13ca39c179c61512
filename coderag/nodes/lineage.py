"""Node ``lineage``: the commits, people and co-changes that answer a question about the history of code."""

from coderag.nodes.trace import NodeTimer
from coderag.retrieval.query_context import QueryRuntime
from coderag.schema.history_evidence import to_history_record
from coderag.schema.query import QueryState, QueryUpdate


def lineage(state: QueryState, runtime: QueryRuntime) -> QueryUpdate:
    """Read what the history has for the code that the question names, or for its best results."""
    from coderag.retrieval.history.evidence import find_history_evidence  # noqa: PLC0415  # few questions ask for it

    with NodeTimer("lineage") as step:
        evidence = find_history_evidence(runtime.context, state)
        step.add_detail(
            subject=evidence.subject.display_name if evidence.subject else "",
            commits=len(evidence.changes),
            deciding=evidence.is_deciding,
        )
    return {"lineage": to_history_record(evidence), "trace": step.trace_entries}
