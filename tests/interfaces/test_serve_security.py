"""What stands before everything that the service serves over HTTP."""

import asyncio
from typing import Any

import httpx
import pytest
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.types import Receive, Scope, Send

from coderag.errors import ConfigurationError
from coderag.interfaces.serve.activity import Activity
from coderag.interfaces.serve.hosts import KnownHosts
from coderag.interfaces.serve.options import ServeOptions
from coderag.interfaces.serve.rate_limit import RateLimit
from coderag.interfaces.serve.request_guard import GuardRules, RequestGuard
from coderag.service.client import CHALLENGE_HEADER, PROOF_HEADER, compute_proof

TOKEN = "the-token-of-these-tests"  # made up
RIGHT = {"Authorization": f"Bearer {TOKEN}"}


class Behind:
    """What is guarded: it reads the body, and answers when it may."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.bodies: list[bytes] = []
        self.began = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        self.bodies.append(body)
        self.began.set()
        if scope["path"] == "/stream":
            await StreamingResponse(self._events(), media_type="text/event-stream")(scope, receive, send)
            return
        await self.may_answer.wait()
        await PlainTextResponse("served")(scope, receive, send)

    async def _events(self) -> Any:
        yield b"data: 1\n\n"
        await self.may_answer.wait()
        yield b"data: 2\n\n"


class Served:
    """A guard and its client."""

    def __init__(self, behind: Behind, host: str = "", per_minute: int = 1_000, **rules: Any) -> None:
        self.stopping = asyncio.Event()
        given = GuardRules(TOKEN, KnownHosts(host), **{"request_s": 30.0, **rules})
        guard = RequestGuard(behind, given, RateLimit(per_minute, lambda: 0.0), Activity(), self.stopping)
        self.client = httpx.AsyncClient(transport=httpx.ASGITransport(guard), base_url="http://localhost")

    async def get(self, path: str = "/x", **headers: str) -> httpx.Response:
        return await self.client.get(path, headers={**RIGHT, **headers})


@pytest.fixture
def behind() -> Behind:
    return Behind()


async def test_who_has_the_token_is_served(behind: Behind) -> None:
    assert (await Served(behind).get()).text == "served"


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", TOKEN, "Bearer \xff"])
async def test_who_has_not_the_token_is_refused(behind: Behind, header: str) -> None:
    headers = {"Authorization": header.encode("latin-1")} if header else {}
    reply = await Served(behind).client.get("/x", headers=headers)
    assert (reply.status_code, reply.headers["www-authenticate"], behind.bodies) == (401, "Bearer", [])


async def test_the_reply_to_a_wrong_token_does_not_tell_the_right_one(behind: Behind) -> None:
    assert TOKEN not in (await Served(behind).client.get("/x")).text


async def test_anybody_may_ask_whether_it_lives_and_learns_no_more(behind: Behind) -> None:
    reply = await Served(behind).client.get("/health")
    assert (reply.status_code, reply.text, PROOF_HEADER in reply.headers) == (200, "ok\n", False)


async def test_it_proves_that_it_has_the_token(behind: Behind) -> None:
    reply = await Served(behind).client.get("/health", headers={CHALLENGE_HEADER: "abc"})
    assert reply.headers[PROOF_HEADER] == compute_proof(TOKEN, "abc")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "localhost.evil.example", "user@localhost", "10.0.0.1"]
)
async def test_a_name_that_another_site_pointed_here_is_refused(behind: Behind, host: str) -> None:
    assert (await Served(behind).get(host=host)).status_code == 421


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8000", "[::1]:8000", "LOCALHOST:1"])
async def test_names_of_this_machine_are_served(behind: Behind, host: str) -> None:
    assert (await Served(behind).get(host=host)).status_code == 200


async def test_the_address_that_it_listens_on_is_a_name_of_it(behind: Behind) -> None:
    assert (await Served(behind, host="10.0.0.1").get(host="10.0.0.1:8000")).status_code == 200


async def test_a_service_on_all_addresses_takes_any_address_and_no_foreign_name(behind: Behind) -> None:
    served = Served(behind, host="0.0.0.0")  # nothing listens
    replies = [(await served.get(host=host)).status_code for host in ("192.168.1.5:80", "evil.example")]
    assert replies == [200, 421]


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost.evil.example", "file://"])
async def test_pages_of_other_sites_are_refused(behind: Behind, origin: str) -> None:
    assert (await Served(behind).get(origin=origin)).status_code == 403


async def test_pages_of_this_machine_are_served_without_a_header_that_lets_others_read(behind: Behind) -> None:
    reply = await Served(behind).get(origin="http://localhost:3000")
    assert (reply.status_code, "access-control-allow-origin" in reply.headers) == (200, False)


async def test_too_many_requests_are_told_when_to_come_again(behind: Behind) -> None:
    served = Served(behind, per_minute=2)
    replies = [await served.get() for _ in range(3)]
    assert ([reply.status_code for reply in replies], replies[-1].headers["retry-after"]) == ([200, 200, 429], "30")


async def test_guesses_of_the_token_are_counted_too(behind: Behind) -> None:
    served = Served(behind, per_minute=2)
    assert [(await served.client.get("/x")).status_code for _ in range(3)] == [401, 401, 429]


async def test_a_body_that_says_it_is_too_large_is_not_read(behind: Behind) -> None:
    reply = await Served(behind, max_body_bytes=10).client.post("/x", headers=RIGHT, content=b"x" * 11)
    assert (reply.status_code, behind.bodies) == (413, [])


async def test_a_body_that_does_not_say_its_size_is_read_up_to_the_limit(behind: Behind) -> None:
    async def pieces() -> Any:
        for _ in range(3):
            yield b"xxxxx"

    reply = await Served(behind, max_body_bytes=10).client.post("/x", headers=RIGHT, content=pieces())
    assert (reply.status_code, behind.bodies) == (413, [])


async def test_a_request_that_takes_too_long_is_ended(behind: Behind) -> None:
    behind.may_answer.clear()
    reply = await Served(behind, request_s=0.01).get()
    assert (reply.status_code, reply.json()["type"]) == (503, "ServiceError")


async def test_a_stream_may_take_longer_than_a_request(behind: Behind) -> None:
    behind.may_answer.clear()
    served = Served(behind, request_s=0.01)
    asking = asyncio.create_task(served.get("/stream"))
    done, _ = await asyncio.wait({asking}, timeout=0.1)
    behind.may_answer.set()
    assert (not done, (await asking).text) == (True, "data: 1\n\ndata: 2\n\n")


async def test_more_than_so_many_at_once_are_refused(behind: Behind) -> None:
    behind.may_answer.clear()
    served = Served(behind, max_requests=1)
    first = asyncio.create_task(served.get())
    await behind.began.wait()
    refused = await served.get()
    behind.may_answer.set()
    assert (refused.status_code, refused.json()["retryable"], (await first).status_code) == (429, True, 200)


async def test_a_service_that_ends_takes_nothing_new(behind: Behind) -> None:
    served = Served(behind)
    served.stopping.set()
    assert (await served.get()).status_code == 503


async def test_a_request_that_does_not_finish_in_time_is_told_that_the_service_ends(behind: Behind) -> None:
    behind.may_answer.clear()
    served = Served(behind)
    asking = asyncio.create_task(served.get())
    await behind.began.wait()
    served.stopping.set()
    asking.cancel()
    assert (await asking).status_code == 503


async def test_a_stream_that_only_waits_ends_with_the_service(behind: Behind) -> None:
    behind.may_answer.clear()
    served = Served(behind)
    asking = asyncio.create_task(served.get("/stream"))
    await behind.began.wait()
    await asyncio.sleep(0)
    served.stopping.set()
    assert (await asyncio.wait_for(asking, 10)).text == "data: 1\n\n"


def test_a_bucket_fills_again_with_time() -> None:
    now = [0.0]
    limit = RateLimit(60, lambda: now[0])
    taken = [limit.take("a") for _ in range(61)]
    now[0] = 1.0
    assert (taken[-2:], limit.take("a"), limit.take("b")) == ([0.0, 1.0], 0.0, 0.0)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.2", "::", "example.org"])  # nothing listens
def test_an_address_that_others_reach_needs_tls_or_the_flag(host: str) -> None:
    with pytest.raises(ConfigurationError, match="is reachable from the network"):
        ServeOptions(host=host).check()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost", ""])
def test_loopback_needs_no_tls(host: str) -> None:
    ServeOptions(host=host).check()


def test_the_flag_lets_an_address_go_without_tls() -> None:
    ServeOptions(host="192.168.1.2", insecure=True).check()


@pytest.mark.parametrize("origin", ["http://[evil", "http://[::1", "//"])
async def test_an_origin_that_is_no_address_is_refused_and_no_fault(behind: Behind, origin: str) -> None:
    assert (await Served(behind).get(origin=origin)).status_code == 403


async def test_guesses_of_the_token_do_not_use_up_the_rate_of_who_has_it(behind: Behind) -> None:
    served = Served(behind, per_minute=2)
    for _ in range(5):  # from the same address, as all users of a machine have
        await served.client.get("/x")
    assert (await served.get()).status_code == 200


@pytest.mark.parametrize(("address", "is_told"), [("127.0.0.1", True), ("::1", True), ("192.168.1.7", False)])
async def test_only_this_machine_is_told_a_proof_that_a_token_could_be_guessed_with(
    behind: Behind, address: str, *, is_told: bool
) -> None:
    guard = RequestGuard(behind, GuardRules(TOKEN, KnownHosts(), 30.0), RateLimit(9), Activity(), asyncio.Event())
    transport = httpx.ASGITransport(guard, client=(address, 1234))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        reply = await client.get("/health", headers={CHALLENGE_HEADER: "abc"})
    assert (PROOF_HEADER in reply.headers) is is_told
