"""Names of a repository's settings files. Imports nothing slow."""

from typing import Final

COMMITTED_FILE: Final = ".coderag.yaml"
LOCAL_FILE: Final = ".coderag.local.yaml"
"""For secrets; ignored by git."""

FILE_NAMES: Final = (COMMITTED_FILE, LOCAL_FILE)
"""In merging order."""
