"""Access of the command line to the engine."""

import atexit
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coderag.app import CodeRAG
    from coderag.schema.engine import Engine


def open_repository(root: Path) -> "CodeRAG":
    """Open the repository at `root` in this process; importing the engine takes seconds.

    Raises:
        ConfigurationError: The settings or the folder are invalid.
        IngestionError: The folder may not be indexed.
    """
    from coderag.app import CodeRAG
    from coderag.config.trust import is_trusted
    from coderag.interfaces.cli.restriction_warning import warn_of_restrictions

    rag = CodeRAG(root, trusted=is_trusted(root))
    warn_of_restrictions(root, [(restriction.key, restriction.place) for restriction in rag.settings.restrictions])
    return rag


def open_warm(root: Path) -> "Engine":
    """Open the repository through the running service, or in this process if none runs.

    In the latter case a service is started at exit, if configured, for later commands. Raises as `open_repository`.
    """
    from coderag.interfaces.cli.startup import skip_pandas, tune_gc
    from coderag.service.opening import open_remote

    remote = open_remote(root, lambda: open_repository(root), partial(_warn_of_service_restrictions, root))
    if remote is not None:
        return remote
    tune_gc()
    rag = open_repository(root)
    skip_pandas(rag.settings)
    if rag.settings.service.autostart:
        # At exit, so as not to slow down this command.
        atexit.register(_start_service_later)
    return rag


def _start_service_later() -> None:
    from coderag.service.launcher import start_for_later

    start_for_later()


def _warn_of_service_restrictions(root: Path, restrictions: list[dict[str, Any]]) -> None:
    """Warn of restrictions that the service reported."""
    from coderag.interfaces.cli.restriction_warning import warn_of_restrictions

    warn_of_restrictions(root, [(restriction["key"], restriction["place"]) for restriction in restrictions])
