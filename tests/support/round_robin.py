"""Proxy on the loopback that gives each connection to the next server; one that does not answer is passed over."""

import asyncio
import itertools
import threading
from collections.abc import Sequence
from contextlib import suppress


class RoundRobin:
    """Runs in a thread of its own, within a ``with`` block.

    Args:
        ports: Ports of the servers on the loopback.
    """

    def __init__(self, ports: Sequence[int]) -> None:
        self.port = 0
        self._ports = ports
        self._turns = itertools.cycle(range(len(ports)))
        self._loop = asyncio.new_event_loop()
        self._is_serving = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def url(self) -> str:
        """Address of the proxy."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> "RoundRobin":
        self._thread.start()
        assert self._is_serving.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        self._is_serving.set()
        self._loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for turn in itertools.islice(self._turns, len(self._ports)):
            with suppress(OSError):
                backend = await asyncio.open_connection("127.0.0.1", self._ports[turn])
                await asyncio.gather(_copy(reader, backend[1]), _copy(backend[0], writer))
                return
        writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()
