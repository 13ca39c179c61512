"""Memory that was freed goes back to the system, also where it lies below what is still used."""

import ctypes
import subprocess
import sys

import pytest

HOLDS_AND_FREES = """
from pathlib import Path
from coderag.system.process_memory import limit_heaps, trim_heap

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

limit_heaps()
before = resident()
held = [bytes(2_000) for _ in range(50_000)]
last, held = held[-1], None  # on top of what is free now
freed = resident()
trim_heap()
print(freed - before, resident() - before)
"""


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="there is no glibc"
)
def test_what_was_freed_is_given_back():
    done = subprocess.run([sys.executable, "-c", HOLDS_AND_FREES], capture_output=True, text=True, check=True)
    freed, given_back = map(int, done.stdout.split())
    assert freed > 50_000_000, "the system took it back by itself: this test shows nothing any more"
    assert given_back < freed / 5
