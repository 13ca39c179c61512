"""Node ``find_items``: mirrored pages or tickets for a question about documentation or the backlog."""

from typing import Final

from coderag.nodes.trace import NodeTimer
from coderag.retrieval.items.item_finder import ITEM_SCOPES
from coderag.retrieval.query_context import QueryRuntime
from coderag.schema.query import QueryState, QueryUpdate
from coderag.schema.vocabulary import Evidence

_STRENGTH: Final[dict[Evidence, int]] = {"not_found": 0, "unknown": 1, "weak": 2, "found": 3}


def find_items(state: QueryState, runtime: QueryRuntime) -> QueryUpdate:
    """Find items; the verdict is the better one of theirs and that on the repository."""
    scope, items = ITEM_SCOPES.get(state["analysis"]["intent"]), runtime.context.items
    with NodeTimer("find_items") as step:
        if scope is None or items is None:
            return {"trace": step.trace_entries}
        results = items.find(state["query"], scope)
        step.add_detail(items=len(results["hits"]), evidence=results["verdict"])
    judgement = state["judgement"]
    results["repository_verdict"] = judgement["verdict"]
    update: QueryUpdate = {"items": results, "trace": step.trace_entries}
    if _STRENGTH[results["verdict"]] > _STRENGTH[judgement["verdict"]]:
        update["evidence"] = results["verdict"]
        update["judgement"] = {
            **judgement,
            "verdict": results["verdict"],
            "confidence": max(results["confidence"], judgement["confidence"]),
        }
    return update
