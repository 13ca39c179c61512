"""Trace of a query's steps, with their duration and details. No source text, no keys."""

import logging
import time
from types import TracebackType
from typing import Any, Self

from coderag.schema.query import TraceEntry

logger = logging.getLogger(__name__)


class NodeTimer:
    """Timer of one node, used in a ``with`` statement.

    Args:
        node: Name of the node.
    """

    def __init__(self, node: str) -> None:
        self._node = node
        self._detail: dict[str, Any] = {}
        self._duration_ms = 0.0
        self._start_ns = 0

    def __enter__(self) -> Self:
        self._start_ns = time.time_ns()
        self._start_s = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._duration_ms = round((time.perf_counter() - self._start_s) * 1e3, 3)
        logger.debug("%s took %.2f ms: %s", self._node, self._duration_ms, self._detail)

    def add_detail(self, **detail: Any) -> None:  # noqa: ANN401  # numbers and words
        """Add details to the trace."""
        self._detail.update(detail)

    @property
    def trace_entries(self) -> list[TraceEntry]:
        """Trace of this node."""
        return [TraceEntry(node=self._node, start_ns=self._start_ns, ms=self._duration_ms, detail=self._detail)]
