"""Asking: streamed answers with proofs, lines on disk, follow-ups, threads and the trace."""

import re
from typing import TYPE_CHECKING

import pytest

from tests.web.conftest import Site, find_violations

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.slow

expect = pytest.importorskip("playwright.sync_api").expect

QUESTION = "who calls apply_discount?"


def ask(page: "Page", text: str) -> None:
    page.get_by_label("Question").fill(text)
    page.get_by_label("Question").press("Enter")


def wait_for_proof(answer: "Locator") -> None:
    """Wait for the end of an answer: its quotations are checked last, and then it is stored."""
    answer.get_by_text("quotations match the files").or_(answer.get_by_text("quotation matches the file")).wait_for()


def test_an_answer_is_proved_and_its_lines_are_shown_as_they_are_on_disk(page: "Page", site: Site) -> None:
    page.goto(site.address("ask"))
    ask(page, QUESTION)
    answer = page.get_by_role("article")
    wait_for_proof(answer)
    assert "compute_total" in answer.inner_text()
    assert answer.get_by_text("proved").count() >= 1
    answer.get_by_role("link", name=re.compile(r"cart\.py:\d+")).first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("region", name="Lines on disk").wait_for()
    assert "return apply_discount(total, code)" in dialog.inner_text()
    page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")


def test_a_conversation_goes_on_is_listed_survives_a_reload_and_is_deleted(page: "Page", site: Site) -> None:
    page.goto(site.address("ask"))
    ask(page, "where is apply_discount defined?")
    wait_for_proof(page.get_by_role("article").first)
    ask(page, "who calls it?")
    wait_for_proof(page.get_by_role("article").nth(1))
    assert "thread=" in page.url
    page.reload()
    page.get_by_role("article").nth(1).get_by_text("compute_total").first.wait_for()
    page.on("dialog", lambda dialog: dialog.accept())
    threads = page.get_by_role("navigation", name="Conversations")
    count = threads.get_by_role("listitem").count()
    threads.get_by_role("button", name="Delete where is apply_discount defined?").first.click()
    page.get_by_text("Ask about this repository").wait_for()
    expect(threads.get_by_role("listitem")).to_have_count(count - 1)


def test_the_steps_of_the_query_are_a_timeline(page: "Page", site: Site) -> None:
    page.goto(site.address("ask"))
    ask(page, QUESTION)
    page.get_by_text(re.compile("^Steps:")).click()
    steps = page.get_by_role("table", name="Steps of the query graph")
    assert {"analyze", "answer"} <= set(steps.locator("tbody td:first-child").all_inner_texts())


def test_an_edit_after_the_answer_shows_in_the_lines(page: "Page", site: Site) -> None:
    file = site.root / "shop" / "discount.py"
    before = file.read_text(encoding="utf-8")
    page.goto(site.address("ask"))
    ask(page, "where is apply_discount defined?")
    place = page.get_by_role("article").get_by_role("link", name=re.compile(r"discount\.py:\d+")).first
    place.wait_for()
    try:
        file.write_text(before.replace("limited by MAX", "at most MAX"), encoding="utf-8")
        place.click()
        page.get_by_role("dialog").get_by_text("at most MAX_DISCOUNT_PERCENT").wait_for()
    finally:
        file.write_text(before, encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible_and_fits_a_phone(page: "Page", site: Site, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto(site.address("ask"))
    ask(page, QUESTION)
    page.get_by_text("match").first.wait_for()
    assert find_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
