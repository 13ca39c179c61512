"""Locations of a repository's index and of its prompts."""

from pathlib import Path
from typing import TYPE_CHECKING

from coderag.config.repository_root import INDEX_FOLDER
from coderag.config.sections import StorageSettings
from coderag.config.settings import Settings

if TYPE_CHECKING:
    from coderag.stores.object_storage.object_index import ObjectIndex


def find_index_folder(root: Path, settings: StorageSettings) -> Path:
    """Return the folder of the index; it may not exist yet."""
    return root / Path(settings.directory).expanduser() if settings.directory else root / INDEX_FOLDER


def find_prompts_folder(root: Path, settings: Settings) -> Path | None:
    """Return the folder of a project's own prompts; None if it lies in an untrusted repository."""
    folder = find_index_folder(root, settings.storage)
    is_inside = folder.resolve().is_relative_to(root.resolve())
    return folder / "prompts" if settings.trusted or not is_inside else None


def open_object_index(root: Path, settings: Settings) -> "ObjectIndex | None":
    """Open the index of a repository in object storage; None if none is configured. Nothing is read yet."""
    if not settings.storage.url:
        return None
    from coderag.stores.object_storage.object_index import ObjectIndex  # noqa: PLC0415 - few use it

    name = settings.project or root.resolve().name
    return ObjectIndex(settings.storage, name, find_index_folder(root, settings.storage))
