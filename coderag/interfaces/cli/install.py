"""``coderag install``."""

from coderag.interfaces.cli._options import DebugOption


def install(*, debug: DebugOption = False) -> None:
    """Not there yet."""
    del debug
