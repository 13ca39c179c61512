"""Locations of a repository's index and of its prompts."""

from pathlib import Path

from coderag.config.repository_root import INDEX_FOLDER
from coderag.config.sections import StorageSettings
from coderag.config.settings import Settings


def find_index_folder(root: Path, settings: StorageSettings) -> Path:
    """Return the folder of the index; it may not exist yet."""
    return root / Path(settings.directory).expanduser() if settings.directory else root / INDEX_FOLDER


def find_prompts_folder(root: Path, settings: Settings) -> Path | None:
    """Return the folder of a project's own prompts; None if it lies in an untrusted repository."""
    folder = find_index_folder(root, settings.storage)
    is_inside = folder.resolve().is_relative_to(root.resolve())
    return folder / "prompts" if settings.trusted or not is_inside else None
