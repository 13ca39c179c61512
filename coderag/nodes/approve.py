"""Node ``approve``: approval of a long prompt by a person."""

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from coderag.answering.chat.state import ChatContext, ChatState, ChatUpdate


def approve(state: ChatState, runtime: Runtime[ChatContext]) -> ChatUpdate:
    """Interrupt the graph; resume it with True to send the prompt, with False to answer without the model."""
    context, tokens = runtime.context, state["prompt_tokens"]
    price, model = context.price_per_million_tokens, context.query.language_model
    reason = f"A prompt of {tokens:,} tokens is to be sent to {model.name if model else 'the language model'}"
    is_approved = interrupt(
        {
            "prompt_tokens": tokens,
            "limit": context.confirm_tokens,
            "cost": None if price is None else tokens * price / 1e6,
            "reason": f"{reason}; beyond {context.confirm_tokens:,} you are asked.",
        }
    )
    return {"approved": "given" if is_approved else "declined"}
