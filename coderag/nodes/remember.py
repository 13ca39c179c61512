"""Node ``remember``: the exchange, appended to the conversation."""

from langgraph.runtime import Runtime

from coderag.answering.chat.focus import find_cited_places, list_cited_subjects, list_named_subjects
from coderag.answering.chat.state import ChatContext, ChatState, ChatUpdate, Exchange


def remember(state: ChatState, runtime: Runtime[ChatContext]) -> ChatUpdate:
    """Append the question, the answer, its citations and the focus for later pronouns."""
    exchanges, answer = state.get("exchanges", []), state["answer"]
    cited_list = find_cited_places(runtime.context.query.corpus, answer["citations"])
    if state["question"]:
        focus = list_named_subjects(state["named"], cited_list)
    else:  # lines were shown: keep the citation numbers of the answer that cited them
        focus = list_cited_subjects(cited_list) or (exchanges[-1]["focus"] if exchanges else [])
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
