"""Opening of repositories through the running service. Imports nothing slow."""

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from coderag.config.file_names import FILE_NAMES
from coderag.errors import CodeRAGError
from coderag.service.client import REPOSITORY_PATH, ServiceClient
from coderag.service.discovery import find_service
from coderag.service.environment import compute_digest
from coderag.service.remote import RemoteCodeRAG

if TYPE_CHECKING:
    from coderag.app import CodeRAG

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)")

_log = logging.getLogger(__name__)


def open_remote(
    root: Path, open_local: "Callable[[], CodeRAG]", warn: Callable[[list[dict[str, Any]]], None]
) -> RemoteCodeRAG | None:
    """Open a repository through the running service; None if it must be opened in this process.

    Args:
        root: Folder of the repository.
        open_local: Opens it in this process if the service cannot serve a request.
        warn: Called with the restricted settings: key and place.
    """
    address = find_service()
    if address is None:
        return None
    try:
        real_root = root.expanduser().resolve()
        names = set(_find_variables(real_root))
    except (OSError, RuntimeError, ValueError):  # the engine reports the error
        return None
    client = ServiceClient(address)
    try:
        reply = client.call("POST", REPOSITORY_PATH, {"root": str(real_root), "variables": sorted(names)})
    except CodeRAGError as error:
        _log.info("not using the service: %s", error)
        return None
    if reply["digest"] != compute_digest(names):
        _log.info("not using the service: variables that the repository's settings name have other values there")
        return None
    restrictions = reply["restrictions"]
    return RemoteCodeRAG(real_root, client, open_local, on_served=partial(warn, restrictions) if restrictions else None)


def _find_variables(root: Path) -> Iterator[str]:
    """Yield the environment variables named by a repository's settings files."""
    for name in FILE_NAMES:
        with suppress(FileNotFoundError):
            text = (root / name).read_text(encoding="utf-8", errors="replace")
            yield from (match[1] for match in _VARIABLE.finditer(text))
