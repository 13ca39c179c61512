"""Version of the chunking pipeline, in a module without imports so that reading it is cheap."""

from typing import Final

PIPELINE_VERSION: Final = 11
"""Incremented when a file would give different chunks, vectors or facts. Indexes of another version are rebuilt."""
