"""Flow of a context: the calls between the ends that a question names, and the declarations on the way."""

from collections.abc import Sequence

from coderag.answering.evidence.call_flow import find_flow, format_steps
from coderag.answering.evidence.declared import Declared
from coderag.answering.evidence.flow_relevance import FlowRelevance
from coderag.answering.evidence.index_reader import IndexReader
from coderag.retrieval.query_context import QueryContext
from coderag.schema.query import Candidate, QueryState
from coderag.stores.corpus import Corpus


def find_context_flow(context: QueryContext, state: QueryState) -> tuple[list[str], list[Candidate]]:
    """Find the calls of a flow, one line each, and the candidates with its declarations right after the results.

    Without known calls, the candidates are unchanged.
    """
    candidates = state["to_read"]
    index = IndexReader(context)
    flow = find_flow(index, state, FlowRelevance(context, index, state))
    if flow is None:
        return [], candidates
    results, further = candidates[: len(state["results"])], candidates[len(state["results"]) :]
    promoted = _build_candidates(context.corpus, flow.declarations, results)
    promoted_keys = set(map(_get_key, promoted))
    remaining = [candidate for candidate in further if _get_key(candidate) not in promoted_keys]
    return format_steps(flow), [*results, *promoted, *remaining]


def _build_candidates(
    corpus: Corpus, declarations: Sequence[Declared], results: Sequence[Candidate]
) -> list[Candidate]:
    """Build candidates of declarations that are not among the results, as good as the first of these."""
    result_keys = set(map(_get_key, results))
    score = results[0]["score"] if results else 1.0
    candidates = []
    for declaration in declarations:
        rows = corpus.get_chunk_rows(corpus.paths.index(declaration.path))
        row = next(row for row in reversed(rows) if corpus.start_lines[row] <= declaration.start_line)
        candidate = Candidate(
            chunk_id=corpus.get_value("id", row),
            score=score,
            channels={},
            signals={},
            start_line=declaration.start_line,
            end_line=min(declaration.end_line, int(corpus.end_lines[row])),
            symbol=declaration.name,
        )
        if _get_key(candidate) not in result_keys:
            candidates.append(candidate)
    return candidates


def _get_key(candidate: Candidate) -> tuple[str, str]:
    return candidate["chunk_id"], candidate["symbol"]
