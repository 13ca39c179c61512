"""The one place where the command line meets the engine."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coderag.app import CodeRAG


def open_repository(root: Path) -> "CodeRAG":
    """Return the engine for the repository at `root`; importing it takes seconds.

    Raises:
        ConfigurationError: The settings or the folder cannot be used.
        IngestionError: The folder is none that may be indexed.
    """
    from coderag.app import CodeRAG

    return CodeRAG(root)
