"""Check of the folders that a workspace may open."""

from collections.abc import Sequence
from pathlib import Path

from coderag.errors import ForbiddenRootError
from coderag.ingestion.files.scanner import check_root


def check_allowed(path: Path, allowed: Sequence[Path]) -> Path:
    """Return a repository's real path, if it may be opened.

    Links are followed first, so that a link cannot lead outside. For a folder outside, the error does not reveal
    whether it exists.

    Args:
        path: Its folder as given.
        allowed: Folders in or below which it must lie; empty allows any.

    Raises:
        ForbiddenRootError: It lies outside the allowed folders.
        IngestionError: The folder does not exist, or is never indexed.
    """
    if allowed and not _is_inside(path, allowed):
        allowed_list = ", ".join(str(folder) for folder in allowed)
        hint = f"Allowed are folders in or below {allowed_list}; `coderag serve --allow-root` adds one."
        raise ForbiddenRootError(f"{path}: outside the allowed folders", hint=hint)
    return check_root(path)


def _is_inside(path: Path, allowed: Sequence[Path]) -> bool:
    try:
        real_path = path.expanduser().resolve()
        return any(real_path.is_relative_to(folder.expanduser().resolve()) for folder in allowed)
    except (OSError, RuntimeError, ValueError):  # a link loop, an unknown ~user, a NUL
        return False
