"""Existence of sources by settings files alone: a list of tools must not wait for the engine."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from coderag.config.environment import ENVIRONMENT_PREFIX
from coderag.config.file_names import FILE_NAMES
from coderag.errors import CodeRAGError
from coderag.schema.item_search import ItemScope

MAX_HINTED: Final = 50
"""Repositories whose settings files are read for a hint, at most."""


def may_registered_have_source(scope: ItemScope) -> bool:
    """Return whether one of this user's last used repositories configures a source of a kind."""
    from coderag.workspace.registry import Registry  # noqa: PLC0415  # only this list needs it

    return any(may_have_source(Path(entry.root), scope) for entry in Registry().read_entries()[:MAX_HINTED])


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
