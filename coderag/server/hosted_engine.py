"""Engines of hosted repositories: nothing that a repository brings may widen what the server does."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coderag.workspace.engines import EngineOpener

if TYPE_CHECKING:
    from coderag.app import CodeRAG
    from coderag.ingestion.live.live_index import OnEdited


def make_engine_opener(load_sources: Callable[[Path], Mapping[str, Any]]) -> EngineOpener:
    """Make the function that opens the engines of hosted repositories.

    Their settings files may only restrict. Sources are those of the administration, and questions are recorded by the
    audit alone.

    Args:
        load_sources: Returns the settings of a repository's sources by their names, from its checkout.
    """

    def open_hosted(root: Path, *, trusted: bool, on_edited: "OnEdited | None" = None) -> "CodeRAG":
        from coderag.app import CodeRAG  # noqa: PLC0415  # 1.5 s

        del trusted
        return CodeRAG(
            root,
            trusted=False,
            on_edited=on_edited,
            sources=dict(load_sources(root)),
            service={"record_queries": False},
        )

    return open_hosted
