"""Node ``ask``: answer of the query graph, with the conversation as history."""

import asyncio
from dataclasses import replace

from langgraph.runtime import Runtime

from coderag.answering.chat.approval import PromptTooLongError, limit_prompts
from coderag.answering.chat.history import format_history, share_window
from coderag.answering.chat.state import ChatContext, ChatState, ChatUpdate
from coderag.config.sections import MAX_RESULTS
from coderag.models.protocols import LanguageModel
from coderag.retrieval.search_notes import describe_notes
from coderag.schema.query import QueryInput
from coderag.text.token_counts import count_tokens

_NAME_ENTITY_KINDS = frozenset({"identifier", "qualified_name", "path"})
DECLINED_NOTICE = "*Made from the evidence without the language model, as you chose.*\n\n"
_MAX_PLACES = 5  # results of an answer without a language model, unless more are wanted
_WIDER_FACTOR = 2  # factor on the number of results


async def ask(state: ChatState, runtime: Runtime[ChatContext]) -> ChatUpdate:
    """Run the query graph; a prompt that needs approval is not sent."""
    context, query = runtime.context, runtime.context.query
    model, is_declined = query.language_model, state["approved"] == "declined"
    if is_declined:
        model = None
        runtime.stream_writer({"kind": "text", "text": DECLINED_NOTICE})
    elif model is not None and context.confirm_tokens and state["approved"] != "given":
        model = limit_prompts(model, context.confirm_tokens)
    query_input = await asyncio.to_thread(_build_query_input, state, context, model)
    try:
        final_context, output = await context.run_query(replace(query, language_model=model), query_input)
    except PromptTooLongError as error:
        return {"approved": "needed", "prompt_tokens": error.tokens}
    context.query = replace(final_context, language_model=query.language_model)
    judgement = output["judgement"]
    answer = {
        **output["answer"],
        "evidence": judgement["verdict"],
        "confidence": judgement["confidence"],
        "not_indexed": judgement["not_indexed"],
        "notes": describe_notes(output),
    }
    if is_declined:
        answer["text"] = DECLINED_NOTICE + answer["text"]
    names = [entity["text"] for entity in output["analysis"]["entities"] if entity["kind"] in _NAME_ENTITY_KINDS]
    return {"answer": answer, "results": output["results"], "named": names}


def _build_query_input(state: ChatState, context: ChatContext, model: LanguageModel | None) -> QueryInput:
    """Build the input of the query graph, with as much history as the model's window allows."""
    search = context.query.settings
    query_input = QueryInput(query=state["question"], goal="answer")
    if model is None:
        query_input["top_k"] = min(_MAX_PLACES, search.top_k)
    if state["wider"]:
        query_input["top_k"] = min(MAX_RESULTS, _WIDER_FACTOR * search.top_k)
    if model is not None:
        shares = share_window(
            model.context_window,
            count_tokens(state["question"]),
            evidence=search.token_budget,
            history=context.history_tokens,
            reply=context.reply_tokens,
        )
        query_input["token_budget"] = shares.evidence
        query_input["history"] = format_history(state.get("exchanges", []), shares.history)
    return query_input
