"""Linking of many files in several processes: each has all facts and takes one batch of files at a time.

A worker that fails costs time, never edges: the files that it did not link are linked here.
"""

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import IO, Any, Final

from coderag.codegraph.linking.linker import Link, LinkedFile, Linker
from coderag.codegraph.linking.program import Dependencies, FactsRow, Program
from coderag.codegraph.linking.resolver import Resolver
from coderag.codegraph.linking.rules.rules_table import RulesTable
from coderag.errors import CodeRAGError
from coderag.system.gc_tuning import pause_gc
from coderag.system.process_messages import HelperProcesses, ProcessLender, pack_message, read_message, write_message

_MIN_BYTES_PER_PROCESS: Final = 50_000  # of facts; 20 ms of linking
_MAX_BATCH_BYTES: Final = 150_000  # of facts; bounds the wait for the last worker
_MIN_BATCHES_PER_PROCESS: Final = 8
_MAX_QUEUED_BATCHES: Final = 2  # per worker, so that it never waits for the next batch
_ASSIST_ENTRY_POINT = f"{__name__}:assist"

_logger = logging.getLogger(__name__)

_BatchQueue = deque[list[int]]
_LinkReply = dict[int, tuple[list[tuple[Any, ...]], set[int], set[str]]]
"""Reply of a worker: `LinkedFile` by file, as plain values."""


def link_files(program: Program, files: Sequence[int], helpers: HelperProcesses | None = None) -> dict[int, LinkedFile]:
    """Return the edges that start in some files.

    Args:
        program: All files.
        files: Files to link.
        helpers: Worker processes that may share the work.
    """
    sizes = [len(program.rows[file].body) for file in files]
    total_bytes = sum(sizes)
    processes = min(1 + helpers.max_processes, total_bytes // _MIN_BYTES_PER_PROCESS) if helpers else 1
    linked: dict[int, LinkedFile] = {}
    with _open_linker(program) as linker:
        if helpers and processes > 1:
            batches = _split_batches(
                files, sizes, min(_MAX_BATCH_BYTES, total_bytes // (_MIN_BATCHES_PER_PROCESS * processes))
            )
            linked = _link_in_parallel(linker, program, batches, HelperProcesses(processes - 1, helpers.lend))
        return {file: linked[file] if file in linked else _link_file(linker, program, file) for file in files}


def assist(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Link for another process, which sends all facts, then batch after batch, and finally None."""
    program = Program([FactsRow(*row) for row in read_message(requests)])
    with _open_linker(program) as linker:
        while (batch := read_message(requests)) is not None:
            write_message(replies, {file: _to_reply(_link_file(linker, program, file)) for file in batch})


@contextmanager
def _open_linker(program: Program) -> Iterator[Linker]:
    resolver = Resolver(program, RulesTable(program))
    with pause_gc():
        try:
            yield Linker(resolver)
        finally:
            resolver.release()


def _link_file(linker: Linker, program: Program, file: int) -> LinkedFile:
    """Return the edges of a file; none if its names recurse endlessly, so that other files are not affected."""
    try:
        return linker.link(file)
    except RecursionError:
        _logger.warning(
            "Names in %s refer to each other endlessly: the code graph leaves the file out.", program.rows[file].path
        )
        return LinkedFile([], Dependencies())


def _link_in_parallel(
    linker: Linker, program: Program, batches: _BatchQueue, helpers: HelperProcesses
) -> dict[int, LinkedFile]:
    """Return the edges of the files in the batches, linked here and by workers; those of a failed worker are missing."""
    linked: dict[int, LinkedFile] = {}
    packed_rows = pack_message([tuple(row) for row in program.rows])
    with ThreadPoolExecutor(helpers.max_processes, "linking") as threads:
        remote_runs = [
            threads.submit(_link_remotely, packed_rows, batches, helpers.lend) for _ in range(helpers.max_processes)
        ]
        try:
            for batch in _take_batches(batches):
                linked |= {file: _link_file(linker, program, file) for file in batch}
        finally:
            batches.clear()  # after an interrupt the workers stop early
    for future in remote_runs:
        linked |= future.result()
    return linked


def _split_batches(files: Sequence[int], sizes: Sequence[int], min_bytes: int) -> _BatchQueue:
    """Return batches of neighbouring files, which share most of their queries, of at least `min_bytes` of facts each."""
    batches: _BatchQueue = deque()
    batch_bytes = min_bytes
    for file, file_bytes in zip(files, sizes, strict=True):
        if batch_bytes >= min_bytes:
            batches.append([])
            batch_bytes = 0
        batches[-1].append(file)
        batch_bytes += file_bytes
    return batches


def _take_batches(batches: _BatchQueue, *, from_end: bool = False) -> Iterator[list[int]]:
    """Yield batches until the queue is empty; workers take from its end."""
    with suppress(IndexError):
        while True:
            yield batches.pop() if from_end else batches.popleft()


def _link_remotely(packed_rows: bytes, batches: _BatchQueue, lend: ProcessLender) -> dict[int, LinkedFile]:
    """Return the edges of the batches that a worker takes; fewer of them if it fails."""
    linked: dict[int, LinkedFile] = {}
    with suppress(OSError, EOFError, CodeRAGError), lend(_ASSIST_ENTRY_POINT) as (requests, replies):
        requests.write(packed_rows)
        pending_count = 0
        for batch in _take_batches(batches, from_end=True):
            write_message(requests, batch)
            pending_count += 1
            if pending_count == _MAX_QUEUED_BATCHES:
                linked |= _read_reply(replies)
                pending_count -= 1
        write_message(requests, None)
        for _ in range(pending_count):
            linked |= _read_reply(replies)
    return linked


def _to_reply(linked_file: LinkedFile) -> tuple[list[tuple[Any, ...]], set[int], set[str]]:
    return [tuple(link) for link in linked_file.links], linked_file.dependencies.files, linked_file.dependencies.keys


def _read_reply(stream: IO[bytes]) -> dict[int, LinkedFile]:
    reply: _LinkReply = read_message(stream)
    return {
        file: LinkedFile(list(map(Link._make, links)), Dependencies(files, keys))
        for file, (links, files, keys) in reply.items()
    }
