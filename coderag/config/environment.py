"""Environment variables that hold settings and keys."""

import os

ENVIRONMENT_PREFIX = "CODERAG_"

SERVER_ENVIRONMENT_PREFIX = "CODERAG_SERVER_"
"""Prefix of the settings of the team server, which are no settings of a repository."""


def read_environment_key(*variables: str) -> str:
    """Read a key from the first environment variable that is set; empty if none is."""
    return next((key for name in variables if (key := os.environ.get(name, "").strip())), "")
