"""What lets a command that does one thing start and end sooner, in a process that is its own."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coderag.config.settings import Settings


class _Process:
    """This process.

    Attributes:
        is_own: Whether it is there for a command alone; one that calls the command line from Python is not.
    """

    is_dedicated = False


def mark_dedicated_process() -> None:
    """Say that this process was started for a command, and ends with it."""
    _Process.is_dedicated = True


def tune_gc() -> None:
    """Prepare for the engine's modules: what is imported stays, and is not searched for garbage again and again."""
    if _Process.is_dedicated:
        from coderag.system.gc_tuning import relax_gc

        relax_gc()


def skip_pandas(settings: "Settings") -> None:
    """Prepare for an index that is read or written."""
    if _Process.is_dedicated and not settings.ingestion.transformations:  # which may give pyarrow what is pandas'
        from coderag.stores.pandas_guard import avoid_pandas_import

        avoid_pandas_import()
