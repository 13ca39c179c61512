"""Node ``ask``: the query graph answers the question, with what was said before."""

import asyncio
from dataclasses import replace

from langgraph.runtime import Runtime

from coderag.answering.chat.approval import PromptTooLongError, limited
from coderag.answering.chat.history import history_text, share_window
from coderag.answering.chat.state import ChatContext, ChatState, ChatUpdate
from coderag.config.sections import MOST_RESULTS
from coderag.models.protocols import LanguageModel
from coderag.schema.query import QueryInput
from coderag.text.token_counts import count_tokens

_NAMES = frozenset({"identifier", "qualified_name", "path"})
DECLINED = "*Made from the evidence without the language model, as you chose.*\n\n"
_WIDER = 2  # times as many results


async def ask(state: ChatState, runtime: Runtime[ChatContext]) -> ChatUpdate:
    """Run the query graph; a prompt that a person has to approve first is not sent."""
    context, query = runtime.context, runtime.context.query
    model, declined = query.language_model, state["approved"] == "declined"
    if declined:
        model = None
        runtime.stream_writer({"kind": "text", "text": DECLINED})
    elif model is not None and context.confirm_tokens and state["approved"] != "given":
        model = limited(model, context.confirm_tokens)
    given = await asyncio.to_thread(_given, state, context, model)
    try:
        made_with, output = await context.run_query(replace(query, language_model=model), given)
    except PromptTooLongError as error:
        return {"approved": "needed", "prompt_tokens": error.tokens}
    context.query = replace(made_with, language_model=query.language_model)
    judgement = output["judgement"]
    answer = {
        **output["answer"],
        "evidence": judgement["verdict"],
        "confidence": judgement["confidence"],
        "not_indexed": judgement["not_indexed"],
    }
    if declined:
        answer["text"] = DECLINED + answer["text"]
    named = [entity["text"] for entity in output["analysis"]["entities"] if entity["kind"] in _NAMES]
    return {"answer": answer, "results": output["results"], "named": named}


def _given(state: ChatState, context: ChatContext, model: LanguageModel | None) -> QueryInput:
    """Return what the query graph is asked, with as much of the conversation as the model has room for."""
    search = context.query.settings
    given = QueryInput(query=state["question"], goal="answer")
    if state["wider"]:
        given["top_k"] = min(MOST_RESULTS, _WIDER * search.top_k)
    if model is not None:
        shares = share_window(
            model.context_window,
            count_tokens(state["question"]),
            evidence=search.token_budget,
            history=context.history_tokens,
            reply=context.reply_tokens,
        )
        given["token_budget"] = shares.evidence
        given["history"] = history_text(state.get("exchanges", []), shares.history)
    return given
