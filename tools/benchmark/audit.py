#!/usr/bin/env python3
"""Measure how many audit entries a second threads and processes record, and how fast the record is verified.

usage: audit.py [--database URL] [--seconds 5]

--database  an empty database, such as postgresql://USER@127.0.0.1/NAME; by default a new SQLite file
--seconds   seconds of each measurement

Each entry is on disk before the next one of its thread begins. Times depend on the disk, the machine and its load, so
compare figures of one run only.
"""

import argparse
import multiprocessing
import tempfile
import threading
import time
from multiprocessing.queues import Queue
from pathlib import Path

from coderag.server.access.principal import Principal
from coderag.server.access.roles import Role
from coderag.server.audit.audit_log import COUNTER_FILE_NAME, AuditLog
from coderag.server.sealing import MasterKey
from coderag.server.settings import AuditSettings
from coderag.server.storage.database import Database
from coderag.server.storage.models import ServerTable

CASES = ((1, 1), (1, 64), (2, 32), (4, 16))
"""Processes, and threads of each."""

CALLER = Principal("a" * 32, "Ada Lovelace", Role.MEMBER, credential_id="b" * 32, address="192.0.2.7")
DETAIL = {"route": "POST /search", "question": f"hmac:{'0' * 32}"}


def open_log(url: str, folder: str) -> AuditLog:
    """Open the record of a folder."""
    return AuditLog(Database(url), MasterKey(bytes(32)), AuditSettings(), Path(folder) / COUNTER_FILE_NAME)


def record(url: str, folder: str, n_threads: int, seconds: float, results: "Queue[tuple[int, float]]") -> None:
    """Record in threads until the time is over, and put the number of entries and the slowest one into a queue."""
    log, end = open_log(url, folder), time.monotonic() + seconds
    counts, slowest = [0] * n_threads, [0.0] * n_threads

    def record_until_end(number: int) -> None:
        while (start := time.monotonic()) < end:
            log.record(CALLER, "repository.read", repository_id="c" * 32, detail=DETAIL)
            counts[number] += 1
            slowest[number] = max(slowest[number], time.monotonic() - start)

    threads = [threading.Thread(target=record_until_end, args=(number,)) for number in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    results.put((sum(counts), max(slowest)))


def measure(url: str, n_processes: int, n_threads: int, seconds: float) -> None:
    """Measure a case in a new record, and print it."""
    with tempfile.TemporaryDirectory() as folder:
        url = url or f"sqlite:///{folder}/server.sqlite"
        database = Database(url)
        ServerTable.metadata.drop_all(database.engine)
        ServerTable.metadata.create_all(database.engine)
        database.close()
        context = multiprocessing.get_context("spawn")
        results: Queue[tuple[int, float]] = context.Queue()
        arguments = (url, folder, n_threads, seconds, results)
        processes = [context.Process(target=record, args=arguments) for _ in range(n_processes)]
        for process in processes:
            process.start()
        counts = [results.get() for _ in processes]
        for process in processes:
            process.join()
        start = time.monotonic()
        report = open_log(url, folder).verify()
        verify_s = time.monotonic() - start
        total, slowest = sum(count for count, _ in counts), max(time_s for _, time_s in counts)
        state = "intact" if report.is_intact else f"BROKEN at {report.broken_sequence}: {report.reason}"
        print(
            f"{n_processes} processes, {n_threads} threads each: {total / seconds:,.0f} entries/s, "
            f"slowest {slowest * 1_000:,.0f} ms; verified {report.entries / verify_s:,.0f} entries/s, {state}"
        )


def main() -> None:
    """Measure all cases."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--database", default="", metavar="URL")
    parser.add_argument("--seconds", type=float, default=5.0)
    arguments = parser.parse_args()
    for n_processes, n_threads in CASES:
        measure(arguments.database, n_processes, n_threads, arguments.seconds)


if __name__ == "__main__":
    main()
