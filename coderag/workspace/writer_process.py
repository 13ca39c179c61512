"""The process that writes indexes, so that searches keep their speed, and a crash of indexing is one failed job.

It reads tasks from its standard input and writes replies to what was its standard output. When the input ends it ends at
once, whatever it is doing: whoever started it is gone, and an index survives that. Its own worker processes do the same.
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
from coderag.workspace.engines import EngineStamp, open_engine
from coderag.workspace.writer_messages import IndexTask, WriterReply, parse_task, write_reply

if TYPE_CHECKING:
    from coderag.app import CodeRAG
    from coderag.ingestion.files.scanner import Scan

_PROGRESS_S: Final = 0.1
_NICENESS: Final = 2  # of niceness: searches come first, but a busy machine must not stop indexing

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _IndexedRepository:
    """A repository that was indexed, and what the last walk through it found."""

    engine: "CodeRAG"
    stamp: EngineStamp
    last_scan: "Scan | None" = None


class IndexingLoop:
    """Does tasks, and remembers what it needs to do the next one of the same repository sooner.

    Args:
        reply: Takes how far a task is, and what came of it.
    """

    def __init__(self, reply: Callable[[WriterReply], None]) -> None:
        self._reply = reply
        self._repositories: dict[str, _IndexedRepository] = {}

    def run_task(self, task: IndexTask) -> None:
        """Do a task; its report or its error is the last reply."""
        try:
            result: WriterReply = self._index(task)
        except CodeRAGError as error:
            result = error
        except Exception as error:  # the top of this process: the workspace says what it was
            _logger.exception("Indexing %s failed", task.root)
            result = IngestionError(
                f"{task.root}: indexing failed inside: {error!r}", hint="This is a fault of CodeRAG."
            )
        self._reply(result)
        trim_heap()

    def _index(self, task: IndexTask) -> IndexReport:
        repository = self._open_repository(task)
        since = None
        if task.edited is not None and repository.last_scan is not None and not task.full:
            since = repository.last_scan, task.edited
        repository.last_scan = None  # until this run has ended well
        indexer = repository.engine.make_indexer(_ProgressThrottle(self._reply))
        report = indexer.run(full=task.full, since=since)
        repository.last_scan = indexer.found
        return report

    def _open_repository(self, task: IndexTask) -> _IndexedRepository:
        """Return a repository with its settings as they are now."""
        root = Path(task.root)
        stamp = EngineStamp.from_repository(root, trusted=task.trusted)
        existing = self._repositories.get(task.root)
        if existing is None or existing.stamp != stamp:
            self._repositories.pop(task.root, None)  # also if the settings cannot be used
            existing = self._repositories[task.root] = _IndexedRepository(
                open_engine(root, trusted=task.trusted), stamp
            )
        return existing


class _ProgressThrottle:
    """Passes on how far a run is, some times a second and whenever another stage begins."""

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
    """Do tasks until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever started us
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
    loop = IndexingLoop(lambda reply: _send_reply(output, reply))
    while True:
        loop.run_task(tasks.get())


def _send_reply(stream: IO[bytes], reply: WriterReply) -> None:
    try:
        write_reply(stream, reply)
    except OSError:  # nobody is there any more
        os._exit(0)


def _read_tasks(stream: IO[bytes], tasks: "queue.SimpleQueue[IndexTask]") -> None:
    for line in stream:
        tasks.put(parse_task(line))
    os._exit(0)  # in the middle of a run, too: nobody waits for what comes of it


if __name__ == "__main__":
    main()
