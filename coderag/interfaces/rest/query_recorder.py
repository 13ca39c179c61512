"""Recording of searches and questions in the background, never at the expense of their reply."""

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from threading import BoundedSemaphore
from typing import Any, Final, TypeVar

from coderag.errors import CodeRAGError
from coderag.interfaces.rest.bodies import RecordedBody
from coderag.schema.answers import Answer
from coderag.schema.context import AssembledContext
from coderag.schema.search import SearchHits
from coderag.stores.pointer import read_pointer
from coderag.stores.query_log import QueryKind, QueryLog, QueryRecord, RecordedResult
from coderag.workspace.engines import get_index_folder
from coderag.workspace.repository import OpenRepository

_MAX_PENDING: Final = 200
"""Records that may wait to be written; further ones are dropped."""

_MAX_OPEN_LOGS: Final = 16

_logger = logging.getLogger(__name__)

_Result = TypeVar("_Result")


class QueryRecorder:
    """Writer of the query logs of all repositories, in a thread of its own."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "rest-queries")
        self._open_log = lru_cache(_MAX_OPEN_LOGS)(QueryLog)  # an open log need not count its records again
        self._slots = BoundedSemaphore(_MAX_PENDING)

    def record(
        self,
        repository: OpenRepository,
        kind: QueryKind,
        body: RecordedBody,
        outcome: SearchHits | AssembledContext | Answer,
        started: float,
    ) -> None:
        """Record a query in the background, if its request and the settings allow it; errors are logged.

        Args:
            repository: The repository that answered.
            kind: Kind of the query.
            body: Body of its request.
            outcome: Its result.
            started: `time.perf_counter` at its start.
        """
        if not body.record or not self._slots.acquire(blocking=False):
            return
        elapsed_ms = (time.perf_counter() - started) * 1_000
        try:
            self._thread.submit(self._write, partial(self._append, repository, kind, body, outcome, elapsed_ms))
        except RuntimeError:  # the server ends
            self._slots.release()

    def run(self, function: Callable[[], _Result]) -> _Result:
        """Run a function on a log after all pending records are written, and return its result."""
        return self._thread.submit(function).result()

    def close(self) -> None:
        """Accept no more records; pending ones are still written."""
        self._thread.shutdown(wait=False)

    def _write(self, write: Callable[[], None]) -> None:
        try:
            write()
        except CodeRAGError as error:
            _logger.info("A query was not recorded: %s", error)
        except Exception:  # nobody waits for the result
            _logger.exception("A query was not recorded")
        finally:
            self._slots.release()

    def _append(
        self,
        repository: OpenRepository,
        kind: QueryKind,
        body: RecordedBody,
        outcome: SearchHits | AssembledContext | Answer,
        elapsed_ms: float,
    ) -> None:
        if not repository.engine.settings.service.record_queries:
            return
        folder = get_index_folder(repository.engine)
        pointer = read_pointer(folder)
        record = QueryRecord.build(
            kind,
            body.query,
            _list_results(outcome),
            filters=_get_set_filters(body),
            evidence=outcome.evidence,
            confidence=outcome.confidence,
            elapsed_ms=round(elapsed_ms, 1),
            generation=pointer.generation if pointer else 0,
            top_k=getattr(body, "top_k", None),
        )
        self._open_log(folder).append(record)


def _list_results(outcome: SearchHits | AssembledContext | Answer) -> Sequence[RecordedResult]:
    if isinstance(outcome, AssembledContext):
        items = (item for section in outcome.sections for item in section.items)
        return [RecordedResult(f"{item.path}:{item.start_line}-{item.end_line}", item.name) for item in items]
    hits = outcome.hits if isinstance(outcome, Answer) else outcome
    return [RecordedResult(hit.location, hit.qualified_name) for hit in hits]


def _get_set_filters(body: RecordedBody) -> dict[str, Any]:
    return body.filters.model_dump(mode="json", exclude_defaults=True) if body.filters else {}
