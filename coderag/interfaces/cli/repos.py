"""``coderag repos``."""

from coderag.interfaces.cli._options import DebugOption


def repos(*, debug: DebugOption = False) -> None:
    """Not there yet."""
    del debug
