#!/usr/bin/env python3
"""Measure the memory of a first index: the private memory of this process and its workers, sampled while it runs.

usage: memory.py FOLDER [--json FILE]

FOLDER      a repository without an index; its `.coderag` is written there
--json      write the figures as JSON, too

Private memory counts neither shared libraries nor mapped files. On Linux only.
"""

import argparse
import json
import os
import sys
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter

from coderag import CodeRAG
from coderag.errors import CodeRAGError

_INTERVAL_S = 0.5


@dataclass
class Figures:
    """Figures of a run; memory in bytes.

    Attributes:
        peak_memory: Largest sum of all processes.
        at_peak: This process, then its workers, at that moment.
    """

    lines: int = 0
    chunks: int = 0
    edges: int = 0
    seconds: float = 0.0
    stages: dict[str, float] = field(default_factory=dict)
    peak_memory: int = 0
    at_peak: list[int] = field(default_factory=list)


def read_private_memory(pid: int) -> int:
    """Return the private memory of a process in bytes; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))


def list_children() -> list[int]:
    """Return the processes that this one started."""
    children: list[int] = []
    for task in Path(f"/proc/{os.getpid()}/task").iterdir():
        with suppress(OSError):  # the thread has ended meanwhile
            children += map(int, (task / "children").read_text(encoding="ascii").split())
    return children


def watch_memory(figures: Figures, ended: threading.Event) -> None:
    """Note the peak until the event is set."""
    while not ended.wait(_INTERVAL_S):
        sizes = [read_private_memory(pid) for pid in (os.getpid(), *list_children())]
        if sum(sizes) > figures.peak_memory:
            figures.peak_memory, figures.at_peak = sum(sizes), sizes


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if not Path("/proc/self/status").exists():
        sys.exit("error: this system does not tell the memory of processes")
    if (arguments.folder / ".coderag").exists():
        sys.exit(f"error: {arguments.folder} has an index: delete its .coderag first")
    figures, ended = Figures(), threading.Event()
    watch = threading.Thread(target=watch_memory, args=(figures, ended))
    watch.start()
    started = perf_counter()
    try:
        report = CodeRAG(arguments.folder).index()
    except CodeRAGError as error:
        sys.exit(f"error: {error}")
    finally:
        ended.set()
        watch.join()
    figures.seconds, figures.stages = perf_counter() - started, dict(report.seconds)
    figures.lines, figures.chunks, figures.edges = report.lines, report.chunks, report.edges
    print(f"{figures.lines:,} lines, {figures.chunks:,} chunks, {figures.edges:,} edges in {figures.seconds:.0f} s")
    print("; ".join(f"{stage} {seconds:.0f} s" for stage, seconds in figures.stages.items()))
    parts = " + ".join(f"{size / 1e6:,.0f}" for size in figures.at_peak)
    print(f"peak private memory {figures.peak_memory / 1e6:,.0f} MB ({parts})")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(asdict(figures), indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
