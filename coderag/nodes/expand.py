"""Node ``expand``: code that belongs to the results."""

from coderag.observability import Step
from coderag.retrieval.expansion import Seed
from coderag.retrieval.expansion import expand as expand_results
from coderag.retrieval.filters import NO_FILTERS, related_mask
from coderag.state import Candidate, QueryRuntime, QueryState, QueryUpdate

_SEEDS = 5  # what is related to the sixth result is rarely worth a place among ten


def expand(state: QueryState, runtime: QueryRuntime) -> QueryUpdate:
    """Follow the relations of the first results."""
    context = runtime.context
    corpus, settings, analysis = context.corpus, context.settings, state["analysis"]
    with Step("expand") as step:
        vector = context.embedder.embed_query(analysis["text"], analysis["terms"])
        similarity = corpus.cosines(vector)
        best_rows = corpus.best_rows(similarity)
        allowed = related_mask(corpus, state.get("filters") or NO_FILTERS)
        results = {corpus.row_of[result["chunk_id"]] for result in state["results"]}
        related = expand_results(
            [Seed(corpus.row_of[result["chunk_id"]], _label(result)) for result in state["results"][:_SEEDS]],
            lambda row: (
                near
                for near in context.neighbours.of(row, best_rows)
                if near[0] not in results and (allowed is None or allowed[near[0]])
            ),
            lambda row: max(float(similarity[row]), 0.0),
            lambda row: corpus.value("qualified_name", row),
            lambda row: corpus.value("id", row),
            depth=settings.expand_depth,
            limit=settings.max_related,
        )
        step.note(related=len(related))
    return {"related": related, "trace": step.entries}


def _label(result: Candidate) -> str:
    return result["symbol"]
