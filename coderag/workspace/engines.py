"""Open a repository's engine as the workspace and its writer process do: with what the user trusts it to decide."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from coderag.settings_file import FILE_NAMES
from coderag.stores.index_folder import index_folder
from coderag.trust import is_trusted

if TYPE_CHECKING:
    from coderag.app import CodeRAG

OnEdited = Callable[[Collection[str]], None]

__all__ = ["EngineStamp", "OnEdited", "OpenEngine", "index_directory", "is_trusted", "open_engine"]


class OpenEngine(Protocol):
    """Opens a repository, as `open_engine` does."""

    def __call__(self, root: Path, *, trusted: bool, on_edited: OnEdited | None = None) -> "CodeRAG":
        """Return its engine."""
        ...


@dataclass(frozen=True, slots=True)
class EngineStamp:
    """What an engine's settings were made of; another stamp means that it is to be opened again.

    Attributes:
        trusted: Whether the user trusted the repository.
        files: Size, time and number of each of its settings files; None for one that is not there.
    """

    trusted: bool
    files: tuple[tuple[int, int, int] | None, ...]

    @classmethod
    def of(cls, root: Path, *, trusted: bool) -> "EngineStamp":
        """Return what it is now. Takes some microseconds."""
        return cls(trusted, tuple(_status(root / name) for name in FILE_NAMES))


def open_engine(root: Path, *, trusted: bool, on_edited: OnEdited | None = None) -> "CodeRAG":
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


def index_directory(engine: "CodeRAG") -> Path:
    """Return the folder of the index of an engine's repository."""
    return index_folder(engine.root, engine.settings.storage)


def _status(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino
