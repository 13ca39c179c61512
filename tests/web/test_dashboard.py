"""The dashboard: repositories, coverage, freshness, jobs and recent questions in a real browser."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.shop import write_shop
from tests.web.conftest import Site, find_violations

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

expect = pytest.importorskip("playwright.sync_api").expect
expect.set_options(timeout=30_000)
HOSTILE_NAME = "web/<script>window.bad = 1<script>.ts"


@pytest.fixture(scope="module")
def site(own_site: Site) -> Site:
    return own_site


def open_dashboard(page: "Page", site: Site, **query: str) -> None:
    page.goto(site.address("dashboard", **query))
    page.get_by_role("heading", name="Coverage").wait_for()


def check_axe(page: "Page") -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    for theme in ("light", "dark"):
        page.evaluate("theme => localStorage.setItem('coderag-theme', theme)", theme)
        page.reload()
        page.get_by_role("heading", name="Coverage").wait_for()
        page.get_by_text("● live").wait_for()
        results = axe.run(page)
        assert results.violations_count == 0, results.generate_report()


def test_the_index_is_described(page: "Page", site: Site) -> None:
    open_dashboard(page, site)
    counts = page.get_by_role("list", name="Counts")
    expect(counts).to_contain_text("9 files")
    expect(page.get_by_text("embedded/coderag-words")).to_be_visible()
    languages = page.get_by_role("table", name="Share of each language")
    expect(languages.get_by_role("row").nth(1)).to_contain_text("python")
    page.get_by_role("button", name="files", exact=True).click()
    expect(page.get_by_role("table", name="Share of each language by files")).to_contain_text("77.8 %")
    assert "by=files" in page.url
    expect(page.get_by_role("table", name="Edges by relation")).to_contain_text("calls")
    expect(page.get_by_role("table", name="Disk space by part")).to_contain_text("code graph")


def test_coverage_leads_down_to_the_file(page: "Page", site: Site) -> None:
    (site.root / "yarn.lock").write_text("locked\n", encoding="utf-8")
    hostile = site.root / HOSTILE_NAME
    hostile.parent.mkdir(parents=True, exist_ok=True)
    hostile.write_text("export const one = ;\n", encoding="utf-8")
    assert site.machine.run("index").returncode == 0
    open_dashboard(page, site)
    page.get_by_role("button", name="lock file").click()
    files = page.get_by_role("table", name="files with their outcomes")
    expect(files).to_contain_text("yarn.lock")
    assert "group=skipped" in page.url
    page.reload()  # the view has an address
    expect(files).to_contain_text("yarn.lock")
    page.get_by_role("button", name="lock file").click()
    expect(files).to_be_hidden()
    page.get_by_role("searchbox", name="Filter the files").fill("<SCRIPT>")
    expect(files.get_by_role("link")).to_have_text(HOSTILE_NAME)
    expect(files).to_contain_text("syntax error")
    assert page.evaluate("window.bad") is None
    page.get_by_role("searchbox", name="Filter the files").fill("nowhere")
    page.get_by_text("No file matches.").wait_for()


def test_edits_and_their_indexing_appear_by_themselves(page: "Page", site: Site) -> None:
    open_dashboard(page, site)
    page.get_by_text("up to date").wait_for()
    generation = page.get_by_text(re.compile(r"^\s*\d+, written"))
    number = int(generation.inner_text().partition(",")[0])
    (site.root / "shop" / "gift.py").write_text("def wrap_gift() -> str:\n    return 'paper'\n", encoding="utf-8")
    expect(generation).to_contain_text(f"{number + 1}, written")
    expect(page.get_by_role("list", name="Earlier jobs")).to_contain_text("1 added of")
    page.get_by_text("up to date").wait_for()


def test_open_pages_follow_the_index_and_move_nothing_unasked(page: "Page", site: Site) -> None:
    context = page.context
    tree, search, graph = page, context.new_page(), context.new_page()
    tree.goto(site.address("code/shop/cart.py"))
    tree.get_by_role("treeitem", name="cart.py").wait_for()
    search.goto(site.address("search", q="ribbon colour"))
    search.get_by_role("button", name="Next").or_(search.get_by_text("Nothing matches")).or_(
        search.get_by_role("list").last
    ).first.wait_for()
    graph.goto(site.address("graph"))
    graph.get_by_role("listbox", name="Nodes of the picture").wait_for()
    (site.root / "shop" / "ribbon.py").write_text(
        "def choose_ribbon_colour(box: str) -> str:\n    return 'red'\n", encoding="utf-8"
    )
    tree.bring_to_front()
    tree.get_by_role("treeitem", name="ribbon.py").wait_for()
    expect(tree.get_by_text("What is shown here has changed")).to_be_hidden()
    search.get_by_text("this search has other results now").wait_for()
    expect(search.get_by_text("choose_ribbon_colour")).to_have_count(0)
    search.keyboard.press("Escape")
    search.get_by_role("button", name="Show", exact=True).click()
    search.get_by_text("choose_ribbon_colour").first.wait_for()
    graph.get_by_text("The index was updated.").wait_for()
    graph.get_by_role("button", name="Dismiss").click()
    graph.get_by_text("The index was updated.").wait_for(state="hidden")
    with (site.root / "shop" / "cart.py").open("a", encoding="utf-8") as file:
        file.write("\n\ndef empty_cart() -> None:\n    pass\n")
    tree.get_by_text("What is shown here has changed").wait_for()
    assert find_violations(tree) == []
    tree.keyboard.press("u")
    tree.get_by_text("empty_cart").first.wait_for()
    search.close()
    graph.close()


def test_ask_offers_to_index_a_folder_without_an_index(page: "Page", site: Site, tmp_path: Path) -> None:
    bare = write_shop(tmp_path / "silent shop")
    page.goto(f"{site.url}/ask?repo={bare}")
    page.get_by_text("is not indexed yet").wait_for()
    expect(page.get_by_role("textbox", name="Question")).to_be_hidden()
    assert find_violations(page) == []
    page.get_by_role("button", name="Index this repository").click()
    page.get_by_role("textbox", name="Question").wait_for()


def test_a_full_rebuild_asks_first_and_works_by_keyboard(page: "Page", site: Site) -> None:
    open_dashboard(page, site)
    page.get_by_role("button", name="Full rebuild").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Rebuild", exact=True)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Full rebuild")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Rebuild", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("list", name="Earlier jobs")).to_contain_text("Full rebuild:")


def test_recent_questions_are_listed_opened_and_deleted(page: "Page", site: Site) -> None:
    assert site.machine.run("search", "apply a discount").returncode == 0
    open_dashboard(page, site)
    questions = page.get_by_role("region", name="Recent questions")
    if not questions.get_by_role("link", name="apply a discount").count():  # the command answered without the service
        page.evaluate(
            """async ([root, query]) => {
                const csrf = (await (await fetch('/web/session')).json()).csrf;
                const headers = {'content-type': 'application/json', 'x-coderag-csrf': csrf};
                await fetch('/api/v1/search', {method: 'POST', headers, body: JSON.stringify({root, query})});
            }""",
            [str(site.root), "apply a discount"],
        )
        page.reload()
    link = questions.get_by_role("link", name="apply a discount").first
    link.wait_for()
    questions.get_by_text("Results of generation").first.click()
    expect(questions.get_by_role("link", name="discount.py").first).to_be_visible()
    assert "q=apply+a+discount" in (link.get_attribute("href") or "")
    questions.get_by_role("button", name="Delete all …").click()
    questions.get_by_role("button", name="Delete all", exact=True).click()
    questions.get_by_text("Nothing was asked yet").wait_for()


def test_a_repository_is_added_indexed_and_forgotten(page: "Page", site: Site, tmp_path: Path) -> None:
    other = write_shop(tmp_path / "second shop")
    open_dashboard(page, site)
    folder = page.get_by_role("textbox", name="Folder of a repository")
    add = page.get_by_role("button", name="Add and index")
    for text, refusal in [
        ("shop", "is not an absolute path"),
        (str(tmp_path / "gone"), "gone"),
        (site.machine.variables["HOME"], "home"),
        (str(other / "README.md"), "README.md"),
    ]:
        folder.fill(text)
        add.click()
        expect(page.get_by_role("alert")).to_contain_text(refusal)
    folder.fill(str(other))
    add.click()
    page.get_by_role("heading", name="second shop").wait_for()
    expect(page.get_by_role("list", name="Counts")).to_contain_text("9 files")
    listed = page.get_by_role("list", name="Repositories").get_by_role("listitem").filter(has_text=str(other))
    listed.get_by_role("button", name="Forget second shop").click()
    listed.get_by_role("button", name="Forget", exact=True).click()
    expect(listed).to_be_hidden()
    assert (other / ".coderag").is_dir()
    known = json.loads(site.machine.run("repos", "--json").stdout)
    assert str(other) not in json.dumps(known)


def test_a_repository_without_an_index_offers_to_build_one(page: "Page", site: Site, tmp_path: Path) -> None:
    bare = write_shop(tmp_path / "bare shop")
    page.goto(f"{site.url}/dashboard?repo={bare}")
    page.get_by_text("Nothing is indexed yet").wait_for()
    page.get_by_role("button", name="Index this repository").click()
    expect(page.get_by_role("list", name="Counts")).to_contain_text("9 files")


def test_a_deleted_repository_is_said_to_be_gone(page: "Page", site: Site, tmp_path: Path) -> None:
    page.goto(f"{site.url}/dashboard?repo={tmp_path / 'never'}")
    expect(page.get_by_role("alert")).to_contain_text("never")


def test_the_page_is_accessible_and_fits_a_phone(page: "Page", site: Site) -> None:
    open_dashboard(page, site, group="indexed:")
    page.get_by_role("table", name="files with their outcomes").wait_for()
    check_axe(page)
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    check_axe(page)
