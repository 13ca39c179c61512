"""Node ``rerank``: the ranking signals, the choice of results, and how well they answer."""

from langgraph.runtime import Runtime

from coderag.observability import Step
from coderag.retrieval.evidence import judge
from coderag.retrieval.filters import NO_FILTERS
from coderag.retrieval.ranking import narrow_to_kinds, rank
from coderag.retrieval.reranking import apply_model
from coderag.state import QueryContext, QueryState, QueryUpdate


def rerank(state: QueryState, runtime: Runtime[QueryContext]) -> QueryUpdate:
    """Order the candidates and keep the best."""
    context, analysis = runtime.context, state["analysis"]
    with Step("rerank") as step:
        top_k = state.get("top_k") or context.settings.top_k
        results = rank(context.corpus, analysis["question"], analysis, state["candidates"], context.settings, top_k)
        if kinds := (state.get("filters") or NO_FILTERS)["kinds"]:
            results = narrow_to_kinds(context.corpus, results, kinds)
        if context.reranker is not None:
            results = apply_model(context.reranker, context.corpus, state["query"], results)
        evidence = judge(context.corpus, analysis, results)
        step.note(candidates=len(state["candidates"]), results=len(results), evidence=evidence)
    return {"results": results, "evidence": evidence, "trace": step.entries}
