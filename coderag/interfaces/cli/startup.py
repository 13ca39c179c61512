"""Start-up optimisations of a process dedicated to one command."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coderag.config.settings import Settings


class _Process:
    """State of this process.

    Attributes:
        is_dedicated: Whether it runs one command only, unlike a program that calls the command line from Python.
    """

    is_dedicated = False


def mark_dedicated_process() -> None:
    """Mark this process as started for one command."""
    _Process.is_dedicated = True


def tune_gc() -> None:
    """Tune garbage collection for imports: imported objects stay alive and need no repeated scans."""
    if _Process.is_dedicated:
        from coderag.system.gc_tuning import relax_gc

        relax_gc()


def skip_pandas(settings: "Settings") -> None:
    """Skip the import of pandas for index reads and writes, if no user code may need it."""
    if _Process.is_dedicated and not settings.ingestion.transformations:  # they may pass pandas objects to pyarrow
        from coderag.stores.pandas_guard import avoid_pandas_import

        avoid_pandas_import()
