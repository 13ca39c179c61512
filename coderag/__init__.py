"""CodeRAG gives people and agents the right code for a question. The public names are loaded when they are first used."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coderag.app import CodeRAG
    from coderag.config.settings import Settings
    from coderag.engine.chat import Approval, Chat
    from coderag.errors import CodeRAGError
    from coderag.integrations.langgraph.node import as_node
    from coderag.integrations.langgraph.state import CodeState
    from coderag.integrations.llama_index.retriever import as_retriever
    from coderag.integrations.tools import as_tool, as_tools
    from coderag.schema.answers import Answer, AnswerEvent, Citation
    from coderag.schema.context import AssembledContext
    from coderag.schema.index_plan import IndexPlan
    from coderag.schema.indexing import IndexReport, IndexStatus
    from coderag.schema.search import Filters, SearchHit

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
    "Answer": "coderag.schema.answers",
    "AnswerEvent": "coderag.schema.answers",
    "Approval": "coderag.engine.chat",
    "AssembledContext": "coderag.schema.context",
    "Chat": "coderag.engine.chat",
    "Citation": "coderag.schema.answers",
    "CodeRAG": "coderag.app",
    "CodeRAGError": "coderag.errors",
    "CodeState": "coderag.integrations.langgraph.state",
    "Filters": "coderag.schema.search",
    "IndexPlan": "coderag.schema.index_plan",
    "IndexReport": "coderag.schema.indexing",
    "IndexStatus": "coderag.schema.indexing",
    "SearchHit": "coderag.schema.search",
    "Settings": "coderag.config.settings",
    "as_node": "coderag.integrations.langgraph.node",
    "as_retriever": "coderag.integrations.llama_index.retriever",
    "as_tool": "coderag.integrations.tools",
    "as_tools": "coderag.integrations.tools",
}
"""Module that defines each public name."""


def __getattr__(name: str) -> object:
    """Load a public name when it is first used: the heavy libraries behind some of them take seconds to import."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
