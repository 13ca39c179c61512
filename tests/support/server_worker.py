"""A worker process that tests kill: it checks that every checkout which it is given is complete."""

import hashlib
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from coderag.server.jobs.threads import JobThreads
from tests.support.git_origins import GitOrigin, read_files
from tests.support.server_world import ServerWorld

MANIFEST = "manifest.json"


def open_world(folder: Path, url: str) -> ServerWorld:
    """Open the server of the test, with leases that end soon."""
    return ServerWorld(folder, url=url, clock=None, lease_s=2.0, max_attempts=1_000_000)


def build_commit(number: int, noise: bytes) -> dict[str, str | bytes | None]:
    """Build the files of a commit, with a manifest of their digests."""
    files: dict[str, str | bytes | None] = {
        f"f{(number * 7 + index) % 40}.py": f"{number} {index}\n" for index in range(25)
    }
    files["noise.bin"] = noise + str(number).encode()
    digests = {name: hashlib.sha256(_encode(content)).hexdigest() for name, content in files.items()}
    return {**files, MANIFEST: json.dumps({"number": number, "digests": digests})}


def _encode(content: str | bytes | None) -> bytes:
    return content.encode() if isinstance(content, str) else content or b""


def check_checkout(checkout: Path) -> int:
    """Check a checkout against its manifest and its commit; return the number of the commit."""
    files = read_files(checkout)
    manifest = json.loads(files.pop(MANIFEST))
    assert {name: hashlib.sha256(content).hexdigest() for name, content in files.items()} == manifest["digests"]
    assert json.loads(GitOrigin.git(checkout, "show", f"HEAD:{MANIFEST}")) == manifest
    return int(manifest["number"])


def run_worker(folder: Path, url: str, ready: Any) -> None:
    """Work until the process is killed."""
    world = open_world(folder, url)

    def index(checkout: Path, progress: Callable[[dict[str, object]], None]) -> dict[str, str]:
        try:
            number = check_checkout(checkout)
        except Exception as error:
            (folder / f"violation-{os.getpid()}-{threading.get_ident()}").write_text(f"{checkout}: {error!r}")
            raise
        progress({"phase": "indexing", "number": number})
        (checkout / ".coderag").mkdir(exist_ok=True)
        (checkout / ".coderag" / "number").write_text(str(number))
        return {}

    JobThreads(world.queue, world.repositories, index, scheduler=None, size=2).start()
    ready.set()
    threading.Event().wait()
