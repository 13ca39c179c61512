"""Linking of many files in several processes: each has all facts and takes one batch of files at a time.

A worker that fails costs time, never edges: the files that it did not link are linked here.
"""

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import IO, Final

from coderag.codegraph.linking.linked_files import LinkedFiles
from coderag.codegraph.linking.linker import LinkedFile, Linker
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


def link_files(program: Program, files: Sequence[int], helpers: HelperProcesses | None = None) -> LinkedFiles:
    """Return the edges that start in some files.

    Args:
        program: All files.
        files: Files to link.
        helpers: Worker processes that may share the work.
    """
    sizes = [len(program.rows[file].body) for file in files]
    total_bytes = sum(sizes)
    processes = min(1 + helpers.max_processes, total_bytes // _MIN_BYTES_PER_PROCESS) if helpers else 1
    linked = LinkedFiles()
    with _open_linker(program) as linker:
        if helpers and processes > 1:
            batches = _split_batches(
                files, sizes, min(_MAX_BATCH_BYTES, total_bytes // (_MIN_BATCHES_PER_PROCESS * processes))
            )
            linked = _link_in_parallel(linker, program, batches, HelperProcesses(processes - 1, helpers.lend))
        linked_files = linked.files
        linked.extend(_link_batch(linker, program, [file for file in files if file not in linked_files]))
    return linked


def assist(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Link for another process, which sends all facts, then batch after batch, and finally None."""
    program = Program([FactsRow(*row) for row in read_message(requests)])
    with _open_linker(program) as linker:
        while (batch := read_message(requests)) is not None:
            write_message(replies, _link_batch(linker, program, batch))


@contextmanager
def _open_linker(program: Program) -> Iterator[Linker]:
    resolver = Resolver(program, RulesTable(program))
    with pause_gc():
        try:
            yield Linker(resolver)
        finally:
            resolver.release()


def _link_batch(linker: Linker, program: Program, files: Sequence[int]) -> LinkedFiles:
    linked = LinkedFiles()
    for file in files:
        linked.add(file, _link_file(linker, program, file))
        linker.trim()
    return linked


def _link_file(linker: Linker, program: Program, file: int) -> LinkedFile:
    """Return the edges of a file; none if its names recurse endlessly, so that other files are not affected."""
    try:
        return linker.link(file)
    except RecursionError:
        _logger.warning(
            "Names in %s refer to each other endlessly: the code graph leaves the file out.", program.rows[file].path
        )
        return LinkedFile([], Dependencies())


def _link_in_parallel(linker: Linker, program: Program, batches: _BatchQueue, helpers: HelperProcesses) -> LinkedFiles:
    """Return the edges of the files in the batches, linked here and by workers; those of a failed worker are missing."""
    linked = LinkedFiles()
    packed_rows = pack_message([tuple(row) for row in program.rows])
    with ThreadPoolExecutor(helpers.max_processes, "linking") as threads:
        remote_runs = [
            threads.submit(_link_remotely, packed_rows, batches, helpers.lend) for _ in range(helpers.max_processes)
        ]
        try:
            for batch in _take_batches(batches):
                linked.extend(_link_batch(linker, program, batch))
        finally:
            batches.clear()  # after an interrupt the workers stop early
    for future in remote_runs:
        linked.extend(future.result())
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


def _link_remotely(packed_rows: bytes, batches: _BatchQueue, lend: ProcessLender) -> LinkedFiles:
    """Return the edges of the batches that a worker takes; fewer of them if it fails."""
    linked = LinkedFiles()
    with suppress(OSError, EOFError, CodeRAGError), lend(_ASSIST_ENTRY_POINT) as (requests, replies):
        requests.write(packed_rows)
        pending_count = 0
        for batch in _take_batches(batches, from_end=True):
            write_message(requests, batch)
            pending_count += 1
            if pending_count == _MAX_QUEUED_BATCHES:
                linked.extend(_read_reply(replies))
                pending_count -= 1
        write_message(requests, None)
        for _ in range(pending_count):
            linked.extend(_read_reply(replies))
    return linked


def _read_reply(stream: IO[bytes]) -> LinkedFiles:
    linked: LinkedFiles = read_message(stream)
    return linked
