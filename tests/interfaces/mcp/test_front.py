"""The front between a client and what may go away behind it."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from coderag import __version__
from coderag.interfaces.mcp.framing import MAX_LINE_BYTES
from coderag.interfaces.mcp.stdio.handshake import CAPABILITIES_KEY, PROTOCOL_KEY, Handshake
from coderag.interfaces.mcp.stdio.proxy import SessionProxy
from tests.interfaces.mcp.fake_backend import Client, FakeBackends

INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
ENVELOPE = {"_meta": {PROTOCOL_KEY: "2026-07-28", CAPABILITIES_KEY: {}}}


class Session:
    """A client, a front and what is behind it."""

    def __init__(self) -> None:
        self.client = Client()
        self.behind = FakeBackends()
        self.front = SessionProxy(self.client.write, self.behind, Handshake("all"), health_check_s=0.02)

    def say(self, method: str, request: Any = None, params: Any = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "id": request, "params": params}
        self.front.handle_client_line(json.dumps({name: it for name, it in message.items() if it is not None}).encode())

    def ask(self, method: str, request: Any, params: Any = None) -> dict[str, Any]:
        self.say(method, request, params)
        return self.client.next()

    def open(self) -> None:
        """Begin as clients of the handshake's era do."""
        assert self.ask("initialize", 0, INITIALIZE)["result"]["protocolVersion"] == "2025-11-25"
        self.say("notifications/initialized")


@pytest.fixture
def session() -> Iterator[Session]:
    session = Session()
    yield session
    session.behind.allowed.set()
    session.front.close()
    session.behind.close()


def test_initialize_is_answered_before_anything_is_behind(session) -> None:
    session.behind.allowed.clear()
    result = session.ask("initialize", "one", INITIALIZE)["result"]
    assert (result["serverInfo"]["version"], session.front.is_connected) == (__version__, False)


def test_discover_is_answered_before_anything_is_behind(session) -> None:
    session.behind.allowed.clear()
    assert session.ask("server/discover", 1, ENVELOPE)["result"]["supportedVersions"] == ["2026-07-28"]


def test_an_unknown_version_is_offered_the_newest(session) -> None:
    offered = session.ask("initialize", 1, {**INITIALIZE, "protocolVersion": "1999-01-01"})["result"]
    assert offered["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize(
    "params",
    [
        None,
        [],
        {},
        {**INITIALIZE, "clientInfo": "me"},
        {**INITIALIZE, "protocolVersion": 3},
        {**INITIALIZE, "capabilities": {"roots": 1}},
    ],
)
def test_an_odd_initialize_is_left_to_the_server(session, params) -> None:
    assert session.ask("initialize", 1, params)["result"] == {"method": "initialize", "server": 0}


def test_the_reply_to_initialize_is_seen_once(session) -> None:
    session.open()
    assert session.ask("tools/list", 1)["result"] == {"method": "tools/list", "server": 0}
    assert session.behind.methods(0) == ["initialize", "notifications/initialized", "tools/list"]


def test_a_client_may_try_discover_and_then_initialize(session) -> None:
    session.ask("server/discover", 1, ENVELOPE)
    session.open()
    assert session.ask("tools/list", 2)["result"]["server"] == 0


def test_a_second_discover_is_left_to_the_server(session) -> None:
    session.ask("tools/list", 1, ENVELOPE)
    assert session.ask("server/discover", 2, ENVELOPE)["result"]["server"] == 0


def test_requests_wait_in_order_for_what_is_behind(session) -> None:
    session.behind.allowed.clear()
    session.open()
    for number in range(1, 20):
        session.say(f"method/{number}", number)
    session.behind.allowed.set()
    assert [session.client.next()["id"] for _ in range(1, 20)] == list(range(1, 20))


def test_ping_is_answered_while_nothing_is_behind(session) -> None:
    session.behind.allowed.clear()
    session.open()
    assert session.ask("ping", 7) == {"jsonrpc": "2.0", "id": 7, "result": {}}


def test_what_is_under_way_fails_with_advice_when_the_server_goes(session) -> None:
    session.open()
    session.say("hang", 1)
    session.say("hang", "two")
    session.say("die", 3)
    failed = [session.client.next() for _ in range(3)]
    assert sorted(map(str, (one["id"] for one in failed))) == ["1", "3", "two"]
    assert all("again" in one["error"]["message"] and one["error"]["data"]["retryable"] for one in failed)


def test_the_next_request_finds_another_server_that_was_introduced(session) -> None:
    session.open()
    assert "error" in session.ask("die", 1)
    assert session.ask("tools/list", 2)["result"]["server"] == 1
    assert session.behind.methods(1) == ["initialize", "notifications/initialized", "tools/list"]
    assert not session.client.has_more


def test_a_client_without_handshake_goes_on_with_another_server(session) -> None:
    session.ask("server/discover", 0, ENVELOPE)
    session.ask("die", 1, ENVELOPE)
    session.ask("tools/list", 2, ENVELOPE)
    assert session.behind.methods(1) == ["tools/list"]


def test_subscriptions_are_taken_to_another_server_at_once(session) -> None:
    session.open()
    session.ask("resources/subscribe", 1, {"uri": "coderag://a"})
    session.ask("resources/subscribe", 2, {"uri": "coderag://b"})
    session.ask("resources/unsubscribe", 3, {"uri": "coderag://b"})
    session.behind.kill(0)
    reached = threading.Event()
    for _ in range(500):
        if len(session.behind.said) > 1 and len(session.behind.said[1]) == 3:
            break
        reached.wait(0.01)
    assert session.behind.methods(1) == ["initialize", "notifications/initialized", "resources/subscribe"]


def test_a_server_that_cannot_be_had_fails_requests_with_the_reason(session) -> None:
    session.behind.fault = "a part is missing"
    session.open()
    assert "a part is missing" in session.ask("tools/list", 1)["error"]["message"]


def test_a_server_that_can_be_had_later_is_used_then(session) -> None:
    session.behind.fault = "a part is missing"
    session.open()
    session.ask("tools/list", 1)
    session.behind.fault = ""
    replies = (session.ask("tools/list", number) for number in range(2, 50))  # an attempt may have been under way
    assert next(reply for reply in replies if "result" in reply)["result"]["server"] == 0


def test_a_cancelled_request_is_not_waited_for(session) -> None:
    session.open()
    session.say("hang", 1)
    assert not session.front.is_idle
    session.say("notifications/cancelled", params={"requestId": 1})
    assert session.front.is_idle


def test_a_request_that_is_cancelled_before_it_was_sent_is_not_sent(session) -> None:
    session.behind.allowed.clear()
    session.open()
    session.say("tools/call", 1)
    session.say("notifications/cancelled", params={"requestId": 1})
    session.behind.allowed.set()
    session.ask("tools/list", 2)
    assert "tools/call" not in session.behind.methods(0)


def test_listening_for_notices_does_not_keep_a_session_open(session) -> None:
    session.say("subscriptions/listen", 1, ENVELOPE)
    assert session.front.is_idle


def test_a_line_that_is_too_long_is_refused(session) -> None:
    session.front.handle_client_line(None)
    assert str(MAX_LINE_BYTES) in session.client.next()["error"]["message"]


def test_a_server_that_is_connected_and_does_no_work_is_not_waited_for_for_ever(session) -> None:
    session.open()
    session.behind.well = [False, True]  # as a process that was stopped
    refused = session.ask("hang", 1)
    assert (refused["error"]["code"], refused["error"]["data"]) == (-32000, {"retryable": True})
    assert session.ask("tools/list", 2)["result"]["server"] == 1


def test_a_server_that_works_long_is_waited_for(session) -> None:
    session.open()
    looks = threading.Semaphore(0)

    class Well(list):
        def __getitem__(self, position):
            looks.release()
            return True

    session.behind.well = Well([True])
    session.say("hang", 1)
    assert all(looks.acquire(timeout=10) for _ in range(8))
    assert session.ask("ping", 2)["result"]["server"] == 0
