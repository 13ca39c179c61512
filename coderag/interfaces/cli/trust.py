"""``coderag trust``."""

from coderag.interfaces.cli._options import DebugOption


def trust(*, debug: DebugOption = False) -> None:
    """Not there yet."""
    del debug
