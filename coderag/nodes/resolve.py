"""Node ``resolve``: references of the typed text to earlier turns."""

from coderag.answering.chat.follow_ups import make_standalone
from coderag.answering.chat.references import resolve_references
from coderag.answering.chat.state import ChatState, ChatUpdate


def resolve(state: ChatState) -> ChatUpdate:
    """Resolve references to citation numbers, and turn a follow-up into a stand-alone question."""
    exchanges = state.get("exchanges", [])
    cited = next((exchange["cited"] for exchange in reversed(exchanges) if exchange["cited"]), [])
    resolved = resolve_references(state["text"], cited)
    standalone = make_standalone(resolved.text, exchanges)
    return {
        "question": standalone.question,
        "follow_up": standalone.follow_up,
        "wider": standalone.wider,
        "places": list(resolved.places),
        "remark": resolved.remark,
        "named": [],
        "approved": "",
        "prompt_tokens": 0,
    }
