"""Existence of documents and a history, by files alone: a list of tools must not wait for the engine."""

import os
from pathlib import Path
from typing import Final

from coderag.ingestion.files.roles import classify_role

_MAX_FILES: Final = 20_000
_SKIPPED_FOLDERS: Final = frozenset({"node_modules", "__pycache__", "venv", "target", "build", "dist"})


def may_have_documents(root: Path) -> bool:
    """Return whether a folder has a document; also True if it has too many files to tell."""
    n_files = 0
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if not name.startswith(".") and name not in _SKIPPED_FOLDERS]
        relative = Path(folder).relative_to(root)
        if any(classify_role((relative / file).as_posix()) == "docs" for file in files):
            return True
        n_files += len(files)
        if n_files > _MAX_FILES:
            return True
    return False


def may_have_history(root: Path) -> bool:
    """Return whether a folder is in a git working tree."""
    return any((folder / ".git").exists() for folder in (root, *root.absolute().parents))
