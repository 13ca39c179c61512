"""Warning that settings of an untrusted repository are ignored."""

import hashlib
import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from coderag.config.user_folders import find_cache_folder
from coderag.errors import ConfigurationError
from coderag.interfaces.cli.output.streams import escape_controls
from coderag.system.atomic_write import PRIVATE_MODE, atomic_write

ADVICE: Final = "review and allow them with `coderag trust`"
"""Advice appended to the warning."""

_MAX_NAMES_SHOWN: Final = 3
_REPEAT_AFTER_S: Final = 3600.0

_logger = logging.getLogger(__name__)


def warn_of_restrictions(root: Path, restrictions: Sequence[tuple[str, str]]) -> None:
    """Log one warning, on standard error, if settings are ignored.

    The same warning is not repeated within the hour.

    Args:
        root: Folder of the repository.
        restrictions: Key and location of each setting; an empty key means the entire file or folder.
    """
    if not restrictions:
        return
    names = [f"{key} ({place})" if key else place for key, place in restrictions]
    if _was_warned(root, names):
        return
    more = f" and {len(names) - _MAX_NAMES_SHOWN} more" if len(names) > _MAX_NAMES_SHOWN else ""
    listing = f"{', '.join(names[:_MAX_NAMES_SHOWN])}{more}"
    _logger.warning("%s", escape_controls(f"ignored, as this repository is not trusted: {listing}; {ADVICE}"))


def _was_warned(root: Path, names: Sequence[str]) -> bool:
    """Return whether the same warning was given recently; if not, record it."""
    with suppress(OSError, RuntimeError, ConfigurationError):  # if it cannot be recorded, warn each time
        marker = find_cache_folder() / "told" / _hash_texts(str(root.resolve()))
        digest = _hash_texts(*names).encode()
        with suppress(FileNotFoundError):
            age_s = time.time() - marker.stat().st_mtime
            if 0 <= age_s < _REPEAT_AFTER_S and marker.read_bytes() == digest:
                return True
        marker.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        atomic_write(marker, [digest], permissions=PRIVATE_MODE)
    return False


def _hash_texts(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode(errors="surrogatepass")).hexdigest()
