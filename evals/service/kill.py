"""`python -m evals.service.kill`: kill the service with SIGKILL at random moments and check its recovery.

After each kill, no process may survive, the index must be searchable, and the next service must start and answer. After
each tenth kill, the updated index must equal one that is rebuilt from scratch.
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
from .server import Sandbox, find_survivors, list_family

_QUESTION: Final = "where are results ranked"
_EDITS: Final = 12
_MAX_DELAY_S: Final = 2.5
_TIMEOUT_S: Final = 120.0
_ROUNDING: Final = 1e-5  # another order of chunks rounds sums differently


def ask(sandbox: Sandbox, path: str, body: dict[str, Any]) -> httpx.Response:
    """Post a request to the service and return its response."""
    address = sandbox.read_address()
    transport = httpx.HTTPTransport(uds=str(address["http"]).removeprefix("unix:"))
    headers = {"Authorization": f"Bearer {address['token']}"}
    with httpx.Client(transport=transport, base_url="http://localhost", headers=headers, timeout=_TIMEOUT_S) as client:
        return client.post(f"/api/v1/{path}", json={"root": str(sandbox.root), **body})


def keep_busy(sandbox: Sandbox, tree: EditedTree, stop: threading.Event, full: bool) -> None:
    """Edit, index and search until stopped or until the service is gone."""
    try:
        ask(sandbox, "index", {"full": full})
        for _ in range(_EDITS):
            tree.edit()
            ask(sandbox, "search", {"query": _QUESTION})
            if stop.is_set():
                return
    except (httpx.HTTPError, OSError, KeyError):
        return


def kill_once(sandbox: Sandbox, tree: EditedTree, choice: random.Random) -> list[str]:
    """Start the service, kill it at a random moment, and return the faults afterwards."""
    service = sandbox.start()
    stop = threading.Event()
    busy = threading.Thread(target=keep_busy, args=(sandbox, tree, stop, choice.random() < 0.5))
    busy.start()
    time.sleep(choice.uniform(0, _MAX_DELAY_S))
    processes = list_family(service.pid)
    service.send_signal(signal.SIGKILL)
    service.wait()
    stop.set()
    busy.join()
    faults = [f"process {pid} survives" for pid in find_survivors(processes)]
    result = sandbox.run("search", "-C", str(sandbox.root), "--json", _QUESTION)
    if result.returncode:
        faults.append(f"search exits with {result.returncode}: {result.stderr.strip()[-300:]}")
    return faults


def compare_with_rebuild(sandbox: Sandbox) -> list[str]:
    """Return the differences between the updated index and one that is rebuilt from scratch."""
    results, graphs = [], []
    for arguments in (["index"], ["index", "--full"]):
        sandbox.run(*arguments, "-C", str(sandbox.root))
        output = sandbox.run("search", "-C", str(sandbox.root), "--json", "-n", "50", _QUESTION).stdout
        results.append(json.loads(output)["hits"] if output else [])
        graphs.append(sandbox.run("graph", "export", "--to", "json", "-C", str(sandbox.root)).stdout)
    places = [[(hit["path"], hit["start_line"], hit["end_line"]) for hit in hits] for hits in results]
    scores = [[hit["score"] for hit in hits] for hits in results]
    faults = []
    is_same = places[0] == places[1] and all(
        abs(first - second) <= _ROUNDING for first, second in zip(*scores, strict=True)
    )
    if not (places[0] and is_same):
        faults.append(f"the index differs from a rebuilt one: {places[0]} and {places[1]}")
    if not graphs[0] or graphs[0] != graphs[1]:
        faults.append("the code graph differs from a rebuilt one")
    return faults


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0, or 1 on any fault."""
    parser = argparse.ArgumentParser(prog="python -m evals.service.kill", description=__doc__)
    parser.add_argument("repository", type=Path, help="repository whose copy is searched and edited")
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    choice = random.Random(options.seed)
    faults: list[str] = []
    with tempfile.TemporaryDirectory(prefix="cr-") as folder:
        sandbox = Sandbox.create(Path(folder), options.repository.resolve())
        tree = EditedTree(sandbox.root, options.seed)
        for number in range(1, options.times + 1):
            round_faults = kill_once(sandbox, tree, choice)
            if number % 10 == 0:
                round_faults += compare_with_rebuild(sandbox)
            faults += [f"kill {number}: {fault}" for fault in round_faults]
            print(f"{number} of {options.times} kills, {len(faults)} faults", file=sys.stderr, flush=True)
        service = sandbox.start()
        answered = ask(sandbox, "search", {"query": _QUESTION})
        faults += [] if answered.is_success else [f"the last start does not answer: {answered.text[:300]}"]
        service.send_signal(signal.SIGTERM)
        try:
            service.wait(30)
        except subprocess.TimeoutExpired:
            faults.append("the last service does not stop")
            service.kill()
    print(
        "\n".join(faults)
        or f"{options.times} kills without a fault: consistent index, working restart, no surviving process"
    )
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
