"""The version of what makes chunks, vectors and facts of a file; apart from it all, so that asking for it loads nothing."""

from typing import Final

PIPELINE_VERSION: Final = 7
"""Raised when the same file would give other chunks, vectors or facts; indexes of another version are built anew."""
