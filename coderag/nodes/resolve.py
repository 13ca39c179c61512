"""Node ``resolve``: references of the typed text to earlier turns."""

from coderag.answering.chat.focus import build_focus, explain_missing
from coderag.answering.chat.state import ChatState, ChatUpdate
from coderag.question.follow_ups import read_follow_up


def resolve(state: ChatState) -> ChatUpdate:
    """Resolve references to citation numbers, and turn a follow-up into a stand-alone question."""
    focus = build_focus(state.get("exchanges", []))
    follow_up = read_follow_up(state["text"], focus)
    return {
        "question": follow_up.question,
        "follow_up": follow_up.is_follow_up,
        "wider": follow_up.is_wider,
        "places": list(follow_up.places),
        "remark": explain_missing(follow_up.missing, focus) if follow_up.missing else "",
        "named": [],
        "approved": "",
        "prompt_tokens": 0,
    }
