"""Node ``budget``: results and related code, packed into the token budget."""

from functools import partial

from coderag.nodes.trace import NodeTimer
from coderag.retrieval.query_context import QueryRuntime
from coderag.schema.query import QueryState, QueryUpdate
from coderag.schema.records import to_record


def budget(state: QueryState, runtime: QueryRuntime) -> QueryUpdate:
    """Pack the context; an answer without a language model quotes the index itself and needs none."""
    from coderag.codegraph.excerpt import format_excerpt  # noqa: PLC0415  # searches end before this node
    from coderag.retrieval.context.context_request import pack_context  # noqa: PLC0415

    context = runtime.context
    with NodeTimer("budget") as step:
        if state.get("goal") == "answer" and context.language_model is None:
            return {"context": {}, "trace": step.trace_entries}
        token_budget = state.get("token_budget") or context.settings.token_budget
        assembled = pack_context(context.corpus, state, token_budget, partial(format_excerpt, context.graph.symbols))
        step.add_detail(tokens=assembled.tokens, token_budget=token_budget, omitted=len(assembled.omitted))
    return {"context": to_record(assembled), "trace": step.trace_entries}
