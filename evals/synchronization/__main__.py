"""Kill a synchronisation of many items at random, and compare the mirror with a clean one.

python -m evals.synchronization [--items 10000] [--kills 20] [--page 100]
"""

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from coderag.sources.mirror import ItemMirror
from coderag.sources.synchronization import SyncOptions, synchronize
from tests.support.item_server import ItemServer, ItemServerSource

_KEY = "k" * 20
_WORDS = (
    "login", "session", "cache", "index", "token", "retry", "queue", "page", "ticket", "release", "error", "timeout", "user",
    "import", "build", "parse",
)  # fmt: skip

_CHILD = """
import sys
from pathlib import Path
from coderag.models.redaction.redactor import get_redactor
from coderag.sources.mirror import ItemMirror
from coderag.sources.synchronization import synchronize
from tests.support.item_server import ItemServerSource
get_redactor()
synchronize("tracker", ItemServerSource(sys.argv[2], sys.argv[3]), ItemMirror(Path(sys.argv[1])))
"""


def main() -> int:
    """Run the measurement; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--page", type=int, default=100)
    options = parser.parse_args()
    rng = random.Random(29)
    with tempfile.TemporaryDirectory() as folder, ItemServer(_KEY) as server:
        server.page_size = options.page
        for number in range(options.items):
            server.add_item(f"Ticket {number}", _make_text(rng))
        print(f"{options.items:,} items, pages of {options.page}")
        _kill_repeatedly(Path(folder) / "killed", server, options.kills, rng)
        contents = []
        for name in ("killed", "clean"):
            mirror = ItemMirror(Path(folder) / name)
            print(f"{name}: {_measure(mirror, server)}")
            contents.append(_read_contents(mirror))
        print(f"again, nothing changed: {_measure(mirror, server, full=False)}")
        print(f"again, everything read: {_measure(mirror, server, full=True)}")
        start = time.perf_counter()
        mirror.sweep()
        print(f"sweep: {time.perf_counter() - start:.2f} s")
        _print_sizes(mirror)
    is_equal = contents[0] == contents[1]
    print(f"the killed mirror {'equals' if is_equal else 'DIFFERS FROM'} the clean one: {len(contents[0][0]):,} items")
    return 0 if is_equal else 1


def _make_text(rng: random.Random) -> str:
    return "\n\n".join(
        " ".join(rng.choices(_WORDS, k=rng.randrange(20, 120))) + "." for _ in range(rng.randrange(1, 6))
    )


def _kill_repeatedly(folder: Path, server: ItemServer, kills: int, rng: random.Random) -> None:
    pages = max(1, len(server.list_ids()) // server.page_size // (kills + 1))
    killed = finished = 0
    for _ in range(kills):
        child = subprocess.Popen([sys.executable, "-c", _CHILD, str(folder), server.address, _KEY])
        target = server.request_count + rng.randrange(1, 2 * pages + 1)
        while server.request_count < target and child.poll() is None:
            time.sleep(0.0005)
        time.sleep(rng.random() * 0.1)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child.pid, signal.SIGKILL)
        finished += child.wait() == 0
        killed += child.returncode != 0
        server.change_item(rng.choice(server.list_ids()), _make_text(rng))
    print(f"killed {killed} times, {finished} runs ended before")


def _measure(mirror: ItemMirror, server: ItemServer, *, full: bool = False) -> str:
    requests, start = server.request_count, time.perf_counter()
    run = synchronize("tracker", ItemServerSource(server.address, _KEY), mirror, SyncOptions(full=full))
    seconds = time.perf_counter() - start
    return f"{run.outcome} in {seconds:.2f} s, {server.request_count - requests} requests, {run.changes}"


def _read_contents(mirror: ItemMirror) -> tuple[Any, Any]:
    records = {item.id: (item.path, item.content_hash, item.revision) for item in mirror.list_items()}
    files = {path.name: path.read_bytes() for path in mirror.files_folder.rglob("*") if path.is_file()}
    return records, files


def _print_sizes(mirror: ItemMirror) -> None:
    mirror.close()
    files = sum(path.stat().st_size for path in mirror.files_folder.rglob("*") if path.is_file())
    database = sum(path.stat().st_size for path in mirror.folder.glob("items.sqlite*"))
    print(f"files {files / 1e6:.1f} MB, database {database / 1e6:.1f} MB")


if __name__ == "__main__":
    sys.exit(main())
