"""Link many files in several processes: each is given all facts, and takes one part of the files after the other.

A process that ends early costs time, never edges: what it did not link is linked here.
"""

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import IO, Any, Final

from coderag.codegraph.linking.linker import Link, LinkedFile, Linker
from coderag.codegraph.linking.program import Consulted, FactsRow, Program
from coderag.codegraph.linking.resolver import Resolver
from coderag.codegraph.linking.rules.table import RulesTable
from coderag.errors import CodeRAGError
from coderag.system.gc_tuning import collector_paused
from coderag.system.process_messages import Helpers, Lend, pack_message, read_message, write_message

_WORTH_A_PROCESS: Final = 50_000  # bytes of facts; 20 ms of linking
_PART: Final = 150_000  # bytes of facts, at most: so long one process may wait for another at the end
_PARTS_A_PROCESS: Final = 8  # at least
_IN_ADVANCE: Final = 2  # parts that a process has to do: it need not wait for the next one
_ASSIST = f"{__name__}:assist"

_logger = logging.getLogger(__name__)

_Parts = deque[list[int]]
_Told = dict[int, tuple[list[tuple[Any, ...]], set[int], set[str]]]
"""What a process says of some files: `LinkedFile` by file, as plain values."""


def link_files(program: Program, files: Sequence[int], helpers: Helpers | None = None) -> dict[int, LinkedFile]:
    """Return the edges that begin in some files.

    Args:
        program: All files.
        files: Those to link.
        helpers: Processes that may do it too.
    """
    sizes = [len(program.rows[file].body) for file in files]
    total = sum(sizes)
    processes = min(1 + helpers.number, total // _WORTH_A_PROCESS) if helpers else 1
    linked: dict[int, LinkedFile] = {}
    with _linker(program) as linker:
        if helpers and processes > 1:
            parts = _parts(files, sizes, min(_PART, total // (_PARTS_A_PROCESS * processes)))
            linked = _link_together(linker, program, parts, Helpers(processes - 1, helpers.lend))
        return {file: linked[file] if file in linked else _linked(linker, program, file) for file in files}


def assist(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Link for another process: it sends all facts, then one part after the other, and None in the end."""
    program = Program([FactsRow(*row) for row in read_message(requests)])
    with _linker(program) as linker:
        while (part := read_message(requests)) is not None:
            write_message(answers, {file: _told(_linked(linker, program, file)) for file in part})


@contextmanager
def _linker(program: Program) -> Iterator[Linker]:
    resolver = Resolver(program, RulesTable(program))
    with collector_paused():
        try:
            yield Linker(resolver)
        finally:
            resolver.let_go()


def _linked(linker: Linker, program: Program, file: int) -> LinkedFile:
    """Return the edges of a file; none of one whose names lead to each other without end, which others need not suffer from."""
    try:
        return linker.link(file)
    except RecursionError:
        _logger.warning(
            "The names of %s lead to each other without end: the code graph leaves it out.", program.rows[file].path
        )
        return LinkedFile([], Consulted())


def _link_together(linker: Linker, program: Program, parts: _Parts, helpers: Helpers) -> dict[int, LinkedFile]:
    """Return the edges of the files of some parts, linked here and by other processes; those of some miss if one fails."""
    linked: dict[int, LinkedFile] = {}
    rows = pack_message([tuple(row) for row in program.rows])
    with ThreadPoolExecutor(helpers.number, "linking") as threads:
        elsewhere = [threads.submit(_link_elsewhere, rows, parts, helpers.lend) for _ in range(helpers.number)]
        try:
            for part in _taken(parts):
                linked |= {file: _linked(linker, program, file) for file in part}
        finally:
            parts.clear()  # whoever interrupts does not wait for the others to do it all
    for future in elsewhere:
        linked |= future.result()
    return linked


def _parts(files: Sequence[int], sizes: Sequence[int], least: int) -> _Parts:
    """Return neighbouring files, which ask for much the same, in parts of at least so many bytes of facts."""
    parts: _Parts = deque()
    size = least
    for file, more in zip(files, sizes, strict=True):
        if size >= least:
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


def _link_elsewhere(rows: bytes, parts: _Parts, lend: Lend) -> dict[int, LinkedFile]:
    """Return what another process makes of the parts that it takes; fewer of them if it fails."""
    linked: dict[int, LinkedFile] = {}
    with suppress(OSError, EOFError, CodeRAGError), lend(_ASSIST) as (requests, answers):
        requests.write(rows)
        n_asked = 0
        for part in _taken(parts, last=True):
            write_message(requests, part)
            n_asked += 1
            if n_asked == _IN_ADVANCE:
                linked |= _received(answers)
                n_asked -= 1
        write_message(requests, None)
        for _ in range(n_asked):
            linked |= _received(answers)
    return linked


def _told(one: LinkedFile) -> tuple[list[tuple[Any, ...]], set[int], set[str]]:
    return [tuple(link) for link in one.links], one.consulted.files, one.consulted.keys


def _received(stream: IO[bytes]) -> dict[int, LinkedFile]:
    told: _Told = read_message(stream)
    return {
        file: LinkedFile(list(map(Link._make, links)), Consulted(files, keys))
        for file, (links, files, keys) in told.items()
    }
