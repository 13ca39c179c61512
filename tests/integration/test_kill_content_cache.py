"""A process that is killed while it fills the cache leaves it usable: what was put is there, and every value is whole."""

import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from coderag.stores.content_cache import FILE_NAME, ContentCache

KILLS = 10
MOST_PUTS = 15

# A value is its key's number, over and over: whatever else comes back is not whole. The loop prunes as well.
PUTTING = """
import sys
from pathlib import Path
from coderag.stores.content_cache import ContentCache
with ContentCache(Path(sys.argv[1]), limit_bytes=1 << 30) as cache:
    number = int(sys.argv[2])
    while True:
        cache.get("n", [f"{number - 2}-0"])
        cache.put("n", {f"{number}-{part}": b"%d;" % number * 9_000 for part in range(20)})
        if number % 3 == 0:
            cache.prune()
        print(number, flush=True)
        number += 1
"""


@pytest.mark.integration
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_process_killed_at_any_moment_leaves_whole_values(tmp_path, caplog):
    rng = random.Random(7)
    stored = 0
    for _ in range(KILLS):
        command = [sys.executable, "-c", PUTTING, str(tmp_path), str(stored + 1)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            for _ in range(rng.randint(1, MOST_PUTS)):
                stored = int(child.stdout.readline())
            child.send_signal(signal.SIGKILL)
            stored = max([stored, *map(int, child.stdout)])
        with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        with ContentCache(tmp_path, limit_bytes=1 << 30) as cache:
            for number in range(1, stored + 2):
                found = cache.get("n", [f"{number}-{part}" for part in range(20)])
                assert len(found) in ({20} if number <= stored else {0, 20})
                assert set(found.values()) <= {b"%d;" % number * 9_000}
    assert caplog.messages == []
