"""CodeRAG gives people and agents the right code for a question. The public names are loaded when they are first used."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coderag.app import CodeRAG
    from coderag.chat import Approval, Chat
    from coderag.errors import CodeRAGError
    from coderag.index_plan import IndexPlan
    from coderag.schema import (
        Answer,
        AnswerEvent,
        AssembledContext,
        Citation,
        Filters,
        IndexReport,
        IndexStatus,
        SearchHit,
    )
    from coderag.settings import Settings
    from coderag.subagent.node import as_node
    from coderag.subagent.retriever import as_retriever
    from coderag.subagent.state import CodeState
    from coderag.subagent.tools import as_tool, as_tools

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "AnswerEvent",
    "Approval",
    "AssembledContext",
    "Chat",
    "Citation",
    "CodeRAG",
    "CodeRAGError",
    "CodeState",
    "Filters",
    "IndexPlan",
    "IndexReport",
    "IndexStatus",
    "SearchHit",
    "Settings",
    "__version__",
    "as_node",
    "as_retriever",
    "as_tool",
    "as_tools",
]

_HOMES = {
    "Approval": "coderag.chat",
    "Chat": "coderag.chat",
    "CodeRAG": "coderag.app",
    "CodeRAGError": "coderag.errors",
    "IndexPlan": "coderag.index_plan",
    "Settings": "coderag.settings",
    "CodeState": "coderag.subagent.state",
    "as_node": "coderag.subagent.node",
    "as_retriever": "coderag.subagent.retriever",
    "as_tool": "coderag.subagent.tools",
    "as_tools": "coderag.subagent.tools",
}


def __getattr__(name: str) -> object:
    """Load a public name when it is first used: the heavy libraries behind some of them take seconds to import."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "coderag.schema")), name)
