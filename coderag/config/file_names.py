"""The names of a repository's settings files. Imports nothing slow."""

from typing import Final

COMMITTED_FILE: Final = ".coderag.yaml"
LOCAL_FILE: Final = ".coderag.local.yaml"
"""For secrets; it is kept out of git."""

FILE_NAMES: Final = (COMMITTED_FILE, LOCAL_FILE)
"""In the order they are merged."""
