"""Signing in: a code works once, and nothing is served without a session."""

import json
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.web.conftest import Site

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow


def test_the_printed_address_signs_in_once(browser: "Browser", site: Site) -> None:
    url = json.loads(site.machine.run("web", "--json").stdout)["url"]
    first, second = browser.new_context().new_page(), browser.new_context().new_page()
    first.goto(url)
    first.get_by_role("link", name="Dashboard").wait_for()
    assert "code=" not in first.url
    second.goto(url)
    second.get_by_text("used before or is older").wait_for()
    first.reload()  # the cookie keeps the session
    first.get_by_role("link", name="Dashboard").wait_for()
    first.get_by_role("button", name="Sign out").click()
    first.get_by_role("heading", name="Sign in").wait_for()


def test_pages_of_others_and_requests_without_a_session_are_refused(site: Site) -> None:
    code = json.loads(site.machine.run("web", "--json").stdout)["url"].rpartition("=")[2]
    with httpx.Client(base_url=site.url) as client:
        assert client.get("/api/v1/repositories").status_code == 401
        assert client.post("/web/session", json={"code": "wrong"}).status_code == 403
        assert client.get("/").status_code == 200
        csrf = client.post("/web/session", json={"code": code}).json()["csrf"]
        assert client.get("/api/v1/repositories").status_code == 200
        body = {"root": str(site.root), "query": "discount"}
        assert client.post("/api/v1/search", json=body).status_code == 403  # without the CSRF token
        headers = {"x-coderag-csrf": csrf}
        assert client.post("/api/v1/search", json=body, headers=headers).status_code == 200
        foreign = {**headers, "origin": "http://127.0.0.1:1"}
        assert client.post("/api/v1/search", json=body, headers=foreign).status_code == 403
        assert client.get("/api/v1/repositories", headers={"sec-fetch-site": "same-site"}).status_code == 403
        assert client.post("/service/stop", headers=headers).status_code == 401  # never for pages
        assert client.post("/mcp", headers=headers).status_code == 401


def test_the_local_service_has_nothing_of_a_team_server(page: "Page", site: Site) -> None:
    page.goto(site.address("dashboard"))
    page.get_by_role("button", name="Sign out").wait_for()
    pages = page.get_by_role("navigation", name="Pages", exact=True).get_by_role("link").all_text_contents()
    assert pages == ["Dashboard", "Code", "Search", "Graph", "Map", "Changes", "Ask", "Settings"]
    for path in ("administration/users", "account"):
        page.goto(site.address(path))
        page.get_by_label("Folder of a repository").wait_for()  # as any unknown address: the dashboard
        assert page.url.startswith(f"{site.url}/dashboard?")
    assert page.get_by_text("Sync now").count() == 0


def test_a_page_keeps_its_session_when_the_service_restarts(page: "Page", site: Site) -> None:
    page.goto(site.address("dashboard"))
    page.get_by_role("link", name="Dashboard").wait_for()
    port = site.url.rpartition(":")[2]
    site.machine.kill()
    page.locator(".lost").wait_for()
    site.machine.run("web", "--port", port)
    page.locator(".lost").wait_for(state="hidden")
    page.reload()
    page.get_by_role("link", name="Dashboard").wait_for()


@pytest.mark.parametrize("path", ["/", "/dashboard", "/code/a/b.py", "/assets/../../secrets"])
def test_every_page_has_a_strict_content_security_policy(site: Site, path: str) -> None:
    reply = httpx.get(site.url + path, headers={"accept": "text/html"})
    assert (reply.status_code, "unsafe" in reply.headers["content-security-policy"]) == (200, False)
    assert "default-src 'none'" in reply.headers["content-security-policy"]


def test_a_missing_file_is_not_the_page(site: Site) -> None:
    assert httpx.get(f"{site.url}/assets/gone.js").status_code == 404
