"""History in the code browser, and reviews of changes, in a real browser."""

import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from tests.support.changed_repository import SHOP_FILES, commit_files, make_repository, write_files
from tests.web.conftest import Site, find_violations

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

expect = pytest.importorskip("playwright.sync_api").expect
expect.set_options(timeout=30_000)


@pytest.fixture(scope="module")
def repository(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with two commits and an edit that is not committed."""
    root = make_repository(tmp_path_factory.mktemp("git") / "till")
    doubled = SHOP_FILES["shop/cart.py"].replace("return sum(prices)", "return 2 * sum(prices)")
    commit_files(root, {"shop/cart.py": doubled}, "Double the prices\n\nFixes SHOP-7.")
    write_files(root, {"shop/cart.py": doubled.replace("def add_up(prices)", "def add_up(prices, tax)")})
    done = site.machine.run("index", str(root))
    assert done.returncode == 0, done.stderr
    return root


def build_address(site: Site, repository: Path, path: str, query: str = "") -> str:
    return f"{site.url}/{path}?repo={quote(str(repository), safe='')}&{query}"


def test_blame_shows_who_wrote_a_line_and_leads_to_its_history(page: "Page", site: Site, repository: Path) -> None:
    page.goto(build_address(site, repository, "code/shop/cart.py"))
    page.get_by_text("def add_up").wait_for()
    page.keyboard.press("b")
    page.wait_for_url(re.compile("blame=1"))
    doubled = page.get_by_title(re.compile("^Double the prices"))
    doubled.wait_for()
    expect(page.get_by_title("Not committed yet")).to_have_text("—")
    doubled.click()
    commit = page.get_by_role("complementary", name="Commit of line 16")
    commit.get_by_text("SHOP-7", exact=True).wait_for()
    commit.get_by_role("link", name="shop/cart.py").wait_for()
    assert find_violations(page) == []
    commit.get_by_role("link", name="History of this line").click()
    commits = page.get_by_role("region", name="Commits").get_by_role("listitem")
    expect(commits.first).to_contain_text("Double the prices")
    page.go_back()
    page.keyboard.press("h")
    expect(page.get_by_role("region", name="Commits")).to_contain_text("Start the shop")


def test_history_of_a_declaration_leads_to_the_review_of_a_commit(page: "Page", site: Site, repository: Path) -> None:
    page.goto(build_address(site, repository, "code/shop/cart.py", "name=add_up"))
    page.get_by_role("link", name="History", exact=True).click()
    page.get_by_text("History of function").wait_for()
    page.get_by_text("Double the prices").click()
    page.get_by_role("link", name="Review this change").wait_for()
    assert find_violations(page) == []
    page.get_by_role("link", name="Review this change").click()
    declarations = page.get_by_role("region", name="Changed declarations")
    expect(declarations.get_by_role("listitem").first).to_contain_text("body add_up")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_review_of_the_working_tree(page: "Page", site: Site, repository: Path, scheme: str) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.goto(build_address(site, repository, "changes"))
    page.get_by_role("list", name="Dependents of add_up").get_by_role("link", name="Cart.total").wait_for()
    expect(page.get_by_role("region", name="Tests to run")).to_contain_text("test_add_up")
    expect(page.get_by_role("region", name="Documents that name it")).to_contain_text("docs/guide.md:3")
    expect(page.get_by_role("region", name="History")).to_contain_text("SHOP-7")
    assert find_violations(page) == []
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert find_violations(page) == []
    page.get_by_role("textbox", name="From").fill("nowhere")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("nowhere")
    assert "from=nowhere" in page.url
    page.get_by_role("button", name="Last commit").click()
    page.get_by_text("Nothing is known").or_(page.get_by_text("body add_up")).or_(
        page.get_by_text("SHOP-7")
    ).first.wait_for()
    assert "from=HEAD%7E1&to=HEAD" in page.url
