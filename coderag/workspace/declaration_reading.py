"""Background reading of the declarations that commits changed, in the writer process while it has nothing to index."""

import logging
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from coderag.errors import CodeRAGError

if TYPE_CHECKING:
    from coderag.lineage.code_history import CodeHistory

_logger = logging.getLogger(__name__)

_MAX_COMMITS: Final = 20_000
"""Commits of a repository that are read in the background, the newest; a question reads older ones that it needs."""


class DeclarationReading:
    """Queue of the histories to be read, the latest indexed first.

    Args:
        is_wanted: Whether something more urgent waits; asked after each commit.
    """

    def __init__(self, is_wanted: Callable[[], bool]) -> None:
        self._is_wanted = is_wanted
        self._histories: deque[CodeHistory] = deque()
        self._running: tuple[CodeHistory, Iterator[int]] | None = None

    def add(self, history: "CodeHistory") -> None:
        """Read a history next, from its newest commit that is not read."""
        if history in self._histories:
            self._histories.remove(history)
        self._histories.appendleft(history)
        self._running = None  # its new commits come first

    def run(self) -> None:
        """Read until all is read, or something more urgent waits. What is read stays."""
        while self._histories and not self._is_wanted():
            history = self._histories[0]
            if self._running is None or self._running[0] is not history:
                self._running = history, history.read_declarations(_MAX_COMMITS)
            try:
                for _ in self._running[1]:
                    if self._is_wanted():
                        return
            except CodeRAGError as error:  # no git, no repository, off: nothing to read
                _logger.debug("declarations of commits are not read: %s", error)
            except Exception:  # background work must not end the process
                _logger.exception("Reading the declarations of commits failed")
            self._histories.popleft()
            self._running = None
