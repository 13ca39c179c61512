"""What each step of a query did: its duration and numbers, kept in the state's trace. No source text, no keys."""

import logging
import time
from types import TracebackType
from typing import Any, Self

from coderag.schema.query import TraceEntry

logger = logging.getLogger(__name__)


class NodeTimer:
    """Times one node; used in a ``with`` statement, after which `entries` is what the node adds to the trace.

    Args:
        node: The node's name.
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
        """Add what is worth knowing."""
        self._detail.update(detail)

    @property
    def trace_entries(self) -> list[TraceEntry]:
        """The trace of this step."""
        return [TraceEntry(node=self._node, start_ns=self._start_ns, ms=self._duration_ms, detail=self._detail)]
