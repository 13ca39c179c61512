"""Node ``analyze``: intent, entities and terms of the question."""

from coderag.errors import ModelError
from coderag.nodes.trace import NodeTimer
from coderag.question.analysis import analyze as analyze_query
from coderag.question.entities import find_ticket_keys
from coderag.question.rewriting import rewrite, with_rewritten
from coderag.question.spelling import corrected
from coderag.question.subjects import CorpusSubjects
from coderag.retrieval.query_context import QueryContext, QueryRuntime
from coderag.schema.query import Analysis, QueryState, QueryUpdate, QuestionReading

_REWRITTEN_INTENTS = frozenset({"general", "understand_module"})  # other intents name their target
_OPEN_INTENTS = _REWRITTEN_INTENTS  # a ticket that the question names decides what it asks


def analyze(state: QueryState, runtime: QueryRuntime) -> QueryUpdate:
    """Analyze the question; a language model may add terms, if configured."""
    with NodeTimer("analyze") as step:
        analysis = read_question(state["query"], runtime.context)
        if analysis["intent"] in _OPEN_INTENTS and _has_mirrored_ticket(state["query"], runtime.context):
            reading = QuestionReading({**analysis["reading"], "kind": "backlog"})
            analysis = Analysis({**analysis, "intent": "backlog", "reading": reading})
        step.add_detail(
            intent=analysis["intent"], confidence=analysis["confidence"], entities=len(analysis["entities"])
        )
        if runtime.context.settings.rewrite != "none" and analysis["intent"] in _REWRITTEN_INTENTS:
            analysis = _rewrite_query(state["query"], analysis, runtime.context, step)
    return {
        "analysis": analysis,
        "candidates": [],
        "relations": [],
        "widened": False,
        "items": None,
        "related": [],
        "trace": step.trace_entries,
    }


def read_question(query: str, context: QueryContext) -> Analysis:
    """Return what a question asks, by the names and words of an index, with its misspelt words corrected."""
    corpus = context.corpus
    analysis = analyze_query(query, context.project, corpus.term_ids.__contains__, CorpusSubjects(corpus))
    return corrected(corpus, analysis)


def _has_mirrored_ticket(query: str, context: QueryContext) -> bool:
    """Return whether a question has the key of a mirrored ticket; nothing is opened for one without such a form."""
    keys = find_ticket_keys(query)
    return bool(keys) and context.items is not None and any(map(context.items.has_ticket, keys))


def _rewrite_query(query: str, analysis: Analysis, context: QueryContext, step: NodeTimer) -> Analysis:
    """Add a model's rewriting to the analysis; without a reply it is unchanged, and the trace has a warning."""
    mode = context.settings.rewrite
    if mode == "none":
        return analysis
    if context.language_model is None:
        step.add_detail(warning=f"search.rewrite is {mode!r}, but no language model is configured: set llm.provider")
        return analysis
    try:
        rewriting = rewrite(context.language_model, query, mode, context.prompts, context.masked_paths)
    except ModelError as error:
        step.add_detail(warning=f"the question was not rewritten: {error}")
        return analysis
    step.add_detail(rewrite=mode, model=context.language_model.name, rewritten=rewriting)
    return with_rewritten(analysis, rewriting, mode)
