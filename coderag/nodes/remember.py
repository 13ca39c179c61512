"""Node ``remember``: the exchange becomes a part of the conversation."""

from langgraph.runtime import Runtime

from coderag.answering.chat.focus import cited_places, focus_of, shown_focus
from coderag.answering.chat.state import ChatContext, ChatState, ChatUpdate, Exchange


def remember(state: ChatState, runtime: Runtime[ChatContext]) -> ChatUpdate:
    """Keep the question, the answer, what it cited, and what "it" will be."""
    exchanges, answer = state.get("exchanges", []), state["answer"]
    cited_list = cited_places(runtime.context.query.corpus, answer["citations"])
    if state["question"]:
        focus = focus_of(state["named"], cited_list)
    else:  # lines were shown: the numbers stay those of the answer that they are from
        focus = shown_focus(cited_list) or (exchanges[-1]["focus"] if exchanges else [])
        cited_list = exchanges[-1]["cited"] if exchanges else []
    exchange = Exchange(
        text=state["text"],
        question=state["question"],
        answer=answer["text"],
        cited=cited_list,
        focus=focus,
        generator=answer["generator"],
        asked=state["asked"],
    )
    return {"exchanges": [*exchanges, exchange]}
