"""Node ``analyze``: what does the question ask for?"""

from coderag.errors import ModelError
from coderag.nodes.trace import Step
from coderag.question.analysis import analyze as analyze_query
from coderag.question.rewriting import rewrite, with_rewritten
from coderag.question.spelling import corrected
from coderag.retrieval.query_context import QueryContext, QueryRuntime
from coderag.schema.query import Analysis, QueryState, QueryUpdate

_REWRITTEN = frozenset({"general", "understand_module"})  # the others name what they want


def analyze(state: QueryState, runtime: QueryRuntime) -> QueryUpdate:
    """Find the question's intent, entities and terms; a language model may add others, if the settings say so."""
    with Step("analyze") as step:
        analysis = corrected(runtime.context.corpus, analyze_query(state["query"], runtime.context.project))
        step.note(intent=analysis["intent"], confidence=analysis["confidence"], entities=len(analysis["entities"]))
        if runtime.context.settings.rewrite != "none" and analysis["intent"] in _REWRITTEN:
            analysis = _rewritten(state["query"], analysis, runtime.context, step)
    return {"analysis": analysis, "candidates": [], "widened": False, "related": [], "trace": step.entries}


def _rewritten(query: str, analysis: Analysis, context: QueryContext, step: Step) -> Analysis:
    """Return the analysis with what the model wrote; without a model that answers, as it was, and the trace says so."""
    way = context.settings.rewrite
    if way == "none":
        return analysis
    if context.language_model is None:
        step.note(warning=f"search.rewrite is {way!r}, and there is no language model: set llm.provider")
        return analysis
    try:
        written = rewrite(context.language_model, query, way, context.prompts, context.masked_paths)
    except ModelError as error:
        step.note(warning=f"the question was not rewritten: {error}")
        return analysis
    step.note(rewrite=way, model=context.language_model.name, rewritten=written)
    return with_rewritten(analysis, written, way)
