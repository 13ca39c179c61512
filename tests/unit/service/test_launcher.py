"""The service is ended, and nothing else."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from filelock import FileLock

from coderag import __version__
from coderag.service.discovery import ensure_runtime_folder, remove_stale, write_address
from coderag.service.environment import compute_fingerprint
from coderag.service.launcher import stop_service
from coderag.service.service_address import ServiceAddress
from tests.unit.service.answering import Answering


@pytest.fixture
def bystander() -> Iterator["subprocess.Popen[bytes]"]:
    """Return a process that has nothing to do with the service."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.communicate(timeout=20)


def test_a_process_that_got_the_number_of_a_killed_service_is_not_ended(bystander: "subprocess.Popen[bytes]") -> None:
    lock = FileLock(ensure_runtime_folder() / "service.lock", thread_local=False)

    def starting(_: bytes) -> bytes:
        """Do what another service does that starts right now, while it is asked whether the killed one lives."""
        remove_stale()
        lock.release()
        return b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"

    program = Answering(starting)
    stale = ServiceAddress(bystander.pid, __version__, program.address, "", "token", "", compute_fingerprint())
    with lock:
        write_address(stale)
        stop_service()
    program.close()
    assert bystander.poll() is None
