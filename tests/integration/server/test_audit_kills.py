"""Writers of the audit record that are killed: nothing that was acknowledged is lost, and nothing looks like tampering."""

import multiprocessing
import os
import random
import signal
import threading
import time
from pathlib import Path

import pytest

from coderag.server.audit.audit_log import COUNTER_FILE_NAME, AuditLog
from coderag.server.sealing import MasterKey
from coderag.server.settings import AuditSettings
from coderag.server.storage.database import Database
from coderag.server.storage.models import ServerTable, Team

pytestmark = [pytest.mark.integration, pytest.mark.slow]

WRITERS, THREADS = 3, 4
KILLS = int(os.environ.get("CODERAG_TEST_KILLS", "4"))
KEY = bytes(range(32))
START_S = 60


def open_log(url, folder):
    return AuditLog(Database(url), MasterKey(KEY), AuditSettings(), Path(folder) / COUNTER_FILE_NAME)


def write_forever(url, folder, number):
    """Record, in some threads with a transaction, and note each entry when it is acknowledged."""
    log = open_log(url, folder)
    notes = os.open(Path(folder) / f"acknowledged-{number}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def write(thread):
        entry = 0
        while True:
            entry += 1
            name = f"{number}/{thread}/{entry}"
            if thread:
                log.record(None, name)
            else:
                with log._database.begin() as session:
                    session.add(Team(name=name))
                    log.record(None, name, session=session)
            os.write(notes, f"{name}\n".encode())

    for thread in range(1, THREADS):
        threading.Thread(target=write, args=(thread,), daemon=True).start()
    write(0)


def test_killed_writers_lose_nothing_and_break_nothing(database_url, tmp_path):
    log = open_log(database_url, tmp_path)
    ServerTable.metadata.create_all(log._database.engine)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["coderag.server.audit.audit_log"])
    choice, writers, lags = random.Random(30), [], []

    def start(number):
        writer = context.Process(target=write_forever, args=(database_url, str(tmp_path), number), daemon=True)
        writer.start()
        notes, end = tmp_path / f"acknowledged-{number}", time.monotonic() + START_S
        while not (notes.exists() and notes.stat().st_size) and time.monotonic() < end:
            time.sleep(0.005)
        return writer

    try:
        writers = [start(number) for number in range(WRITERS)]
        for kill in range(KILLS):
            victim = choice.randrange(WRITERS)
            time.sleep(choice.random() * 0.1)
            os.kill(writers[victim].pid, signal.SIGKILL)
            writers[victim].join()
            report = log.verify()
            assert report.is_intact, (report.broken_sequence, report.reason)
            lags.append(report.last_sequence - report.counter_sequence)
            writers[victim] = start(WRITERS + kill)
    finally:
        for writer in writers:
            writer.kill()
            writer.join()
    report = log.verify()
    assert report.is_intact
    recorded = {entry.action for entry in log.export()}
    acknowledged = {line for path in tmp_path.glob("acknowledged-*") for line in path.read_text().splitlines()}
    assert len(acknowledged) > KILLS
    assert acknowledged <= recorded
    assert min(lags) >= 0
    log.record(None, "afterwards")
    report = log.verify()
    assert report.last_sequence == report.counter_sequence
    log._database.close()
