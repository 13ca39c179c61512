"""CodeRAG gives people and agents the right code for a question. The public names are loaded when they are first used."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coderag.app import CodeRAG
    from coderag.errors import CodeRAGError
    from coderag.index_plan import IndexPlan
    from coderag.schema import (
        Answer,
        AssembledContext,
        Citation,
        Filters,
        IndexReport,
        IndexStatus,
        SearchHit,
    )
    from coderag.settings import Settings

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "AssembledContext",
    "Citation",
    "CodeRAG",
    "CodeRAGError",
    "Filters",
    "IndexPlan",
    "IndexReport",
    "IndexStatus",
    "SearchHit",
    "Settings",
    "__version__",
]

_HOMES = {
    "CodeRAG": "coderag.app",
    "CodeRAGError": "coderag.errors",
    "IndexPlan": "coderag.index_plan",
    "Settings": "coderag.settings",
}


def __getattr__(name: str) -> object:
    """Load a public name when it is first used: the heavy libraries behind some of them take seconds to import."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "coderag.schema")), name)
