"""Answers of a language model in the browser: each statement is marked by how the cited lines prove it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.loopback.ollama_server import OllamaServer
from tests.web.conftest import Site, find_violations, run_site

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

REPLY = (
    "`checkout` charges the bank and calls `create_order` [1]. It raises a `PaymentError` if the bank declines [1].\n\n"
    "It also calls `send_mail` [1].\n\n<script>document.title = 'taken over'</script>"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with (
        OllamaServer(answer=REPLY) as server,
        run_site(tmp_path_factory, CODERAG_LLM__PROVIDER="ollama", CODERAG_LLM__BASE_URL=server.url) as site,
    ):
        yield site


def test_statements_are_marked_and_dropped_ones_are_listed(page: "Page", site: Site) -> None:
    page.goto(site.address("ask"))
    page.get_by_label("Question").fill("how does checkout work?")
    page.get_by_label("Question").press("Enter")
    answer = page.get_by_role("article")
    answer.get_by_text("How each statement was checked").click()
    claims = answer.get_by_role("listitem").filter(has=page.locator(".claim"))
    assert claims.filter(has_text="create_order").get_by_text("proved").is_visible()
    assert claims.filter(has_text="send_mail").get_by_text("dropped").is_visible()
    answer.get_by_role("button", name="Source 1").first.click()
    page.get_by_role("dialog").get_by_text("return create_order(cart, total)").wait_for()
    page.keyboard.press("Escape")
    assert "taken over" not in page.title()
    assert find_violations(page) == []
