"""Link many files in several processes: each is given all facts, and links a part of the files.

Not `multiprocessing`, see `coderag.ingestion.workers.worker_pool`. A process that ends early costs time, never edges: its
part is linked here.
"""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from coderag.codegraph.linking.linker import Link, LinkedFile, Linker
from coderag.codegraph.linking.program import Consulted, FactsRow, Program
from coderag.codegraph.linking.resolver import Resolver
from coderag.codegraph.linking.rules.table import RulesTable
from coderag.collector import collector_paused
from coderag.own_processes import python_command, python_environment

_WORTH_A_PROCESS = 1_500_000  # bytes of facts; about half a second of linking
_COMMAND = "from coderag.codegraph.linking.parallel import main; main()"


def link_files(program: Program, files: Sequence[int], *, processes: int) -> dict[int, LinkedFile]:
    """Return the edges that begin in some files.

    Args:
        program: All files.
        files: Those to link.
        processes: How many may do it, this one included.
    """
    parts = _parts(program, files, processes)
    if len(parts) < 2:
        return _link(program, files)
    rows = pickle.dumps([tuple(row) for row in program.rows], protocol=pickle.HIGHEST_PROTOCOL)
    with ThreadPoolExecutor(len(parts) - 1, "linking") as threads:
        elsewhere = [(part, threads.submit(_link_elsewhere, rows, part)) for part in parts[1:]]
        linked = _link(program, parts[0])
        for part, future in elsewhere:
            linked |= _received(future) or _link(program, part)
    return linked


def main() -> None:
    """Link what the input asks for, and write the edges to the output: what such a process runs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    rows, part = (pickle.load(sys.stdin.buffer) for _ in range(2))  # noqa: S301  # from our own process
    linked = _link(Program([FactsRow(*row) for row in rows]), part)
    told = {
        file: ([tuple(link) for link in one.links], one.consulted.files, one.consulted.keys)
        for file, one in linked.items()
    }
    sys.stdout.buffer.write(pickle.dumps(told, protocol=pickle.HIGHEST_PROTOCOL))
    sys.stdout.buffer.flush()
    os._exit(0)  # taking so many objects apart takes a while


def _link(program: Program, files: Sequence[int]) -> dict[int, LinkedFile]:
    with collector_paused():
        linker = Linker(Resolver(program, RulesTable(program)))
        return {file: linker.link(file) for file in files}


def _parts(program: Program, files: Sequence[int], processes: int) -> list[Sequence[int]]:
    """Return neighbouring files, which ask for much the same, in parts of about equal work."""
    sizes = [len(program.rows[file].body) for file in files]
    n_parts = max(1, min(processes, sum(sizes) // _WORTH_A_PROCESS))
    parts: list[list[int]] = [[] for _ in range(n_parts)]
    before, total = 0, max(1, sum(sizes))
    for file, size in zip(files, sizes, strict=True):
        parts[min(before * n_parts // total, n_parts - 1)].append(file)
        before += size
    return [part for part in parts if part]


def _link_elsewhere(rows: bytes, part: Sequence[int]) -> bytes:
    """Return what a process of its own makes of a part of the files; nothing if it fails."""
    try:
        process = subprocess.run(
            python_command(_COMMAND),
            input=rows + pickle.dumps(list(part)),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=python_environment(OPENBLAS_NUM_THREADS="1"),
            check=False,
        )
    except OSError:
        return b""
    return process.stdout if process.returncode == 0 else b""


def _received(future: "Future[bytes]") -> dict[int, LinkedFile]:
    told = future.result()
    if not told:
        return {}
    linked = pickle.loads(told)  # noqa: S301  # from our own process
    return {
        file: LinkedFile([Link(*link) for link in links], Consulted(files, keys))
        for file, (links, files, keys) in linked.items()
    }
