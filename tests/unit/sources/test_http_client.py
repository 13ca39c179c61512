"""The JSON client of connectors, against a real server: faults, waits, limits, and where the credential goes."""

import gzip
import time
from collections.abc import Iterator
from email.utils import formatdate
from ipaddress import ip_address
from typing import Any

import pytest

from coderag.errors import ConfigurationError, SourceAuthenticationError, SourceError, SourceUnavailableError
from coderag.sources.http_client import JSONClient, RequestPolicy
from coderag.sources.http_replies import find_wait_s
from coderag.system import host_addresses
from tests.loopback import LoopbackServer, Reply, Request

TOKEN = "pat-2f9c1d7e"


class API(LoopbackServer):
    def respond(self, request: Request) -> Reply:
        return Reply({"path": request.path, "authorization": request.headers.get("authorization")})


_clients: list[JSONClient] = []


@pytest.fixture
def api() -> Iterator[API]:
    with API() as server:
        yield server
    while _clients:
        _clients.pop().close()


def connect(api: API, waits: list[float] | None = None, token: str = TOKEN, **limits: Any) -> JSONClient:
    policy = RequestPolicy(sleep=(waits if waits is not None else []).append, **limits)
    client = JSONClient(f"{api.url}/v1", name="Tracker", authenticate=lambda: {"authorization": token}, policy=policy)
    _clients.append(client)
    return client


def fail(api: API, path: str = "tasks?key=secret-value", **limits: Any) -> SourceError:
    with pytest.raises(SourceError) as caught:
        connect(api, **limits).get(path)
    return caught.value


def test_request_carries_the_credential_and_its_query(api: API) -> None:
    assert connect(api).get("tasks", {"page": 2}).content == {"path": "/v1/tasks?page=2", "authorization": TOKEN}


@pytest.mark.parametrize("status", [429, 500, 503])
def test_transient_status_is_repeated_after_the_wait_that_it_asks_for(api: API, status: int) -> None:
    waits: list[float] = []
    client = connect(api, waits)
    api.next(Reply({}, status, {"Retry-After": "7"}), Reply({}, status))
    assert client.get("tasks").status == 200
    assert waits == [7.0, 2.0]
    assert (client.counts.requests, client.counts.retries, client.counts.waited_s) == (3, 2, 9.0)


def test_retry_after_may_be_a_date(api: API) -> None:
    waits: list[float] = []
    api.next(Reply({}, 503, {"Retry-After": formatdate(time.time() + 40, usegmt=True)}))
    connect(api, waits).get("tasks")
    assert waits == [pytest.approx(40.0, abs=2.0)]


def test_date_to_wait_for_counts_by_the_servers_clock() -> None:
    headers = {"retry-after": formatdate(5_000_040, usegmt=True), "date": formatdate(5_000_000, usegmt=True)}
    assert find_wait_s(503, headers) == 40.0
    assert find_wait_s(503, {"retry-after": "soon"}) is None


def test_reset_time_of_the_rate_is_kept(api: API, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 1_000.0)
    waits: list[float] = []
    api.next(Reply({}, 429, {"X-RateLimit-Reset": "1033"}))
    connect(api, waits).get("tasks")
    assert waits == [33.0]


def test_wait_of_a_successful_reply_holds_before_the_next_request(api: API) -> None:
    waits: list[float] = []
    client = connect(api, waits)
    api.next(Reply({}, 200, {"Retry-After": "9"}))
    client.get("tasks")
    assert waits == []
    client.get("tasks")
    assert waits == [pytest.approx(9.0, abs=0.5)]


def test_longer_wait_than_the_limit_ends_at_once(api: API) -> None:
    api.next(Reply({}, 429, {"Retry-After": "3600"}))
    error = fail(api)
    assert isinstance(error, SourceUnavailableError)
    assert "3600 s" in str(error)
    assert len(api.requests) == 1


def test_overload_that_lasts_makes_the_source_unavailable(api: API) -> None:
    api.next(*[Reply({"err": "Overloaded"}, 503)] * 3)
    error = fail(api, attempts=3)
    assert isinstance(error, SourceUnavailableError)
    assert error.retryable
    assert "Overloaded" in str(error)


def test_broken_connection_is_repeated(api: API) -> None:
    api.next(Reply({"a": 1}, withheld=10))
    assert connect(api).get("tasks").status == 200


def test_unreachable_server_is_unavailable() -> None:
    client = JSONClient(
        "http://127.0.0.1:9", name="Tracker", authenticate=dict, policy=RequestPolicy(sleep=lambda _: None)
    )
    with pytest.raises(SourceUnavailableError, match=r"Tracker at 127\.0\.0\.1:9"):
        client.get("tasks")
    client.close()


def test_silent_server_is_unavailable(api: API) -> None:
    api.next(Reply({}, delay_s=5), Reply({}, delay_s=5))
    assert "no answer within 0.05 s" in str(fail(api, attempts=2, timeout_s=0.05))


@pytest.mark.parametrize("status", [401, 403])
def test_refused_credential_is_an_authentication_error_without_the_credential(api: API, status: int) -> None:
    api.next(Reply({"err": f"Token {TOKEN} invalid", "ECODE": "OAUTH_019"}, status))
    error = fail(api)
    assert isinstance(error, SourceAuthenticationError)
    assert "OAUTH_019: Token *** invalid" in str(error)
    assert TOKEN not in str(error) + error.hint
    assert len(api.requests) == 1


def test_message_names_host_and_path_but_no_query(api: API) -> None:
    api.next(Reply({"error": {"code": "itemNotFound", "message": "No such item"}}, 404))
    message = str(fail(api))
    assert api.url.removeprefix("http://") in message
    assert "/v1/tasks" in message
    assert "itemNotFound: No such item" in message
    assert "secret-value" not in message


def test_password_of_basic_authentication_stays_out_of_messages(api: API) -> None:
    api.next(Reply({"message": "no access for swordfish9"}, 400))
    with pytest.raises(SourceError) as caught:
        connect(api, token="Basic OnN3b3JkZmlzaDk=").get("tasks")
    assert "swordfish9" not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("<!DOCTYPE html><p>Maintenance", "HTML page"),
        ("{broken", "not a JSON object"),
        ("[1, 2]", "not a JSON object"),
        ("[" * 100_000, "not a JSON object"),
        ('{"a": NaN}', "not a JSON object"),
    ],
)
def test_unusable_reply_is_an_error(api: API, body: str, words: str) -> None:
    api.next(Reply(body))
    assert words in str(fail(api))


def test_sign_in_page_is_an_authentication_error(api: API) -> None:
    api.next(Reply("<html>", 203, {"Content-Type": "text/html"}))
    assert isinstance(fail(api), SourceAuthenticationError)


def test_text_that_was_cut_within_a_character_is_read(api: API) -> None:
    api.next(Reply('{"name": "cut \\ud83d"}'))
    assert connect(api).get("tasks").content == {"name": "cut ?"}


def test_compressed_reply_counts_by_its_unpacked_size(api: API) -> None:
    api.next(Reply(gzip.compress(b" " * 2_000_000), headers={"Content-Encoding": "gzip"}))
    with pytest.raises(SourceError, match="larger than 1,000,000 bytes"):
        connect(api).download("file", 1_000_000)


def test_redirect_to_another_host_is_refused(api: API) -> None:
    with API() as other:
        api.next(Reply(status=302, headers={"Location": f"{other.url}/signin?code=secret-value"}))
        message = str(fail(api))
        assert other.requests == []
    assert "redirects to 127.0.0.1" in message
    assert "secret-value" not in message


def test_redirect_within_the_host_is_followed(api: API) -> None:
    api.next(Reply(status=307, headers={"Location": "/v2/tasks"}))
    assert connect(api).get("tasks").content["path"] == "/v2/tasks"


def test_redirects_without_end_are_an_error(api: API) -> None:
    api.next(*[Reply(status=302, headers={"Location": "/v1/tasks"})] * 9)
    assert "redirects" in str(fail(api))


def test_link_to_another_host_is_refused(api: API) -> None:
    with API() as other:
        assert "another host" in str(fail(api, f"{other.url}/v1/tasks"))
        assert other.requests == []
    assert "another host" in str(fail(api, f"{api.url.replace('//', '//user:word@')}/v1/tasks"))


def test_download_from_another_host_carries_no_credential(api: API) -> None:
    with API() as other:
        api.next(Reply(status=302, headers={"Location": f"{other.url}/blob?sig=1", "Set-Cookie": "session=1"}))
        data = connect(api).download("files/1/content", 1_000)
        assert data is not None
        (request,) = other.requests
    assert "authorization" not in request.headers
    assert "cookie" not in request.headers
    assert request.path == "/blob?sig=1"


def test_server_on_the_internet_leads_into_no_private_network(api: API, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_addresses, "resolve_host", lambda *_: [ip_address("93.184.216.34")])
    public = JSONClient(
        api.url.replace("127.0.0.1", "localhost"), name="Tracker", authenticate=dict, policy=RequestPolicy(attempts=1)
    )
    _clients.append(public)
    with API() as inside:
        api.next(Reply(status=302, headers={"Location": f"{inside.url}/metadata"}))
        with pytest.raises(SourceError, match="redirects to 127"):
            public.download("files/1/content", 1_000)
        with pytest.raises(SourceError, match="private network"):
            public.download("https://10.0.0.5/metadata", 1_000)
        assert inside.requests == []


def test_download_of_a_file_that_is_gone_is_none(api: API) -> None:
    api.next(Reply({}, 404))
    assert connect(api).download("files/1/content", 1_000) is None


def test_download_without_encryption_is_refused(api: API) -> None:
    with pytest.raises(SourceError, match=r"without encryption at files\.example"):
        connect(api).download("http://files.example/1", 1_000)


def test_address_without_encryption_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="unencrypted"):
        JSONClient("http://tracker.example", name="Tracker", authenticate=dict)


def test_credential_with_a_line_break_is_refused_without_naming_it(api: API) -> None:
    with pytest.raises(SourceAuthenticationError) as caught:
        connect(api, token="pat-2f9c\n").get("tasks")
    assert "pat-2f9c" not in str(caught.value)


def test_expected_status_is_returned(api: API) -> None:
    api.next(Reply({"error": {"code": "resyncRequired"}}, 410))
    assert connect(api).get("delta", statuses=(410,)).status == 410
