"""``coderag mcp``."""

from coderag.interfaces.cli._options import DebugOption


def mcp(*, debug: DebugOption = False) -> None:
    """Not there yet."""
    del debug
