"""Where the index of a repository is."""

from pathlib import Path

from coderag.settings import StorageSettings


def index_folder(root: Path, settings: StorageSettings) -> Path:
    """Return the folder of the index; it may not be there yet."""
    return root / Path(settings.directory).expanduser() if settings.directory else root / ".coderag"
