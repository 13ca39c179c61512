"""`python -m evals.service.load`: mixed calls by concurrent clients while files are edited and indexed.

Requirements: no error that the caller did not cause, no stale citation, each edit visible in the next answer, flat memory,
no surviving process.
"""

import argparse
import asyncio
import json
import random
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from .clients import LoadClient, Reply, connect_http_mcp, connect_rest, connect_stdio_mcp
from .edited_tree import EditedTree
from .processes import read_resident_bytes
from .server import Sandbox, find_survivors, list_family

_CALLS: Final = {"search": 45, "probe": 15, "context": 15, "symbol": 15, "status": 8, "index": 2}
_QUESTIONS: Final = (
    "where are results ranked", "how is a question taken apart", "what reads the files from disk",
    "merge results of several channels", "token budget", "regular expression over files", "stack trace", "abbreviations",
)  # fmt: skip
_NAMES: Final = (
    "analyze",
    "pack_context",
    "merge_candidates",
    "judge",
    "rank_candidates",
    "build_hits",
    "assemble_context",
    "Corpus",
)
_MAX_EXAMPLES: Final = 20
_SAMPLE_S: Final = 1.0
_PRINT_INTERVAL_SAMPLES: Final = 30


@dataclass(slots=True)
class Tally:
    """Counts and times of a run.

    Attributes:
        seconds: Time of each call, by kind of call.
        faults: Number of errors that no caller caused, stale citations and missed edits, by kind.
        examples: The first faults.
        rejected: Number of errors that callers caused, for example with a deleted name.
        resident: Memory of all processes of the service in bytes, sampled every second.
    """

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    faults: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    rejected: int = 0
    edits: int = 0
    places: int = 0
    resident: list[int] = field(default_factory=list)

    def record_fault(self, kind: str, detail: str) -> None:
        """Record a fault."""
        self.faults[kind] += 1
        if len(self.examples) < _MAX_EXAMPLES:
            self.examples.append(f"{kind}: {detail}")


async def run_client(client: LoadClient, tree: EditedTree, calls: int, seed: int, tally: Tally) -> None:
    """Make a number of calls, and check each reply."""
    choice, n_done = random.Random(seed), 0
    while n_done < calls:
        what = choice.choices(list(_CALLS), list(_CALLS.values()))[0]
        probe = ""
        if what == "probe":
            edit = await asyncio.to_thread(tree.edit)
            tally.edits += 1
            if not (probe := edit.probe):
                continue
        n_done += 1
        began = time.monotonic()
        match what:
            case "probe":
                reply = await client.call("search", {"query": probe, "top_k": 5})
            case "search":
                reply = await client.call("search", {"query": choice.choice(_QUESTIONS), "top_k": 10})
            case "context":
                reply = await client.call("context", {"query": choice.choice(_QUESTIONS)})
            case "symbol":
                reply = await client.call("symbol", {"name": choice.choice(_NAMES)})
            case _:
                reply = await client.call(what, {})
        tally.seconds[what].append(time.monotonic() - began)
        check(reply, tree, began, f"{client.name} {what}", tally)
        is_shown = any(probe in (place.text or place.name) for place in reply.places)
        if probe and not is_shown and tree.has_probe(probe, began):
            tally.record_fault("edit not in the next answer", f"{client.name}: {probe}")


def check(reply: Reply, tree: EditedTree, since: float, who: str, tally: Tally) -> None:
    """Record the faults of a reply to a call that began at `since`."""
    if reply.error:
        tally.rejected += reply.caused_by_caller
        if not reply.caused_by_caller:
            tally.record_fault("error", f"{who}: {reply.error}")
        return
    for place in reply.places:
        if place.text is None:
            continue
        tally.places += 1
        if not tree.is_fresh(place.path, place.start_line, place.end_line, place.text, since):
            tally.record_fault("stale", f"{who}: {place.path}:{place.start_line}-{place.end_line}")


async def sample_memory(pid: int, tally: Tally) -> None:
    """Sample the memory of the service and its processes; print progress to stderr now and then."""
    while True:
        each = [read_resident_bytes(process) for process in await asyncio.to_thread(list_family, pid)]
        tally.resident.append(sum(each))
        if len(tally.resident) % _PRINT_INTERVAL_SAMPLES == 0:
            calls = sum(map(len, tally.seconds.values()))
            held = " + ".join(f"{size / 1e6:,.0f}" for size in each)
            print(f"{calls:,} calls, {held} MB, faults {dict(tally.faults)}", file=sys.stderr, flush=True)
        await asyncio.sleep(_SAMPLE_S)


async def run(sandbox: Sandbox, pid: int, clients: int, calls: int, seed: int) -> Tally:
    """Make `calls` calls by `clients` clients of alternating kinds, and return the tally."""
    tally, tree = Tally(), EditedTree(sandbox.root, seed)
    address = sandbox.read_address()
    socket, token = str(address["http"]).removeprefix("unix:"), str(address["token"])
    async with AsyncExitStack() as stack:
        connected: list[LoadClient] = []
        for number in range(clients):
            match number % 3:
                case 0:
                    opened: Any = connect_rest(socket, token, sandbox.root, number)
                case 1:
                    opened = connect_stdio_mcp(sandbox.command, sandbox.environment, sandbox.root, number)
                case _:
                    opened = connect_http_mcp(socket, token, sandbox.root, number)
            connected.append(await stack.enter_async_context(opened))
        sampling = asyncio.create_task(sample_memory(pid, tally))
        share = -(-calls // clients)
        await asyncio.gather(
            *(run_client(client, tree, share, seed + number, tally) for number, client in enumerate(connected))
        )
        sampling.cancel()
    return tally


def format_tally(tally: Tally, elapsed_s: float, left: Sequence[int]) -> str:
    """Format the figures of a run."""
    lines = [
        f"{sum(map(len, tally.seconds.values())):,} calls in {elapsed_s:.0f} s, {tally.edits:,} edits, "
        f"{tally.places:,} citations checked, {tally.rejected:,} calls rejected because of the caller"
    ]
    for what, seconds in sorted(tally.seconds.items()):
        lines.append(
            f"  {what:8} {len(seconds):6,}  "
            + "  ".join(f"p{share} {compute_percentile(seconds, share) * 1000:7.1f} ms" for share in (50, 95, 99))
        )
    memory = summarize_memory(tally)
    lines.append("  memory   " + "  ".join(f"{name} {value:,.0f} MB" for name, value in memory.items()))
    lines.append("  faults   " + (", ".join(f"{kind} {number}" for kind, number in tally.faults.items()) or "none"))
    lines.append("  left     " + (", ".join(map(str, left)) or "no process"))
    return "\n".join([*lines, *(f"    {example}" for example in tally.examples)])


def summarize_memory(tally: Tally) -> dict[str, float]:
    """Return the median memory of each quarter of the run, and the maximum, in megabytes."""
    samples, quarter = tally.resident, max(1, len(tally.resident) // 4)
    parts = {f"quarter {number + 1}": samples[number * quarter : (number + 1) * quarter] for number in range(4)}
    figures = {name: compute_percentile(part, 50) / 1e6 for name, part in parts.items() if part}
    return {**figures, "most": max(samples, default=0) / 1e6}


def compute_percentile(values: Sequence[float], share: int) -> float:
    """Return a percentile by the nearest-rank method."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * share // 100) - 1)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0, or 1 on any fault."""
    parser = argparse.ArgumentParser(prog="python -m evals.service.load", description=__doc__)
    parser.add_argument("repository", type=Path, help="repository whose copy is searched; its Python files are edited")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="file for the figures as JSON")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="cr-") as folder:
        sandbox = Sandbox.create(Path(folder), options.repository.resolve())
        indexed = sandbox.run("index", "-C", str(sandbox.root))
        if indexed.returncode:
            print(indexed.stderr, file=sys.stderr)
            return 1
        service = sandbox.start()
        began = time.monotonic()
        try:
            tally = asyncio.run(run(sandbox, service.pid, options.clients, options.calls, options.seed))
        finally:
            processes = list_family(service.pid)
            service.send_signal(signal.SIGTERM)
            status = service.wait(60)
        elapsed_s, left = time.monotonic() - began, find_survivors(processes)
    print(format_tally(tally, elapsed_s, left))
    if options.out:
        record = {"calls": {what: len(seconds) for what, seconds in tally.seconds.items()}, "faults": tally.faults,
                  "examples": tally.examples, "memory": summarize_memory(tally), "elapsed_s": elapsed_s, "edits": tally.edits,
                  "ms": {what: {share: compute_percentile(seconds, share) * 1000 for share in (50, 95, 99)}
                         for what, seconds in tally.seconds.items()}}  # fmt: skip
        options.out.write_text(json.dumps(record, indent=1))
    return int(bool(tally.faults or left or status))


if __name__ == "__main__":
    sys.exit(main())
