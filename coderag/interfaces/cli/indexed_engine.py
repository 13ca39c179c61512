"""Indexing with progress, and queries that build a missing index first."""

import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar, cast

from coderag.config.repository_root import find_root
from coderag.errors import IndexLockedError, IndexNotFoundError
from coderag.interfaces.cli import engine_access
from coderag.interfaces.cli.output.progress import show_index_progress
from coderag.interfaces.cli.output.streams import Output

if TYPE_CHECKING:
    from coderag.app import CodeRAG
    from coderag.schema.engine import Engine
    from coderag.schema.indexing import IndexReport

_ResultT = TypeVar("_ResultT")
_EngineT = TypeVar("_EngineT", bound="Engine")

_RETRY_INTERVAL_S: Final = 0.3


def open_local_engine(repo: Path | None, output: Output) -> "CodeRAG":
    """Open the command's repository in this process."""
    with output.show_status("loading"):
        return engine_access.open_repository(find_root(repo))


def open_engine(repo: Path | None, output: Output) -> "Engine":
    """Open the command's repository through the service if one runs."""
    with output.show_status("loading"):
        return engine_access.open_warm(find_root(repo))


def run_index(rag: "Engine", *, full: bool = False) -> "IndexReport":
    """Index the repository with progress on standard error, and register it for this user."""
    from coderag.service.remote import RemoteCodeRAG

    with show_index_progress() as progress:
        report = rag.index(full=full, progress=progress)
    if not isinstance(rag, RemoteCodeRAG):  # the service registers what it opens
        _register_repository(cast("CodeRAG", rag))
    return report


def _build_first_index(rag: "Engine", output: Output) -> "IndexReport":
    """Build the first index, waiting while another process writes it."""
    has_noted = False
    while True:
        try:
            return run_index(rag)
        except IndexLockedError as error:
            if not has_noted:
                output.note(f"{error}; waiting for it")
            has_noted = True
        with output.show_status("waiting for the index"):
            time.sleep(_RETRY_INTERVAL_S)


def _register_repository(rag: "CodeRAG") -> None:
    from coderag.stores.index_locations import find_index_folder
    from coderag.workspace.registry import note_repository

    note_repository(rag.root, find_index_folder(rag.root, rag.settings.storage))


def ask_indexed(
    rag: _EngineT,
    query: Callable[[_EngineT], _ResultT],
    output: Output,
    *,
    may_index: bool,
    activity: str = "searching",
) -> _ResultT:
    """Run a query; if there is no index yet, build it first.

    Args:
        rag: The engine.
        query: Queries the engine.
        output: Destination of notes.
        may_index: Build a missing index.
        activity: Progress text; empty if the query shows its own.

    Raises:
        IndexNotFoundError: There is no index and it may not be built.
    """
    try:
        with output.show_status(activity) if activity else nullcontext():
            return query(rag)
    except IndexNotFoundError:
        if not may_index:
            raise
    output.note(f"no index yet: indexing {rag.root}")
    report = _build_first_index(rag, output)
    failed = f", {len(report.failed):,} failed ('coderag status' says which)" if report.failed else ""
    indexed = report.files.get("indexed", 0)
    output.note(f"indexed {indexed:,} file{'s' * (indexed != 1)}{failed}")
    with output.show_status(activity) if activity else nullcontext():
        return query(rag)
