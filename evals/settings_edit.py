"""Edits of single settings in ``.coderag.yaml`` that keep the rest of the file, comments included."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from coderag.config.settings_edit import edit_text
from coderag.errors import ConfigurationError
from coderag.stores.disk import replace_file

FILE_NAME: Final = ".coderag.yaml"


def write_settings(root: Path, section: str, values: Mapping[str, Any]) -> Path:
    """Set keys of a section in the settings file of a repository, atomically, and return the file.

    Args:
        root: Root folder of the repository; a missing file is created.
        section: Section such as ``search``.
        values: New values by key.

    Raises:
        ConfigurationError: The file cannot be edited safely. Nothing is written, and the hint has the lines to add.
        StoreError: The file cannot be written.
    """
    path = (root / FILE_NAME).resolve()
    try:
        data, mode = (path.read_bytes(), path.stat().st_mode) if path.exists() else (b"version: 1\n", None)
        before = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"cannot read {path}: {error}") from error
    after = edit_text(before, section, values)
    replace_file(path, after.encode("utf-8"))
    if mode is not None:
        path.chmod(mode)
    return path
