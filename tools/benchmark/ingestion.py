#!/usr/bin/env python3
"""Measure indexing on your own repository: the cost of changes, and the growth of time and memory.

usage: ingestion.py SOURCE [--files 2000] [--million] [--rounds 3] [--json FILE]

SOURCE      a folder with source code; it is copied and never changed
--files     number of its files to index
--million   also index 250,000, 500,000 and 1,000,000 lines, copies of SOURCE under other names

Each figure is the median of the rounds in a warm process, followed by the minimum. Times depend on the machine and its
load, so compare figures of one run only. Peak memory is the total of this process and its workers, on Linux only.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from coderag import CodeRAG, IndexReport
from coderag.ingestion.files.scanner import check_root, scan
from coderag.ingestion.workers import worker_pool

GIT = ("git", "-c", "user.name=benchmark", "-c", "user.email=benchmark@localhost", "-c", "commit.gpgsign=false")


class BenchmarkRepository:
    """Git repository with an index and a copy of some files."""

    def __init__(self, folder: Path, files: list[tuple[Path, str]]) -> None:
        self.root = folder
        self.paths = [path for _, path in files]
        for source, path in files:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, folder / path)
        self.run_git("init", "--quiet", "--initial-branch=main")
        self.commit()
        self.rag = CodeRAG(folder)

    def run_git(self, *arguments: str) -> None:
        """Run git in the repository."""
        subprocess.run([*GIT, *arguments], cwd=self.root, check=True, stdout=subprocess.DEVNULL)

    def commit(self) -> None:
        """Commit everything, so that a branch can be switched."""
        self.run_git("add", "--all")
        self.run_git("commit", "--quiet", "--message", "benchmark")

    def edit(self, paths: list[str]) -> None:
        """Append a unique line to each file."""
        for path in paths:
            with (self.root / path).open("a", encoding="utf-8") as file:
                file.write(f"\nedited_{uuid.uuid4().hex}\n")


def measure_run(action: Callable[[], IndexReport]) -> tuple[float, IndexReport]:
    """Return the seconds of an indexing run, and its report."""
    started = time.perf_counter()
    report = action()
    return time.perf_counter() - started, report


def run_scenarios(place: BenchmarkRepository) -> Iterator[tuple[str, float, IndexReport]]:
    """Run each scenario and yield its name, seconds and report; later scenarios keep the edits."""
    rag, paths = place.rag, place.paths
    yield "full rebuild", *measure_run(lambda: rag.index(full=True))
    yield "no change", *measure_run(rag.index)
    place.edit(paths[:1])
    yield "one file changed", *measure_run(rag.index)
    tenth = paths[:: max(1, len(paths) // (len(paths) // 10 or 1))]
    place.edit(tenth)
    yield "a tenth of the files changed", *measure_run(rag.index)
    place.run_git("checkout", "--quiet", "-b", "other")
    place.commit()
    place.run_git("checkout", "--quiet", "main")
    yield "branch switched", *measure_run(rag.index)
    place.run_git("checkout", "--quiet", "other")
    yield "and back", *measure_run(rag.index)
    place.run_git("checkout", "--quiet", "main")
    place.run_git("branch", "--quiet", "-D", "other")
    rag.index()
    folder = find_largest_folder(paths)
    (place.root / folder).rename(place.root / f"{folder}-renamed")
    yield "largest folder renamed", *measure_run(rag.index)
    (place.root / f"{folder}-renamed").rename(place.root / folder)
    rag.index()
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "coderag", "index", "-C", str(place.root)], check=True, capture_output=True)
    yield "no change, as a command", time.perf_counter() - started, rag.index()


def find_largest_folder(paths: list[str]) -> str:
    """Return the top-level folder with the most files."""
    tops = [path.split("/")[0] for path in paths if "/" in path]
    return max(set(tops), key=tops.count)


def read_peak_memory() -> int:
    """Return the summed peak resident size of this process and its workers in bytes; 0 if unknown."""
    pids = [os.getpid()]
    pids += [worker._process.pid for pool in worker_pool._pools.values() for worker in pool._idle]
    total = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
        except OSError:
            return 0
        total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    return total


def repeat_files(files: list[tuple[Path, str]], lines: int) -> Iterator[tuple[Path, str]]:
    """Yield copies of the files under other folders until they have a number of lines."""
    counted = 0
    for copy in range(1_000):
        for source, path in files:
            if counted >= lines:
                return
            counted += source.read_bytes().count(b"\n")
            yield source, f"copy{copy}/{path}"


def measure_growth(files: list[tuple[Path, str]], lines: int) -> dict[str, float]:
    """Return seconds, lines, chunks and peak memory of indexing a number of lines, in a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        for source, path in repeat_files(files, lines):
            (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
            # A unique line, so that no copy hits the parse cache of another.
            (Path(folder) / path).write_bytes(source.read_bytes() + f"\n{uuid.uuid4().hex}\n".encode())
        done = subprocess.run(
            [sys.executable, __file__, folder, "--index-only"], check=True, stdout=subprocess.PIPE, text=True
        )
        measured: dict[str, float] = json.loads(done.stdout)
        return measured


def index_only(folder: Path) -> None:
    """Index a folder and print its time and memory as JSON."""
    seconds, report = measure_run(CodeRAG(folder).index)
    print(json.dumps({"seconds": seconds, "lines": report.lines, "chunks": report.chunks, "peak": read_peak_memory()}))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--files", type=int, default=2_000)
    parser.add_argument("--million", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--index-only", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.index_only:
        index_only(arguments.source)
        return
    source = check_root(arguments.source)
    files = [(source / candidate.path, candidate.path) for candidate in scan(source).candidates]
    results: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        place = BenchmarkRepository(Path(folder) / "repository", files[: arguments.files])
        place.rag.index()
        laps: dict[str, list[tuple[float, IndexReport]]] = {}
        for _ in range(arguments.rounds):
            for name, seconds, report in run_scenarios(place):
                laps.setdefault(name, []).append((seconds, report))
        print(f"{len(place.paths):,} files, {laps['full rebuild'][0][1].lines:,} lines, {os.cpu_count()} cores")
        for name, rounds in laps.items():
            times = [seconds for seconds, _ in rounds]
            report = rounds[-1][1]
            what = ", ".join(
                f"{value:,} {kind}"
                for kind in ("added", "changed", "removed", "renamed")
                if (value := getattr(report, kind))
            )
            parsed = "parse" in report.worker_seconds
            print(
                f"{name:32}{statistics.median(times):8.3f} s  (least {min(times):.3f})  "
                f"{what or 'nothing changed'}{'' if parsed else ', nothing parsed'}"
            )
            results[name] = {"median_s": statistics.median(times), "min_s": min(times)}
    if arguments.million:
        for lines in (250_000, 500_000, 1_000_000):
            grew = measure_growth(files, lines)
            rate = grew["lines"] / grew["seconds"]
            print(
                f"{int(grew['lines']):>11,} lines{grew['seconds']:10.2f} s  {rate:,.0f} lines/s  "
                f"{int(grew['chunks']):,} chunks  peak {grew['peak'] / 1e6:,.0f} MB"
            )
            results[f"{lines} lines"] = grew
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
