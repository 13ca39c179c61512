"""Worker processes that die of certain files, as they do of files that crash a grammar."""

import os
from pathlib import Path

import pytest

from coderag.ingestion.workers import worker_pool, worker_process

FAULTS = """
import os, signal
from pathlib import Path
from coderag.ingestion.workers import jobs, worker

worker._CPU_SECONDS_PER_MB = 1
parse_file = jobs.parse_file

def faulty(path, text, language, role, **options):
    fault, _, argument = text.removeprefix("# ").partition("\\n")[0].partition(" ")
    if fault == "dies-always":
        os.abort()
    if not options.get("failure"):
        if fault == "dies":
            os.abort()
        if fault == "never-ends":
            while True:
                pass
        if fault == "waits":
            signal.pause()
        if fault == "takes-memory":
            bytearray(1 << 40)
        if fault == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "killed-once" and not Path(argument).exists():
            Path(argument).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "starts":
            Path(argument).write_text(str(os.getpid()))
            signal.pause()
    return parse_file(path, text, language, role, **options)

jobs.parse_file = faulty
if folder := os.environ.get("WORKERS_STARTED"):
    (Path(folder) / str(os.getpid())).touch()
"""
"""What a worker runs first. A file that begins with ``# dies`` ends the process that parses it, and so on."""

COMMAND = f"{FAULTS}\nworker.main()"
"""What a faulty worker runs."""


def make_workers_faulty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have workers that this process starts die of certain files; those that it has already are put aside."""
    monkeypatch.setattr(worker_pool, "_pools", {})
    monkeypatch.setattr(worker_process, "_COMMAND", COMMAND)


def is_running(process: int) -> bool:
    """Whether a process has not ended; one that nobody has waited for yet has."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return not Path("/proc/self").exists()
