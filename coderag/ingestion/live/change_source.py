"""What tells the changes of a repository, as `FileWatch` needs it."""

from collections.abc import Callable, Collection
from typing import Final, Protocol

QUIET_S: Final = 0.05
MAX_GATHER_S: Final = 1.0  # however many edits follow one another

ChangeCallback = Callable[[Collection[str]], None]
"""Takes absolute paths that may have changed, in the order of the changes; that of the root stands for all."""


class ChangeSource(Protocol):
    """Tells each change below a folder, and in the folder for cookies, to a `ChangeCallback`. It may be used by several threads."""

    def poll(self, timeout_s: float, *, gather: bool = False) -> None:
        """Note what has changed, after waiting for something if nothing has.

        Args:
            timeout_s: How long to wait at most, seconds.
            gather: Whether to wait on until it was quiet for `QUIET_S`, but no longer than `MAX_GATHER_S`.

        Raises:
            OSError: The system cannot tell all changes any more: the folder is gone, or a limit is reached.
            KeyboardInterrupt: The user has interrupted the process meanwhile.
        """
        ...

    def watch_cookies(self) -> None:
        """See to it that changes in the folder for cookies are told, which was made just now.

        Raises:
            OSError: They cannot be.
        """
        ...

    def stop(self) -> None:
        """End waiting, in any thread, now and from now on."""
        ...

    def close(self) -> None:
        """Let go of what the system holds for it; nothing is noted from then on."""
        ...


def is_valid_unicode(path: str) -> bool:
    """Whether a path is valid Unicode: bytes that are not UTF-8 are lone surrogates in it. The scanner leaves out others."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
