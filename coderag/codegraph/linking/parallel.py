"""Link many files in several processes: each is given all facts, and takes one part of the files after the other.

Not `multiprocessing`, see `coderag.ingestion.workers.worker_pool`. A process that ends early costs time, never edges: what it
did not link is linked here.
"""

import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import IO, Any, Final, cast

from coderag.codegraph.linking.linker import Link, LinkedFile, Linker
from coderag.codegraph.linking.program import Consulted, FactsRow, Program
from coderag.codegraph.linking.resolver import Resolver
from coderag.codegraph.linking.rules.table import RulesTable
from coderag.collector import collector_paused
from coderag.own_processes import python_command, python_environment
from coderag.process_messages import pack_message, read_message, write_message

_WORTH_A_PROCESS: Final = 1_500_000  # bytes of facts; about half a second of linking
_PART: Final = 150_000  # bytes of facts: so long one process may wait for another at the end
_IN_ADVANCE: Final = 2  # parts that a process has to do: it need not wait for the next one
_COMMAND = "from coderag.codegraph.linking.parallel import main; main()"

_Parts = deque[list[int]]
_Told = dict[int, tuple[list[tuple[Any, ...]], set[int], set[str]]]
"""What a process says of some files: `LinkedFile` by file, as plain values."""


def link_files(program: Program, files: Sequence[int], *, processes: int) -> dict[int, LinkedFile]:
    """Return the edges that begin in some files.

    Args:
        program: All files.
        files: Those to link.
        processes: How many may do it, this one included.
    """
    sizes = [len(program.rows[file].body) for file in files]
    others = min(processes, sum(sizes) // _WORTH_A_PROCESS) - 1
    linked: dict[int, LinkedFile] = {}
    with _linker(program) as linker:
        if others > 0:
            linked = _link_together(linker, program, _parts(files, sizes), others)
        return {file: linked[file] if file in linked else linker.link(file) for file in files}


def main() -> None:
    """Link what the input asks for, part by part, and write the edges to the output: what such a process runs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    rows = read_message(sys.stdin.buffer)
    with suppress(EOFError), _linker(Program([FactsRow(*row) for row in rows])) as linker:
        while True:
            part = read_message(sys.stdin.buffer)
            write_message(sys.stdout.buffer, {file: _told(linker.link(file)) for file in part})


@contextmanager
def _linker(program: Program) -> Iterator[Linker]:
    resolver = Resolver(program, RulesTable(program))
    with collector_paused():
        try:
            yield Linker(resolver)
        finally:
            resolver.let_go()


def _link_together(linker: Linker, program: Program, parts: _Parts, others: int) -> dict[int, LinkedFile]:
    """Return the edges of the files of some parts, linked here and by other processes; those of some miss if one fails."""
    linked: dict[int, LinkedFile] = {}
    rows = pack_message([tuple(row) for row in program.rows])
    with ThreadPoolExecutor(others, "linking") as threads:
        elsewhere = [threads.submit(_link_elsewhere, rows, parts) for _ in range(others)]
        try:
            for part in _taken(parts):
                linked |= {file: linker.link(file) for file in part}
        finally:
            parts.clear()  # whoever interrupts does not wait for the others to do it all
    for future in elsewhere:
        linked |= future.result()
    return linked


def _parts(files: Sequence[int], sizes: Sequence[int]) -> _Parts:
    """Return neighbouring files, which ask for much the same, in parts of about equal work."""
    parts: _Parts = deque()
    size = _PART
    for file, more in zip(files, sizes, strict=True):
        if size >= _PART:
            parts.append([])
            size = 0
        parts[-1].append(file)
        size += more
    return parts


def _taken(parts: _Parts, *, last: bool = False) -> Iterator[list[int]]:
    """Yield parts until there are no more; others take some too, the last ones first."""
    with suppress(IndexError):
        while True:
            yield parts.pop() if last else parts.popleft()


def _link_elsewhere(rows: bytes, parts: _Parts) -> dict[int, LinkedFile]:
    """Return what a process of its own makes of the parts that it takes; fewer of them if it fails."""
    linked: dict[int, LinkedFile] = {}
    with suppress(OSError, EOFError), _linking_process() as process:
        to_it, from_it = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
        to_it.write(rows)
        n_asked = 0
        for part in _taken(parts, last=True):
            write_message(to_it, part)
            n_asked += 1
            if n_asked == _IN_ADVANCE:
                linked |= _received(from_it)
                n_asked -= 1
        to_it.close()
        for _ in range(n_asked):
            linked |= _received(from_it)
    return linked


@contextmanager
def _linking_process() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(
        python_command(_COMMAND),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=python_environment(OPENBLAS_NUM_THREADS="1"),
    ) as process:
        try:
            yield process
        finally:
            process.kill()  # it would take all it knows apart


def _told(one: LinkedFile) -> tuple[list[tuple[Any, ...]], set[int], set[str]]:
    return [tuple(link) for link in one.links], one.consulted.files, one.consulted.keys


def _received(stream: IO[bytes]) -> dict[int, LinkedFile]:
    told: _Told = read_message(stream)
    return {
        file: LinkedFile([Link(*link) for link in links], Consulted(files, keys))
        for file, (links, files, keys) in told.items()
    }
