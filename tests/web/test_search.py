"""The search playground: as you type, explained, tried with other weights, recorded, and judged."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from evals.golden import load_golden
from tests.web.conftest import Site, find_violations

if TYPE_CHECKING:
    from playwright.sync_api import Page, Request

pytestmark = pytest.mark.slow

QUERY = "how is a discount applied to the total"
VIEWS = ["", "explain", "experiment", "recorded", "golden"]
EXPERIMENT = "dense:0,length:3,-lexical,-coverage"


def results(page: "Page"):
    return page.get_by_role("list", name="Results", exact=True).get_by_role("article")


def open_search(page: "Page", site: Site, **query: str) -> None:
    page.goto(site.address("search", **query))
    page.get_by_role("textbox", name="Search this repository").wait_for()


def test_results_follow_the_typing_and_explanations_are_asked_for_only_when_open(page: "Page", site: Site) -> None:
    requests: list[Request] = []
    page.on("request", lambda request: requests.append(request))  # noqa: PLW0108  # Playwright takes no built-in method
    open_search(page, site)
    page.keyboard.type("apply_discount", delay=20)  # the box has the focus
    first = results(page).first
    first.get_by_role("link", name="apply_discount", exact=True).wait_for()
    assert "def apply_discount" in first.inner_text()
    assert first.locator(".marked").count() >= 1
    page.wait_for_url("**q=apply_discount**")
    paths = [request.url.rpartition("/api/v1/")[2] for request in requests]
    assert "explain" not in paths
    assert all(not json.loads(request.post_data or "{}")["record"] for request in requests if "preview" in request.url)
    page.get_by_role("link", name="Explain").click()
    page.get_by_role("heading", name="Understood as").wait_for()
    assert results(page).first.get_by_role("img", name=re.compile(r"Contributions to the rank: .* \+")).count() == 1


def test_the_keyboard_walks_the_results_and_opens_one(page: "Page", site: Site) -> None:
    open_search(page, site, q=QUERY)
    results(page).nth(1).wait_for()
    second = results(page).nth(1).locator("[data-result]").inner_text()
    page.keyboard.press("/")
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
    assert page.evaluate("() => document.activeElement.textContent") == second
    assert "at=2" in page.url
    page.keyboard.press("Enter")
    page.wait_for_url(f"{site.url}/code/**")
    page.go_back()
    results(page).nth(1).wait_for()
    assert "at=2" in page.url
    page.locator("[data-result]").first.focus()
    page.keyboard.press("ArrowUp")
    assert page.evaluate("() => document.activeElement.id") == "search"


def test_filters_are_in_the_address_and_can_be_cleared(page: "Page", site: Site) -> None:
    open_search(page, site, q=QUERY)
    results(page).first.wait_for()
    page.get_by_text("Filters", exact=True).click()
    page.get_by_role("combobox", name="Role").select_option("test")
    page.get_by_text("the filters match 1 of").wait_for()
    page.wait_for_url("**role=test**")
    page.reload()
    page.get_by_text("the filters match 1 of").wait_for()
    assert "tests/test_cart.py" in results(page).first.inner_text()
    page.get_by_label("Paths").fill("web/**")
    page.get_by_label("Paths").press("Enter")
    page.get_by_role("alert").get_by_text("no indexed file passes all filters").wait_for()
    page.get_by_role("button", name="Clear the filters").click()
    results(page).nth(2).wait_for()
    assert "role=" not in page.url


def test_an_explanation_says_what_the_question_was_understood_as(page: "Page", site: Site) -> None:
    open_search(page, site, q="who calls apply_discount", view="explain")
    understood = page.get_by_role("region", name="What the question was understood as")
    understood.get_by_text("calls (what calls the subject)").wait_for()
    assert understood.get_by_role("link", name=re.compile(r"discount\.py:\d+")).count() == 1
    first = results(page).first
    first.get_by_text(re.compile("^Score")).click()
    table = first.get_by_role("table", name=re.compile("Contributions to the rank of"))
    assert table.get_by_role("row").count() > 4
    assert "symbol table" in first.inner_text()
    assert re.search(r"in the context", first.inner_text())


def test_an_experiment_shows_moves_and_its_settings_are_in_the_address(page: "Page", site: Site) -> None:
    open_search(page, site, q=QUERY, view="experiment")
    page.get_by_role("region", name="Setting A").get_by_text("no difference").wait_for()
    page.get_by_role("checkbox", name="words", exact=True).uncheck()
    slider = page.get_by_label("Setting A: weight of length", exact=True)
    slider.fill("4")
    page.get_by_role("checkbox", name="coverage", exact=True).uncheck()
    page.get_by_role("region", name="Setting A").get_by_text(re.compile(r"\d moved")).wait_for()
    page.wait_for_url(re.compile(r"a=length%3A4%2C-lexical%2C-coverage"))
    page.get_by_role("button", name="Compare with a second setting").click()
    page.get_by_role("region", name="Setting B").wait_for()
    page.get_by_role("group", name="Setting A").get_by_text("As settings").click()
    text = page.get_by_label("Setting A as settings").inner_text()
    assert text == "search:\n  weights: {length: 4}\n  disabled_signals: [lexical, coverage]"
    page.reload()
    page.get_by_role("region", name="Setting A").get_by_text(re.compile(r"\d moved")).wait_for()
    assert page.get_by_label("Setting A: weight of length", exact=True).input_value() == "4"


def test_a_recorded_query_is_replayed_after_an_edit(page: "Page", site: Site) -> None:
    query = "how is a price formatted for people"
    open_search(page, site)
    page.keyboard.type(query)
    with page.expect_response(lambda response: '"record":true' in (response.request.post_data or "")):
        page.keyboard.press("Enter")
    page.get_by_role("link", name="Recorded queries").click()
    page.get_by_role("link", name=query).wait_for()
    page.get_by_role("button", name=f"Replay {query}").click()
    page.get_by_text("The same results in the same order").wait_for()
    source = site.root / "web" / "cart_view.ts"
    before = source.read_text(encoding="utf-8")
    source.write_text(before.replace("formatPrice", "showPrice"), encoding="utf-8")
    try:
        site.machine.run("index")
        page.get_by_role("button", name=f"Replay {query}").click()
        moves = page.get_by_role("list", name=f"Results of {query} now")
        moves.get_by_text("new").wait_for()
        assert "gone, was 1" in moves.inner_text()
    finally:
        source.write_text(before, encoding="utf-8")
        site.machine.run("index")


def test_thumbs_are_exported_as_a_golden_set_that_an_evaluation_runs(page: "Page", site: Site, tmp_path: Path) -> None:
    open_search(page, site, q=QUERY)
    card = results(page).first
    answer = card.get_by_role("button", name=re.compile("^Answers the query"))
    answer.click()
    card.locator("button[aria-pressed=true]").wait_for()
    results(page).nth(2).get_by_role("button", name=re.compile("^Does not answer")).click()
    page.reload()
    card.locator("button.up[aria-pressed=true]").wait_for()
    page.get_by_role("link", name=re.compile("^Golden set")).click()
    page.get_by_text("does not answer").wait_for()
    with page.expect_download() as download:
        page.get_by_role("link", name="Export 1 question").click()
    path = tmp_path / "feedback.jsonl"
    download.value.save_as(path)
    (question,) = load_golden(path).questions
    assert question.question == QUERY
    evaluation = site.machine.run("eval", "run", str(path), "--repo", str(site.root), "--json")
    assert evaluation.returncode == 0, evaluation.stderr
    page.get_by_role("button", name=f"Delete {QUERY}").click()
    page.get_by_text("There is no feedback yet").wait_for()


def test_errors_say_what_to_do(page: "Page", site: Site) -> None:
    open_search(page, site, q=QUERY, since="no-such-revision")
    page.get_by_role("alert").get_by_text("no-such-revision").wait_for()
    page.goto(f"{site.url}/search?repo=/gone/away&q=anything")
    page.get_by_role("alert").wait_for()


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (400, "dark")])
def test_every_view_is_accessible(page: "Page", site: Site, theme: str, width: int) -> None:
    page.add_init_script(f"localStorage.setItem('coderag-theme', '{theme}')")
    page.set_viewport_size({"width": width, "height": 850})
    for view in VIEWS:
        open_search(page, site, q=QUERY, view=view, a=EXPERIMENT, role="source")
        waits = {"": "Confidence", "explain": "Understood as", "experiment": "Setting A", "recorded": "record"}
        page.get_by_text(waits.get(view, "Thumbs on results")).last.wait_for()
        assert find_violations(page) == [], view
        assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0, view
