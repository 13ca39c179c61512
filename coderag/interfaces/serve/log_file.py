"""Size limit for the log of a background service."""

from contextlib import suppress
from pathlib import Path
from typing import Final

MAX_LOG_BYTES: Final = 1 << 20
_KEPT_BYTES: Final = 1 << 18


def trim_log(path: Path, max_bytes: int = MAX_LOG_BYTES, kept_bytes: int = _KEPT_BYTES) -> None:
    """Truncate the beginning of a log that is too large; its writers append, so they are not affected.

    Args:
        path: The file.
        max_bytes: Size up to which the file is left alone.
        kept_bytes: Size of the end that is kept.
    """
    with suppress(OSError):
        if path.stat().st_size <= max_bytes:
            return
        with path.open("r+b") as file:
            file.seek(-kept_bytes, 2)
            end = file.read().partition(b"\n")[2]
            file.seek(0)
            file.write(end)
            file.truncate()
