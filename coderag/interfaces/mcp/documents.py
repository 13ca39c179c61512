"""Existence of documents, sources and a history, by files alone: a list of tools must not wait for the engine."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from coderag.config.environment import ENVIRONMENT_PREFIX
from coderag.config.file_names import FILE_NAMES
from coderag.errors import CodeRAGError
from coderag.ingestion.files.roles import classify_role
from coderag.schema.item_search import ItemScope

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


def may_have_source(root: Path, scope: ItemScope) -> bool:
    """Return whether a source of a kind is configured for a folder; settings are loaded only where some may name one."""
    if not _may_configure_sources(root):
        return False
    from coderag.config.settings import Settings  # noqa: PLC0415  # takes 0.3 s
    from coderag.config.trust import is_trusted  # noqa: PLC0415
    from coderag.engine.items.configured_sources import read_source_kinds  # noqa: PLC0415

    try:
        settings = Settings.load(root, trusted=is_trusted(root))
    except CodeRAGError:  # told by the first call of a tool
        return False
    return scope in read_source_kinds(settings).values()


def _may_configure_sources(root: Path) -> bool:
    if any(name.upper().startswith(f"{ENVIRONMENT_PREFIX}SOURCES") for name in os.environ):
        return True
    for name in FILE_NAMES:
        with suppress(OSError):
            if b"sources" in (root / name).read_bytes():
                return True
    return False


def may_have_history(root: Path) -> bool:
    """Return whether a folder is in a git working tree."""
    return any((folder / ".git").exists() for folder in (root, *root.absolute().parents))
