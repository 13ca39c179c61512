"""Searches of the team server and of the local service over the same repositories, in turns."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from evals.service.server import Sandbox

from .calls import QUESTIONS, TIMEOUT_S
from .origins import Origin, run_git
from .tally import LoadTally
from .world import LoadUser


class LocalService:
    """``coderag serve`` over clones of some repositories.

    Args:
        folder: Folder for the clones and the home.
        origins: The repositories.

    Raises:
        RuntimeError: It does not start, or a clone cannot be indexed.
    """

    def __init__(self, folder: Path, origins: Sequence[Origin]) -> None:
        home = folder / "home"
        (home / "run").mkdir(parents=True, mode=0o700)
        self.roots = {origin.name: folder / origin.name for origin in origins}
        self._sandbox = Sandbox(folder, home, str(Path(sys.executable).with_name("coderag")))
        for origin in origins:
            run_git(folder, "clone", "--quiet", str(origin.bare), str(self.roots[origin.name]))
            indexed = self._sandbox.run("index", "-C", str(self.roots[origin.name]))
            if indexed.returncode:
                raise RuntimeError(f"the clone of {origin.name} is not indexed: {indexed.stderr[-1_000:]}")
        self._process = self._sandbox.start()

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[httpx.AsyncClient]:
        """Yield a client of it."""
        address = self._sandbox.read_address()
        transport = httpx.AsyncHTTPTransport(uds=str(address["http"]).removeprefix("unix:"))
        headers = {"authorization": f"Bearer {address['token']}"}
        async with httpx.AsyncClient(
            transport=transport, base_url="http://localhost", headers=headers, timeout=TIMEOUT_S
        ) as client:
            yield client

    def pause(self) -> None:
        """Stop its processes for a while, so that they take no time of the machine."""
        os.kill(self._process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        os.kill(self._process.pid, signal.SIGCONT)

    def close(self) -> None:
        """End it."""
        self.resume()
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


async def compare_window(
    url: str,
    users: Sequence[LoadUser],
    local: LocalService,
    tally: LoadTally,
    *,
    clients: int,
    window_s: float,
    seed: int,
) -> None:
    """Search the team server and then the local service for a time each, with the same number of clients.

    The repositories are those that the local service has; each user searches those of them that it sees.
    """
    readers = [user for user in users if any(entry.origin.name in local.roots for entry in user.visible)]
    began_at = time.monotonic()

    async def run(kind: str, client: httpx.AsyncClient, number: int, ends: float) -> None:
        chance = random.Random(seed * 1_000 + number)
        user = readers[number % len(readers)]
        names = [entry.origin.name for entry in user.visible if entry.origin.name in local.roots]
        while time.monotonic() < ends:
            name = chance.choice(names)
            root = name if kind == "team server" else str(local.roots[name])
            headers = {"authorization": f"Bearer {user.key}"} if kind == "team server" else {}
            body = {"root": root, "query": chance.choice(QUESTIONS), "top_k": 10}
            began = time.monotonic()
            reply = await client.post("/api/v1/search", json=body, headers=headers)
            if reply.is_success:
                tally.calls[kind].append((began - began_at, time.monotonic() - began))
            else:
                tally.record_fault(f"status {reply.status_code}", f"comparison, {kind}: {reply.text[:300]}")

    async def fill(kind: str, client: httpx.AsyncClient) -> None:
        ends = time.monotonic() + window_s
        await asyncio.gather(*(run(kind, client, number, ends) for number in range(clients)))

    limits = httpx.Limits(max_connections=clients)
    async with httpx.AsyncClient(base_url=url, timeout=TIMEOUT_S, limits=limits, trust_env=False) as client:
        await fill("team server", client)
    local.resume()
    try:
        async with local.connect() as client:
            await fill("local service", client)
    finally:
        local.pause()
