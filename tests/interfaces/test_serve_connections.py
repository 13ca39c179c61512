"""Connections of clients that mean no good, on a server as the service has it."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import uvicorn
from starlette.responses import PlainTextResponse

from coderag.interfaces.serve.connections import BoundedConnection

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
DEADLINE_S = 20.0


class Impatient(BoundedConnection):
    """As of the service, with bounds that a test can reach."""

    head_timeout_s = 0.2
    max_connections = 2


@pytest.fixture
async def port() -> AsyncIterator[int]:
    config = uvicorn.Config(PlainTextResponse("served"), http=Impatient, lifespan="off", log_config=None, port=0)
    server = uvicorn.Server(config)
    server.config.load()
    server.lifespan = config.lifespan_class(config)
    await server.startup()
    yield server.servers[0].sockets[0].getsockname()[1]
    await server.shutdown()


async def rest_of(reader: asyncio.StreamReader) -> bytes:
    """Return what comes until the server closes the connection."""
    async with asyncio.timeout(DEADLINE_S):
        return await reader.read()


@pytest.mark.parametrize("said", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: localhost\r\n"])
async def test_a_client_that_does_not_ask_to_the_end_is_left(port: int, said: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(said)
    assert await rest_of(reader) == b""
    writer.close()


async def test_bytes_that_trickle_in_do_not_make_the_wait_longer(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    ended = asyncio.create_task(rest_of(reader))
    async with asyncio.timeout(DEADLINE_S):
        while not ended.done():
            writer.write(b"G")
            await asyncio.wait([ended], timeout=0.05)
    writer.close()


async def test_half_a_request_after_a_whole_one_is_not_waited_for_either(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(REQUEST + b"GET /")
    assert (await rest_of(reader)).endswith(b"served")
    writer.close()


async def test_more_connections_than_there_may_be_are_closed_and_later_ones_are_served(port: int) -> None:
    held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
    assert await rest_of(held[2][0]) == b""
    for reader, _ in held[:2]:
        await rest_of(reader)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(REQUEST)
    assert b"served" in await rest_of(reader)
    for one in (*(writer for _, writer in held), writer):
        one.close()
