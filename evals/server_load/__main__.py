"""`python -m evals.server_load`: the team server with many users, repositories, pushes and sign-ins.

Requirements: no error that a caller did not cause, nothing of a hidden repository in any reply, every acknowledged push
indexed at the end, flat memory, and a search within three times of the local service's.
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final

import httpx

from evals.service.processes import read_resident_bytes

from .calls import TIMEOUT_S, UserCalls
from .comparison import LocalService, compare_window
from .git_server import GitServer
from .origins import MARKER_PATH, create_origin
from .report import compute_ratio, format_report, render_plots
from .tally import LoadTally
from .team_process import TeamProcess
from .world import HostedOrigin, LoadUser, OwnerClient, create_teams, create_users, host_origins

_SAMPLE_S: Final = 10.0
_SETUP_S: Final = 3_600.0
_N_CYCLES: Final = 3


async def run_load(  # figures of a run
    server: TeamProcess,
    users: Sequence[LoadUser],
    tally: LoadTally,
    *,
    clients: int,
    began_at: float,
    seconds: float,
    seed: int,
) -> None:
    """Make calls by several clients for a time, each as another random user every time."""
    ends = time.monotonic() + seconds

    async def run_client(number: int) -> None:
        chance = random.Random(seed * 1_000 + number)
        async with httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=False) as client:
            calls = UserCalls(server.url, client, tally, chance, began_at)
            while time.monotonic() < ends:
                await calls.make_call(chance.choice(users))

    await asyncio.gather(*(run_client(number) for number in range(clients)))


async def sample_memory(server: TeamProcess, tally: LoadTally, began_at: float) -> None:
    """Sample the memory of the server's processes, and print progress."""
    while True:
        pids = await asyncio.to_thread(server.list_processes)
        tally.memory.append((time.monotonic() - began_at, sum(map(read_resident_bytes, pids))))
        calls = sum(map(len, tally.calls.values()))
        print(f"{calls:,} calls, {tally.memory[-1][1] / 1e6:,.0f} MB, faults {dict(tally.faults)}", file=sys.stderr)
        await asyncio.sleep(_SAMPLE_S)


def check_end(server: TeamProcess, key: str, hosted: Sequence[HostedOrigin], tally: LoadTally) -> None:
    """Record pushes that are not indexed, and an audit record that does not verify."""
    headers = {"authorization": f"Bearer {key}"}
    with httpx.Client(base_url=server.url, headers=headers, timeout=TIMEOUT_S, trust_env=False) as client:
        for entry in hosted:
            name, marker = entry.origin.name, entry.origin.marker
            text = client.get("/api/v1/file", params={"root": name, "path": MARKER_PATH}).text
            body = {"root": name, "query": marker, "top_k": 3}
            hits = client.post("/api/v1/search", json=body).text
            if marker not in text or marker not in hits:
                tally.record_fault("push not indexed", f"{name}: {marker}")
        report = client.post("/api/v1/server/audit/verify").text
    if '"is_intact":true' not in report.replace(" ", ""):
        tally.record_fault("audit not verified", report[:500])


async def run_cycles(
    server: TeamProcess, users: Sequence[LoadUser], local: LocalService | None, options: argparse.Namespace
) -> tuple[LoadTally, LoadTally]:
    """Alternate mixed load with the comparison, and return the records of both."""
    tally, comparison, began_at = LoadTally(), LoadTally(), time.monotonic()
    sampling = asyncio.create_task(sample_memory(server, tally, began_at))
    seconds = options.minutes * 60
    window_s = seconds / 20 if local is not None else 0.0
    try:
        for cycle in range(_N_CYCLES):
            share_s = seconds / _N_CYCLES - 2 * window_s
            await run_load(
                server,
                users,
                tally,
                clients=options.clients,
                began_at=began_at,
                seconds=share_s,
                seed=options.seed + cycle,
            )
            if local is not None:
                await compare_window(
                    server.url, users, local, comparison, clients=options.clients, window_s=window_s, seed=cycle
                )
    finally:
        sampling.cancel()
        with suppress(asyncio.CancelledError):
            await sampling
    return tally, comparison


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m evals.server_load", description=__doc__)
    parser.add_argument("sources", type=Path, nargs="+", help="folders whose copies are the repositories, in turn")
    parser.add_argument("--users", type=int, default=200)
    parser.add_argument("--teams", type=int, default=20)
    parser.add_argument("--repositories", type=int, default=50)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument(
        "--compared", type=int, default=3, help="repositories that the local service has; 0: no comparison"
    )
    parser.add_argument("--max-open", type=int, default=0, help="`repositories.max_open`; 0: the default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--out", type=Path, help="file for the figures as JSON")
    parser.add_argument("--plots", type=Path, help="HTML file for plots of memory and latency over time")
    return parser.parse_args(arguments)


def run(options: argparse.Namespace, folder: Path) -> tuple[LoadTally, LoadTally, dict[str, Any]]:
    """Set a server up in an empty folder, and load it."""
    chance = random.Random(options.seed)
    (folder / "origins").mkdir()
    variables = {"CODERAG_SERVER_REPOSITORIES__MAX_OPEN": str(options.max_open)} if options.max_open else {}
    server = TeamProcess(folder / "server", variables)
    with ExitStack() as stack:
        git = stack.enter_context(GitServer(folder / "origins"))
        key = server.initialize()
        server.start()
        stack.callback(server.stop)
        owner = OwnerClient(server.url, key)
        stack.callback(owner.close)
        began = time.monotonic()
        sources = [source.resolve() for source in options.sources]
        origins = [
            create_origin(folder / "origins", sources[number % len(sources)], number)
            for number in range(options.repositories)
        ]
        teams = create_teams(owner, options.teams)
        hosted = host_origins(owner, git, origins, teams)
        users = create_users(owner, teams, hosted, options.users, chance)
        owner.wait_until_idle(_SETUP_S)
        local = None
        if options.compared:
            local = LocalService(folder / "local", origins[: options.compared])
            stack.callback(local.close)
            local.pause()
        setup_s = time.monotonic() - began
        print(f"set up in {setup_s:.0f} s", file=sys.stderr)
        tally, comparison = asyncio.run(run_cycles(server, users, local, options))
        owner.wait_until_idle(_SETUP_S)
        check_end(server, key, hosted, tally)
    facts = {name: getattr(options, name) for name in ("users", "teams", "repositories", "clients", "minutes", "seed")}
    return tally, comparison, {**facts, "setup_s": round(setup_s)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0, or 1 on any fault."""
    options = parse_arguments(arguments)
    with tempfile.TemporaryDirectory(prefix="cr-") as folder:
        tally, comparison, facts = run(options, Path(folder))
    record = {
        **facts, **tally.to_json(), "comparison": comparison.summarize_calls(), "search_p95_ratio": compute_ratio(comparison),
    }  # fmt: skip
    if options.out:
        options.out.write_text(json.dumps(record, indent=1), encoding="utf-8")
    if options.plots:
        options.plots.write_text(render_plots(tally, options.minutes * 60), encoding="utf-8")
    print(json.dumps(record, indent=1) if options.json else format_report(tally, comparison, facts))
    return int(bool(tally.faults or comparison.faults))


if __name__ == "__main__":
    sys.exit(main())
