"""Requests to Confluence and Jira: credentials, refusals, throttling, pages in place of JSON, broken replies."""

import logging
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coderag.config.source_sections import SECTIONS_BY_SYSTEM
from coderag.errors import (
    CodeRAGError,
    ConfigurationError,
    SourceAuthenticationError,
    SourceError,
    SourceUnavailableError,
)
from coderag.sources.atlassian.client import AtlassianClient, AtlassianLogin, is_cloud_address
from coderag.sources.connector_table import open_source
from tests.loopback import Reply
from tests.unit.sources.atlassian_servers import (
    EMAIL,
    LOGIN_PAGE,
    SECRET,
    ConfluenceServer,
    JiraServer,
    open_confluence,
    open_jira,
)


@pytest.fixture(params=[True, False], ids=["cloud", "data-center"])
def jira(request: pytest.FixtureRequest) -> Iterator[JiraServer]:
    with JiraServer(is_cloud=request.param) as server:
        yield server


def test_refused_credential_is_an_authentication_error_without_the_credential(jira: JiraServer) -> None:
    wrong = "ATATT3-another-token"
    jira.next(Reply({"errorMessages": [f"token {wrong} is unknown"]}, 401))
    with pytest.raises(SourceAuthenticationError, match=r"127\.0\.0\.1") as caught:
        open_jira(jira, wrong).check()
    assert_has_no_secret(caught.value, wrong)


def test_login_refused_with_status_200_is_an_authentication_error(jira: JiraServer) -> None:
    jira.next(
        Reply({"issues": [], "isLast": True, "total": 0}, headers={"X-Seraph-LoginReason": "AUTHENTICATED_FAILED"})
    )
    with pytest.raises(SourceAuthenticationError, match="AUTHENTICATED_FAILED"):
        list(open_jira(jira).list_ids())


@pytest.mark.parametrize(
    ("reply", "error", "message"),
    [
        (LOGIN_PAGE, SourceAuthenticationError, "an HTML page came instead of JSON, to sign in"),
        (Reply("<html>Maintenance</html>", headers={"Content-Type": "text/html"}), SourceError, "an HTML page"),
        (
            Reply("", 302, headers={"Location": "https://id.example.org/login?next=x"}),
            SourceAuthenticationError,
            "sign in",
        ),
        (Reply("", 301, headers={"Location": "/jira/rest"}), SourceError, "redirects to 127.0.0.1"),
        (Reply('{"results": ['), SourceError, "not valid JSON"),
        (Reply("[]"), SourceError, "not a JSON object"),
        (Reply("{}"), SourceError, "no results"),
        (Reply({"message": "Could not parse cql"}, 400), SourceError, "status 400.: Could not parse cql"),
        (Reply(b"[" * 100_000), SourceError, "not valid JSON"),
    ],
    ids=["login", "maintenance", "redirect-login", "redirect", "cut-json", "array", "no-results", "refused", "nested"],
)
def test_unusable_reply_is_an_error_that_names_host_and_path(
    reply: Reply, error: type[SourceError], message: str
) -> None:
    with ConfluenceServer(is_cloud=False) as server:
        server.next(reply)
        with pytest.raises(error, match=message) as caught:
            list(open_confluence(server).list_ids())
        assert f"Confluence at {server.url.removeprefix('http://')}, rest/api/content/search" in str(caught.value)
        assert_has_no_secret(caught.value)


def test_throttled_request_waits_as_long_as_the_server_asks(jira: JiraServer) -> None:
    jira.next(Reply({}, 429, headers={"Retry-After": "7"}), Reply({}, 503))
    waits: list[float] = []
    assert open_jira(jira, waits=waits).check() == "Project One"
    assert waits == [7.0, 2.0]


@pytest.mark.parametrize(
    "replies",
    [
        [Reply({}, 429, headers={"Retry-After": "86400"})],
        [Reply({"message": "overloaded"}, 503)] * 3,
        [Reply(b"{", withheld=10)] * 3,
    ],
    ids=["long-wait", "overloaded", "broken-connection"],
)
def test_persistent_overload_is_a_retryable_error(jira: JiraServer, replies: list[Reply]) -> None:
    jira.next(*replies)
    with pytest.raises(SourceUnavailableError) as caught:
        open_jira(jira).check()
    assert caught.value.retryable
    assert len(jira.requests) == len(replies)
    assert_has_no_secret(caught.value)


def test_unreachable_server_is_a_retryable_error_without_the_credential() -> None:
    with JiraServer(is_cloud=False) as server:
        source = open_jira(server)
    with pytest.raises(SourceUnavailableError, match="cannot be reached") as caught:
        source.check()
    assert_has_no_secret(caught.value)


def test_debug_log_has_neither_credential_nor_contents(jira: JiraServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    jira.put("PROJ-1", "Confidential summary")
    list(open_jira(jira).read_changes(None))
    assert SECRET not in caplog.text
    assert "Confidential" not in caplog.text


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"address": "http://jira.example.org"}, ConfigurationError),
        ({"address": "https://ann:pass@jira.example.org"}, ConfigurationError),
        ({"secret": " "}, SourceAuthenticationError),
        ({"secret": "two\nlines"}, SourceAuthenticationError),
        ({"email": ""}, SourceAuthenticationError),
    ],
    ids=["unencrypted", "credential-in-address", "no-secret", "line-break", "no-email"],
)
def test_unusable_login_is_refused_before_any_request(options: dict[str, Any], error: type[CodeRAGError]) -> None:
    settings = {
        "address": "https://example.atlassian.net",
        "email": EMAIL,
        "secret": SECRET,
        "is_cloud": True,
    } | options
    with pytest.raises(error) as caught:
        AtlassianClient(AtlassianLogin(**settings), "Jira")
    assert "pass" not in str(caught.value).split("password")[0]


def test_login_representation_hides_credential() -> None:
    assert SECRET not in repr(AtlassianLogin("https://jira.example.org", EMAIL, SECRET, is_cloud=False))


@pytest.mark.parametrize(
    ("address", "is_cloud"),
    [
        ("https://example.atlassian.net/wiki", True),
        ("https://api.atlassian.com/ex/jira/1f", True),
        ("https://atlassian.net.example.org", False),
        ("https://jira.example.org", False),
    ],
)
def test_address_tells_cloud_from_data_center(address: str, is_cloud: bool) -> None:  # a case's value
    assert is_cloud_address(address) is is_cloud


@pytest.mark.parametrize("system", ["confluence", "jira"])
def test_source_opens_from_its_settings(system: str, tmp_path: Path) -> None:
    server = ConfluenceServer(is_cloud=False) if system == "confluence" else JiraServer(is_cloud=False)
    scope = {"spaces": ["DOCS"]} if system == "confluence" else {"projects": ["PROJ"]}
    with server:
        section = SECTIONS_BY_SYSTEM[system].model_validate(
            {"system": system, "address": server.url, "token": SECRET, **scope}
        )
        source = open_source("wiki", section, tmp_path, tmp_path / "own")
        assert source.check() in {"Documentation", "Project One"}
        source.close()
    cloud = section.model_copy(update={"address": "https://example.atlassian.net"})
    with pytest.raises(SourceAuthenticationError, match="e-mail address of the account"):
        open_source("wiki", cloud, tmp_path, tmp_path / "own")


def test_attachment_elsewhere_is_fetched_without_credential() -> None:
    with ConfluenceServer(is_cloud=True) as server, ConfluenceServer(is_cloud=True) as storage:
        server.put("1")
        server.attach("att1", "1", "notes.md", b"# Notes")
        storage.next(Reply(b"# Notes from the store"))
        source = open_confluence(server)
        rows = [Reply({"results": [server.contents["att1"]], "_links": {}}), Reply({"results": [server.contents["1"]]})]
        server.next(*rows, Reply("", 302, headers={"Location": f"{storage.url}/blob?signature=1"}))
        page = source.read_items(["att1"])
    assert [item.text for item in page.items] == ["# Notes from the store"]
    assert "authorization" not in storage.requests[0].headers


def assert_has_no_secret(error: BaseException, secret: str = SECRET) -> None:
    """Assert that an error, its chain and the variables of its frames do not print a credential."""
    assert secret not in "".join(traceback.format_exception(error))
    assert secret not in repr(error)
    if isinstance(error, CodeRAGError):
        assert secret not in error.hint
    chain = error
    while chain.__cause__ or chain.__context__:
        chain = chain.__cause__ or chain.__context__  # type: ignore[assignment]
        assert not hasattr(chain, "request"), "the library's exception holds the request with its credential"
