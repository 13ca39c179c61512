"""Arrays derived from a generation for the web interface, such as layouts, kept beside it and computed once."""

import io
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from coderag.stores.pointer import Pointer
from coderag.system.atomic_write import atomic_write

_FOLDER: Final = "views"


class ViewFiles:
    """Derived arrays of one generation. Losing them costs only time.

    Args:
        index_directory: Directory of the index.
        pointer: Pointer of the generation.
    """

    def __init__(self, index_directory: Path, pointer: Pointer) -> None:
        self._base = index_directory / _FOLDER
        number, identifier = pointer.identity
        self._folder = self._base / f"{number}-{identifier.replace(':', '')}"  # no colons in file names on Windows

    def read(self, name: str) -> dict[str, NDArray[Any]] | None:
        """Read arrays by name; None if they were not written, or are damaged."""
        try:
            with np.load(self._folder / f"{name}.npz", allow_pickle=False) as archive:
                return dict(archive)
        except (OSError, ValueError, EOFError, KeyError):
            return None

    def read_previous(self, name: str) -> dict[str, NDArray[Any]] | None:
        """Read the arrays of the latest other generation that has them; None without any."""
        with suppress(OSError):
            paths = [path for path in self._base.glob(f"*/{name}.npz") if path.parent != self._folder]
            for path in sorted(paths, key=lambda path: path.stat().st_mtime, reverse=True):
                with suppress(OSError, ValueError, EOFError, KeyError), np.load(path, allow_pickle=False) as archive:
                    return dict(archive)
        return None

    def has(self, name: str) -> bool:
        """Return whether arrays were written for this generation."""
        return (self._folder / f"{name}.npz").is_file()

    def has_previous(self, name: str) -> bool:
        """Return whether another generation has arrays."""
        with suppress(OSError):
            return any(path.parent != self._folder for path in self._base.glob(f"*/{name}.npz"))
        return False

    def write(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write arrays atomically, and remove those of the same name of other generations.

        Raises:
            OSError: They cannot be written.
        """
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]  # its stubs mistake the keywords
        self._folder.mkdir(parents=True, exist_ok=True)
        atomic_write(self._folder / f"{name}.npz", [buffer.getvalue()], is_durable=False)
        for folder in self._base.iterdir():
            if folder != self._folder:
                (folder / f"{name}.npz").unlink(missing_ok=True)
                if not any(folder.iterdir()):
                    shutil.rmtree(folder, ignore_errors=True)
