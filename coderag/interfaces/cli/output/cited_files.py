"""Files that an answer cites."""

from functools import cache
from pathlib import Path, PurePosixPath

from coderag.system.file_checks import is_existing_file


@cache
def find_cited_file(root: Path, location: str) -> Path | None:
    """Return the file of a location such as ``src/a.py:10-42``; None if it does not exist."""
    path = PurePosixPath(location.partition(":")[0])
    if path.is_absolute() or ".." in path.parts:
        return None
    file = root / path
    return file if is_existing_file(file) else None
