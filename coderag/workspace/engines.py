"""Opening of engines by the workspace and its writer process, and detection of changed settings."""

import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from coderag.config.file_names import FILE_NAMES
from coderag.config.index_origin import is_foreign_index
from coderag.config.repository_root import INDEX_FOLDER
from coderag.stores.index_locations import find_index_folder

if TYPE_CHECKING:
    from coderag.app import CodeRAG
    from coderag.ingestion.live.live_index import OnEdited

_RECHECK_INTERVAL_S: Final = 10.0  # in a git worktree, a change of git's index goes unnoticed otherwise


class EngineOpener(Protocol):
    """Function that opens an engine, such as `open_engine`."""

    def __call__(self, root: Path, *, trusted: bool, on_edited: "OnEdited | None" = None) -> "CodeRAG":
        """Open the engine."""
        ...


@dataclass(frozen=True, slots=True)
class EngineStamp:
    """Fingerprint of the inputs of an engine's settings; if it changes, the engine is reopened.

    Attributes:
        trusted: Whether the user trusts the repository.
        files: Size, time and inode of each settings file; None for a missing one.
        has_foreign_index: Whether its index folder came with the repository or is a link. It decides where the index of
            an untrusted repository is; git may bring one at any time.
    """

    trusted: bool
    files: tuple[tuple[int, int, int] | None, ...]
    has_foreign_index: bool = False

    @classmethod
    def from_repository(cls, root: Path, *, trusted: bool) -> "EngineStamp":
        """Compute the current stamp in microseconds; git runs only if its index has changed, or periodically."""
        files = tuple(_read_file_stamp(root / name) for name in FILE_NAMES)
        cache_key = (
            _read_identity(root / INDEX_FOLDER),
            _read_file_stamp(root / ".git" / "index"),
            int(time.monotonic() / _RECHECK_INTERVAL_S),
        )
        return cls(trusted, files, not trusted and _is_foreign_index(root, cache_key))


def open_engine(root: Path, *, trusted: bool, on_edited: "OnEdited | None" = None) -> "CodeRAG":
    """Open the engine of a repository.

    Args:
        root: Its folder.
        trusted: Whether its settings may do more than restrict.
        on_edited: Called with paths that differ from the index.

    Raises:
        IngestionError: The folder cannot be indexed.
        ConfigurationError: Its settings cannot be used.
    """
    from coderag.app import CodeRAG  # noqa: PLC0415  # 1.5 s

    return CodeRAG(root, trusted=trusted, on_edited=on_edited)


def get_index_folder(engine: "CodeRAG") -> Path:
    """Return the index folder of an engine."""
    return find_index_folder(engine.root, engine.settings.storage)


@lru_cache(128)
def _is_foreign_index(root: Path, cache_key: tuple[object, ...]) -> bool:
    """Return whether the index folder is not this user's own; `cache_key` invalidates the cache."""
    del cache_key
    return is_foreign_index(root)


def _read_identity(folder: Path) -> tuple[int, int, int] | None:
    """Return the identity of a folder, to detect a link or another folder in its place."""
    try:
        status = folder.lstat()
    except OSError:
        return None
    return status.st_mode, status.st_dev, status.st_ino


def _read_file_stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino
