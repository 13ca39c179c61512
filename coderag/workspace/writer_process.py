"""The writer process: indexing does not slow searches down, and a crash is one failed job.

While it has nothing to index, it reads the declarations that commits changed.

It reads tasks from standard input and writes replies to the original standard output. It exits at once when the input
ends: its parent is gone, and the index survives. Its worker processes do the same.
"""

import logging
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from coderag.errors import CodeRAGError, IngestionError
from coderag.schema.indexing import IndexProgress, IndexReport
from coderag.system.process_memory import limit_heaps, trim_heap
from coderag.system.standard_streams import take_streams
from coderag.workspace.declaration_reading import DeclarationReading
from coderag.workspace.engines import EngineStamp, open_engine
from coderag.workspace.writer_messages import IndexTask, WriterReply, parse_task, write_reply

if TYPE_CHECKING:
    from coderag.app import CodeRAG
    from coderag.ingestion.files.scanner import Scan
    from coderag.lineage.code_history import CodeHistory

_PROGRESS_S: Final = 0.1
_NICENESS: Final = 2  # searches come first, but a busy machine must not stop indexing

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _IndexedRepository:
    """An indexed repository and the result of its last scan."""

    engine: "CodeRAG"
    stamp: EngineStamp
    last_scan: "Scan | None" = None


class IndexingLoop:
    """Runner of tasks; it keeps engines and scans for the next task of the same repository.

    Args:
        reply: Sends progress and results.
        add_history: Called with the history of each repository that was indexed.
    """

    def __init__(
        self, reply: Callable[[WriterReply], None], add_history: Callable[["CodeHistory"], None] = lambda _: None
    ) -> None:
        self._reply = reply
        self._add_history = add_history
        self._repositories: dict[str, _IndexedRepository] = {}

    def run_task(self, task: IndexTask) -> None:
        """Run a task; the last reply is its report or its error."""
        try:
            result: WriterReply = self._index(task)
        except CodeRAGError as error:
            result = error
        except Exception as error:  # top of the process: the workspace reports it
            _logger.exception("Indexing %s failed", task.root)
            result = IngestionError(
                f"{task.root}: indexing failed with an internal error: {error!r}", hint="This is a bug in CodeRAG."
            )
        self._reply(result)
        trim_heap()

    def _index(self, task: IndexTask) -> IndexReport:
        repository = self._open_repository(task)
        since = None
        if task.edited is not None and repository.last_scan is not None and not task.full:
            since = repository.last_scan, task.edited
        repository.last_scan = None  # until this run has succeeded
        indexer = repository.engine.make_indexer(_ProgressThrottle(self._reply))
        if task.edited is not None:  # edits are published by the next run that somebody asks for
            report = indexer.run(full=task.full, since=since)
        else:
            report = repository.engine.publish_run(lambda: indexer.run(full=task.full))
        repository.last_scan = indexer.last_scan
        self._add_history(repository.engine.history)
        return report

    def _open_repository(self, task: IndexTask) -> _IndexedRepository:
        """Open a repository with its current settings."""
        root = Path(task.root)
        stamp = EngineStamp.from_repository(root, trusted=task.trusted)
        existing = self._repositories.get(task.root)
        if existing is None or existing.stamp != stamp:
            self._repositories.pop(task.root, None)  # even if the new settings are invalid
            existing = self._repositories[task.root] = _IndexedRepository(
                open_engine(root, trusted=task.trusted), stamp
            )
        return existing


class _ProgressThrottle:
    """Rate limit for progress: a few replies per second, and one for every new stage."""

    def __init__(self, reply: Callable[[WriterReply], None]) -> None:
        self._reply = reply
        self._sent_at = 0.0
        self._stage = ""

    def __call__(self, progress: IndexProgress) -> None:
        now = time.monotonic()
        if progress.stage == self._stage and now < self._sent_at + _PROGRESS_S:
            return
        self._stage, self._sent_at = progress.stage, now
        self._reply(progress)


def main() -> None:
    """Run tasks until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the parent
    limit_heaps()
    task_descriptor, reply_descriptor = take_streams()
    if hasattr(os, "nice"):
        with suppress(OSError):
            os.nice(_NICENESS)
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    tasks: queue.SimpleQueue[IndexTask] = queue.SimpleQueue()
    threading.Thread(
        target=_read_tasks, args=(os.fdopen(task_descriptor, "rb"), tasks), daemon=True, name="tasks"
    ).start()
    output = os.fdopen(reply_descriptor, "wb")
    reading = DeclarationReading(lambda: not tasks.empty())
    loop = IndexingLoop(lambda reply: _send_reply(output, reply), reading.add)
    while True:
        reading.run()
        loop.run_task(tasks.get())


def _send_reply(stream: IO[bytes], reply: WriterReply) -> None:
    try:
        write_reply(stream, reply)
    except OSError:  # the parent is gone
        os._exit(0)


def _read_tasks(stream: IO[bytes], tasks: "queue.SimpleQueue[IndexTask]") -> None:
    for line in stream:
        tasks.put(parse_task(line))
    os._exit(0)  # even during a run: nobody needs its result


if __name__ == "__main__":
    main()
