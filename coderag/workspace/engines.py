"""Open a repository's engine as the workspace and its writer process do: with what the user trusts it to decide."""

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

_RECHECK_INTERVAL_S: Final = (
    10.0  # where git's index is elsewhere, as in a worktree, nothing else tells that it has changed
)


class EngineOpener(Protocol):
    """Opens a repository, as `open_engine` does."""

    def __call__(self, root: Path, *, trusted: bool, on_edited: "OnEdited | None" = None) -> "CodeRAG":
        """Return its engine."""
        ...


@dataclass(frozen=True, slots=True)
class EngineStamp:
    """What an engine's settings were made of; another stamp means that it is to be opened again.

    Attributes:
        trusted: Whether the user trusted the repository.
        files: Size, time and number of each of its settings files; None for one that is not there.
        has_foreign_index: Whether the folder for its index came with it, or leads elsewhere, which decides where
            the index of one that is not trusted is; git may bring one at any time.
    """

    trusted: bool
    files: tuple[tuple[int, int, int] | None, ...]
    has_foreign_index: bool = False

    @classmethod
    def from_repository(cls, root: Path, *, trusted: bool) -> "EngineStamp":
        """Return what it is now. Takes some microseconds; git is asked again when its own index has changed, and at times."""
        files = tuple(_read_file_stamp(root / name) for name in FILE_NAMES)
        cache_key = (
            _read_identity(root / INDEX_FOLDER),
            _read_file_stamp(root / ".git" / "index"),
            int(time.monotonic() / _RECHECK_INTERVAL_S),
        )
        return cls(trusted, files, not trusted and _is_foreign_index(root, cache_key))


def open_engine(root: Path, *, trusted: bool, on_edited: "OnEdited | None" = None) -> "CodeRAG":
    """Return the engine of a repository.

    Args:
        root: Its folder.
        trusted: Whether its settings may do more than restrict.
        on_edited: Called with paths that are found to differ from the index.

    Raises:
        IngestionError: It is no folder that may be indexed.
        ConfigurationError: Its settings cannot be used.
    """
    from coderag.app import CodeRAG  # noqa: PLC0415  # 1.5 s

    return CodeRAG(root, trusted=trusted, on_edited=on_edited)


def get_index_folder(engine: "CodeRAG") -> Path:
    """Return the folder of the index of an engine's repository."""
    return find_index_folder(engine.root, engine.settings.storage)


@lru_cache(128)
def _is_foreign_index(root: Path, cache_key: tuple[object, ...]) -> bool:
    """Whether the index's folder is not this user's own. `seen` tells what may have changed since the last time."""
    del cache_key
    return is_foreign_index(root)


def _read_identity(folder: Path) -> tuple[int, int, int] | None:
    """Return what tells a folder from a link, or from another one, in its place."""
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
