"""Paths as models write them, and errors for files that cannot be shown."""

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from coderag.errors import CodeRAGError, InvalidQueryError
from coderag.system.file_checks import is_existing_file

if TYPE_CHECKING:
    from coderag.app import CodeRAG
    from coderag.codegraph.graph import CodeGraph

_MAX_SUGGESTIONS = 4


def normalize_place(root: Path, given_place: str) -> str:
    """Normalise a path or ``path:10-42`` to the form of the index: relative to the root, with ``/``."""
    place = given_place.strip().strip("`\"'").replace("\\", "/")
    base = root.as_posix().rstrip("/")
    if place.startswith(f"{base}/"):
        place = place[len(base) + 1 :]
    return place.removeprefix("./")


def strip_line_range(place: str) -> str:
    """Return a place without its line range."""
    path, _, lines = place.rpartition(":")
    return path if path and lines.replace("-", "").isdigit() else place


def list_indexed_paths(graph: "CodeGraph") -> list[str]:
    """List the paths of all indexed files."""
    symbols = graph.symbols
    return [symbols.paths[file] for file in symbols.files.tolist()]


def refuse_path(engine: "CodeRAG", place: str, error: InvalidQueryError) -> NoReturn:
    """Raise an error with the reason why a file cannot be shown, and with suggestions.

    Args:
        engine: Engine of the repository.
        place: The requested path or place.
        error: The error of the engine.

    Raises:
        InvalidQueryError: Always.
    """
    path = strip_line_range(place)
    paths = list_indexed_paths(engine.graph)
    if path in paths:
        raise error
    if contained := [candidate for candidate in paths if candidate.startswith(f"{path.rstrip('/')}/")]:
        raise InvalidQueryError(
            f"{path} is a folder with {len(contained)} indexed files",
            hint="Give one of its files, or give query as well: file_path then says where to look.",
        ) from error
    if reason := _find_skip_reason(engine, path):
        hint = "CodeRAG leaves it out; read it with your own file tools."
        raise InvalidQueryError(f"{path} is not in the index: {reason}", hint=hint) from error
    suggestions = [candidate for candidate in paths if candidate.endswith(f"/{path.lstrip('/')}")]
    suggestions = (suggestions or difflib.get_close_matches(path, paths, _MAX_SUGGESTIONS))[:_MAX_SUGGESTIONS]
    advice = (
        f"Did you mean {' or '.join(f'`{candidate}`' for candidate in suggestions)}?"
        if suggestions
        else "coderag_search finds files by words."
    )
    is_on_disk = is_existing_file(engine.root / path)
    cause = (
        "it is ignored, or was added after the last run of indexing (coderag_index)" if is_on_disk else "no such file"
    )
    raise InvalidQueryError(f"{path} is not in the index: {cause}", hint=advice) from error


def _find_skip_reason(engine: "CodeRAG", path: str) -> str:
    """Find the reason why a file was left out; empty if it is unknown."""
    try:
        not_indexed = engine.search(path, top_k=1).not_indexed
    except CodeRAGError:  # the path cannot be a query
        return ""
    return next((entry.removeprefix(f"{path}: ") for entry in not_indexed if entry.startswith(f"{path}: ")), "")
