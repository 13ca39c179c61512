"""Paths as models write them, and why a file cannot be shown."""

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from coderag.errors import CodeRAGError, InvalidQueryError

if TYPE_CHECKING:
    from coderag.app import CodeRAG
    from coderag.codegraph.graph import CodeGraph

_MOST_NEAR = 4


def as_place(root: Path, written: str) -> str:
    """Return a path or ``path:10-42`` as the index has it: from the root, with ``/`` between folders."""
    place = written.strip().strip("`\"'").replace("\\", "/")
    base = root.as_posix().rstrip("/")
    if place.startswith(f"{base}/"):
        place = place[len(base) + 1 :]
    return place.removeprefix("./")


def path_of(place: str) -> str:
    """Return a place without its lines."""
    path, _, lines = place.rpartition(":")
    return path if path and lines.replace("-", "").isdigit() else place


def indexed_paths(graph: "CodeGraph") -> list[str]:
    """Return the paths of all indexed files."""
    symbols = graph.symbols
    return [symbols.paths[file] for file in symbols.files.tolist()]


def refuse_path(engine: "CodeRAG", place: str, error: InvalidQueryError) -> NoReturn:
    """Raise what says why a file cannot be shown, and which ones there are that may be meant.

    Args:
        engine: Of the repository.
        place: What was asked for.
        error: What the engine says of it.

    Raises:
        InvalidQueryError: Always.
    """
    path = path_of(place)
    paths = indexed_paths(engine.graph)
    if path in paths:
        raise error
    if inside := [one for one in paths if one.startswith(f"{path.rstrip('/')}/")]:
        raise InvalidQueryError(
            f"{path} is a folder with {len(inside)} indexed files",
            hint="Give one of its files, or give query as well: file_path then says where to look.",
        ) from error
    if reason := _reason(engine, path):
        hint = "CodeRAG leaves it out; read it with your own file tools."
        raise InvalidQueryError(f"{path} is not in the index: {reason}", hint=hint) from error
    near = [one for one in paths if one.endswith(f"/{path.lstrip('/')}")]
    near = (near or difflib.get_close_matches(path, paths, _MOST_NEAR))[:_MOST_NEAR]
    told = (
        f"Did you mean {' or '.join(f'`{one}`' for one in near)}?" if near else "coderag_search finds files by words."
    )
    is_there = (engine.root / path).is_file()
    why = "it is ignored, or was added after the last run of indexing (coderag_index)" if is_there else "no such file"
    raise InvalidQueryError(f"{path} is not in the index: {why}", hint=told) from error


def _reason(engine: "CodeRAG", path: str) -> str:
    """Return why a file was left out, if that is known."""
    try:
        told = engine.search(path, top_k=1).not_indexed
    except CodeRAGError:  # a path that is no question
        return ""
    return next((one.removeprefix(f"{path}: ") for one in told if one.startswith(f"{path}: ")), "")
