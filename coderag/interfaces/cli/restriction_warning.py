"""Tell that something of a repository is not used, because nobody marked it as trusted."""

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

ADVICE: Final = "`coderag trust` shows and allows them"
"""What to do about it."""

_MAX_NAMES_SHOWN: Final = 3
_REPEAT_AFTER_S: Final = 3600.0

_logger = logging.getLogger(__name__)


def warn_of_restrictions(root: Path, restrictions: Sequence[tuple[str, str]]) -> None:
    """Log one warning, which goes to standard error, if something is not used; nothing else.

    The same is not said again within the hour: of ten commands in a row, nine would say what is known.

    Args:
        root: Folder of the repository.
        left_out: Key and place of each setting; the key is empty if it is the whole file or folder.
    """
    if not restrictions:
        return
    names = [f"{key} ({place})" if key else place for key, place in restrictions]
    if _was_warned(root, names):
        return
    more = f" and {len(names) - _MAX_NAMES_SHOWN} more" if len(names) > _MAX_NAMES_SHOWN else ""
    listing = f"{', '.join(names[:_MAX_NAMES_SHOWN])}{more}"
    _logger.warning("%s", escape_controls(f"not used, as this repository is not marked trusted: {listing}; {ADVICE}"))


def _was_warned(root: Path, names: Sequence[str]) -> bool:
    """Whether the same was said of the repository lately; if not, note that it is now."""
    with suppress(OSError, RuntimeError, ConfigurationError):  # what cannot be noted is said each time
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
