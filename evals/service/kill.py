"""`python -m evals.service.kill`: end the service with SIGKILL at random moments of indexing and serving, and start it again.

After each kill: no process of it lives on, the index can be searched at once and says the same as one that is built anew,
the next service starts and answers.
"""

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import httpx

from .edited_tree import EditedTree
from .server import Sandbox, family, left_behind

_QUESTION: Final = "where are results ranked"
_EDITS: Final = 12
_LATEST_S: Final = 2.5
_TIMEOUT_S: Final = 120.0
_ROUNDING: Final = 1e-5  # chunks lie in another order, so sums are rounded otherwise


def ask(sandbox: Sandbox, path: str, body: dict[str, Any]) -> httpx.Response:
    """Return what the service answers."""
    address = sandbox.address()
    transport = httpx.HTTPTransport(uds=str(address["http"]).removeprefix("unix:"))
    headers = {"Authorization": f"Bearer {address['token']}"}
    with httpx.Client(transport=transport, base_url="http://localhost", headers=headers, timeout=_TIMEOUT_S) as client:
        return client.post(f"/api/v1/{path}", json={"root": str(sandbox.root), **body})


def keep_busy(sandbox: Sandbox, tree: EditedTree, stop: threading.Event, full: bool) -> None:
    """Edit, index and search until told to stop; that the service goes away meanwhile is what this is for."""
    try:
        ask(sandbox, "index", {"full": full})
        for _ in range(_EDITS):
            tree.edit()
            ask(sandbox, "search", {"query": _QUESTION})
            if stop.is_set():
                return
    except (httpx.HTTPError, OSError, KeyError):
        return


def one_kill(sandbox: Sandbox, tree: EditedTree, choice: random.Random) -> list[str]:
    """Start, kill at a random moment, and return what is wrong afterwards."""
    service = sandbox.start()
    stop = threading.Event()
    busy = threading.Thread(target=keep_busy, args=(sandbox, tree, stop, choice.random() < 0.5))
    busy.start()
    time.sleep(choice.uniform(0, _LATEST_S))
    processes = family(service.pid)
    service.send_signal(signal.SIGKILL)
    service.wait()
    stop.set()
    busy.join()
    faults = [f"process {pid} lives on" for pid in left_behind(processes)]
    found = sandbox.run("search", "-C", str(sandbox.root), "--json", _QUESTION)
    if found.returncode:
        faults.append(f"search exits with {found.returncode}: {found.stderr.strip()[-300:]}")
    return faults


def built_anew_is_same(sandbox: Sandbox) -> list[str]:
    """Return what is wrong if the index, brought up to date, differs from one that is built from nothing."""
    told, graphs = [], []
    for arguments in (["index"], ["index", "--full"]):
        sandbox.run(*arguments, "-C", str(sandbox.root))
        found = sandbox.run("search", "-C", str(sandbox.root), "--json", "-n", "50", _QUESTION).stdout
        told.append(json.loads(found)["hits"] if found else [])
        graphs.append(sandbox.run("graph", "export", "--to", "json", "-C", str(sandbox.root)).stdout)
    places = [[(hit["path"], hit["start_line"], hit["end_line"]) for hit in hits] for hits in told]
    scores = [[hit["score"] for hit in hits] for hits in told]
    faults = []
    is_same = places[0] == places[1] and all(abs(one - other) <= _ROUNDING for one, other in zip(*scores, strict=True))
    if not (places[0] and is_same):
        faults.append(f"the index differs from one that is built anew: {places[0]} and {places[1]}")
    if not graphs[0] or graphs[0] != graphs[1]:
        faults.append("the code graph differs from one that is built anew")
    return faults


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0, or 1 if anything is as it may not be."""
    parser = argparse.ArgumentParser(prog="python -m evals.service.kill", description=__doc__)
    parser.add_argument("repository", type=Path, help="folder whose copy is searched and edited")
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    choice = random.Random(options.seed)
    faults: list[str] = []
    with tempfile.TemporaryDirectory(prefix="cr-") as folder:
        sandbox = Sandbox.make(Path(folder), options.repository.resolve())
        tree = EditedTree(sandbox.root, options.seed)
        for number in range(1, options.times + 1):
            found = one_kill(sandbox, tree, choice)
            if number % 10 == 0:
                found += built_anew_is_same(sandbox)
            faults += [f"kill {number}: {fault}" for fault in found]
            print(f"{number} of {options.times} kills, {len(faults)} faults", file=sys.stderr, flush=True)
        service = sandbox.start()
        answered = ask(sandbox, "search", {"query": _QUESTION})
        faults += [] if answered.is_success else [f"the last start does not answer: {answered.text[:300]}"]
        service.send_signal(signal.SIGTERM)
        try:
            service.wait(30)
        except subprocess.TimeoutExpired:
            faults.append("the last service does not end")
            service.kill()
    print(
        "\n".join(faults)
        or f"{options.times} kills: each time a consistent index, a working next start, no process left"
    )
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
