"""``coderag serve``."""

from coderag.interfaces.cli._options import DebugOption


def serve(*, debug: DebugOption = False) -> None:
    """Not there yet."""
    del debug
