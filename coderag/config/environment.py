"""Environment variables that hold settings and keys."""

import os

ENVIRONMENT_PREFIX = "CODERAG_"


def read_environment_key(*variables: str) -> str:
    """Read a key from the first environment variable that is set; empty if none is."""
    return next((key for name in variables if (key := os.environ.get(name, "").strip())), "")
