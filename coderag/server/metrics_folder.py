"""Folder in which the processes of one server add up their metrics."""

import os
from pathlib import Path
from typing import Final

from coderag.errors import ConfigurationError

VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"
"""Variable that prometheus_client reads when it is imported, so it is set before."""


def prepare_metrics_folder(folder: Path) -> None:
    """Empty a folder for the metrics of the processes that start next, and name it in their environment.

    The process that starts the others calls this once, before any of them imports `coderag.server.metrics`.

    Raises:
        ConfigurationError: The folder cannot be used.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for stale in folder.glob("*.db"):
            stale.unlink(missing_ok=True)
    except OSError as error:
        message = f"{folder}: cannot be used for metrics: {error.strerror or error}"
        raise ConfigurationError(message, hint="Check the permissions of the data folder.") from error
    os.environ[VARIABLE] = str(folder)
