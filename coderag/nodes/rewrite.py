"""Node ``rewrite``: follow-up rewritten by a language model as a stand-alone question."""

import asyncio

from langgraph.runtime import Runtime

from coderag.answering.chat.history import format_history
from coderag.answering.chat.rewriting import HISTORY_TOKENS, extract_question, render_rewriting_prompt
from coderag.answering.chat.state import ChatContext, ChatState, ChatUpdate
from coderag.schema.prompts import ModelPrompt
from coderag.text.token_counts import count_tokens


async def rewrite(state: ChatState, runtime: Runtime[ChatContext]) -> ChatUpdate:
    """Ask the model, if any; keep the rules' question if its reply is unusable or needs approval."""
    query = runtime.context.query
    if query.language_model is None:
        return {}
    prompt = await asyncio.to_thread(_build_prompt, state, runtime.context)
    if prompt is None:
        return {}
    reply = (await query.language_model.complete(prompt)).text
    if query.masked_paths:
        reply = query.masked_paths.unmask_text(reply)
    return {"question": extract_question(reply, state["text"], state["exchanges"]) or state["question"]}


def _build_prompt(state: ChatState, context: ChatContext) -> ModelPrompt | None:
    """Build the prompt; None if it needs approval."""
    history = format_history(state["exchanges"], min(HISTORY_TOKENS, context.history_tokens))
    prompt = render_rewriting_prompt(context.query, state["text"], history)
    needs_approval = context.confirm_tokens and count_tokens(prompt.text) > context.confirm_tokens
    return None if needs_approval else prompt
