"""`python -m evals.service.load`: several clients at once, thousands of mixed calls, while files are edited and indexed.

What must hold: no error that the caller did not cause, no stale line cited, each edit in the very next answer, memory that
does not grow, no process left behind.
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

from .clients import Reply, ServiceClient, http_mcp_client, rest_client, stdio_mcp_client
from .edited_tree import EditedTree
from .processes import resident_bytes
from .server import Sandbox, family, left_behind

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
_SHOWN_FAULTS: Final = 20
_SAMPLE_S: Final = 1.0
_TOLD_EVERY: Final = 30


@dataclass(slots=True)
class Tally:
    """What came of a run.

    Attributes:
        seconds: Of each call, by what was asked.
        faults: Errors that no caller caused, stale lines, edits that the next answer did not have: by kind.
        examples: The first of them.
        rejected: Errors that callers caused, such as a name that was deleted.
        resident: Memory of the service's processes together, in bytes, every second.
    """

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    faults: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    rejected: int = 0
    edits: int = 0
    places: int = 0
    resident: list[int] = field(default_factory=list)

    def fault(self, kind: str, told: str) -> None:
        """Note a fault."""
        self.faults[kind] += 1
        if len(self.examples) < _SHOWN_FAULTS:
            self.examples.append(f"{kind}: {told}")


async def one_client(client: ServiceClient, tree: EditedTree, calls: int, seed: int, tally: Tally) -> None:
    """Make so many calls, and check each reply."""
    choice, made = random.Random(seed), 0
    while made < calls:
        what = choice.choices(list(_CALLS), list(_CALLS.values()))[0]
        probe = ""
        if what == "probe":
            edit = await asyncio.to_thread(tree.edit)
            tally.edits += 1
            if not (probe := edit.probe):
                continue
        made += 1
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
        shown = any(probe in (place.text or place.name) for place in reply.places)
        if probe and not shown and tree.holds(probe, began):
            tally.fault("edit not in the next answer", f"{client.name}: {probe}")


def check(reply: Reply, tree: EditedTree, since: float, who: str, tally: Tally) -> None:
    """Note what is wrong with a reply to a call that began at a moment."""
    if reply.error:
        tally.rejected += reply.caused_by_caller
        if not reply.caused_by_caller:
            tally.fault("error", f"{who}: {reply.error}")
        return
    for place in reply.places:
        if place.text is None:
            continue
        tally.places += 1
        if not tree.is_fresh(place.path, place.start_line, place.end_line, place.text, since):
            tally.fault("stale", f"{who}: {place.path}:{place.start_line}-{place.end_line}")


async def sample_memory(pid: int, tally: Tally) -> None:
    """Note each second how much memory the service and its processes hold; say now and then on stderr how far the run is."""
    while True:
        each = [resident_bytes(one) for one in await asyncio.to_thread(family, pid)]
        tally.resident.append(sum(each))
        if len(tally.resident) % _TOLD_EVERY == 0:
            calls = sum(map(len, tally.seconds.values()))
            held = " + ".join(f"{one / 1e6:,.0f}" for one in each)
            print(f"{calls:,} calls, {held} MB, faults {dict(tally.faults)}", file=sys.stderr, flush=True)
        await asyncio.sleep(_SAMPLE_S)


async def run(sandbox: Sandbox, pid: int, clients: int, calls: int, seed: int) -> Tally:
    """Return what came of `calls` calls by `clients` clients, whose kinds alternate."""
    tally, tree = Tally(), EditedTree(sandbox.root, seed)
    address = sandbox.address()
    socket, token = str(address["http"]).removeprefix("unix:"), str(address["token"])
    async with AsyncExitStack() as stack:
        made: list[ServiceClient] = []
        for number in range(clients):
            match number % 3:
                case 0:
                    opened: Any = rest_client(socket, token, sandbox.root, number)
                case 1:
                    opened = stdio_mcp_client(sandbox.command, sandbox.environment, sandbox.root, number)
                case _:
                    opened = http_mcp_client(socket, token, sandbox.root, number)
            made.append(await stack.enter_async_context(opened))
        sampling = asyncio.create_task(sample_memory(pid, tally))
        share = -(-calls // clients)
        await asyncio.gather(
            *(one_client(client, tree, share, seed + number, tally) for number, client in enumerate(made))
        )
        sampling.cancel()
    return tally


def as_text(tally: Tally, elapsed_s: float, left: Sequence[int]) -> str:
    """Return the figures for people."""
    lines = [
        f"{sum(map(len, tally.seconds.values())):,} calls in {elapsed_s:.0f} s, {tally.edits:,} edits, "
        f"{tally.places:,} cited places read again, {tally.rejected:,} calls refused for a reason of the caller's"
    ]
    for what, seconds in sorted(tally.seconds.items()):
        lines.append(
            f"  {what:8} {len(seconds):6,}  "
            + "  ".join(f"p{share} {percentile(seconds, share) * 1000:7.1f} ms" for share in (50, 95, 99))
        )
    memory = memory_figures(tally)
    lines.append("  memory   " + "  ".join(f"{name} {value:,.0f} MB" for name, value in memory.items()))
    lines.append("  faults   " + (", ".join(f"{kind} {number}" for kind, number in tally.faults.items()) or "none"))
    lines.append("  left     " + (", ".join(map(str, left)) or "no process"))
    return "\n".join([*lines, *(f"    {example}" for example in tally.examples)])


def memory_figures(tally: Tally) -> dict[str, float]:
    """Return the median memory of each quarter of the run, and the largest, in megabytes."""
    samples, quarter = tally.resident, max(1, len(tally.resident) // 4)
    parts = {f"quarter {number + 1}": samples[number * quarter : (number + 1) * quarter] for number in range(4)}
    figures = {name: percentile(part, 50) / 1e6 for name, part in parts.items() if part}
    return {**figures, "most": max(samples, default=0) / 1e6}


def percentile(values: Sequence[float], share: int) -> float:
    """Return the smallest value that so many hundredths of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * share // 100) - 1)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0, or 1 if anything is as it may not be."""
    parser = argparse.ArgumentParser(prog="python -m evals.service.load", description=__doc__)
    parser.add_argument(
        "repository", type=Path, help="folder whose copy is searched and edited; Python files are edited"
    )
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="file for the figures as JSON")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="cr-") as folder:
        sandbox = Sandbox.make(Path(folder), options.repository.resolve())
        indexed = sandbox.run("index", "-C", str(sandbox.root))
        if indexed.returncode:
            print(indexed.stderr, file=sys.stderr)
            return 1
        service = sandbox.start()
        began = time.monotonic()
        try:
            tally = asyncio.run(run(sandbox, service.pid, options.clients, options.calls, options.seed))
        finally:
            processes = family(service.pid)
            service.send_signal(signal.SIGTERM)
            status = service.wait(60)
        elapsed_s, left = time.monotonic() - began, left_behind(processes)
    print(as_text(tally, elapsed_s, left))
    if options.out:
        record = {"calls": {what: len(one) for what, one in tally.seconds.items()}, "faults": tally.faults,
                  "examples": tally.examples, "memory": memory_figures(tally), "elapsed_s": elapsed_s, "edits": tally.edits,
                  "ms": {what: {share: percentile(one, share) * 1000 for share in (50, 95, 99)}
                         for what, one in tally.seconds.items()}}  # fmt: skip
        options.out.write_text(json.dumps(record, indent=1))
    return int(bool(tally.faults or left or status))


if __name__ == "__main__":
    sys.exit(main())
