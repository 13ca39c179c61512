"""The page of settings and trust in a real browser."""

from typing import TYPE_CHECKING

import pytest

from tests.web.conftest import Site

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

expect = pytest.importorskip("playwright.sync_api").expect
expect.set_options(timeout=30_000)
SECRET = "s3cr3t-never-shown-4711"  # made up


@pytest.fixture(scope="module")
def site(own_site: Site) -> Site:
    return own_site


@pytest.fixture(scope="module", autouse=True)
def settings_files(site: Site) -> None:
    """Settings of the shop: some of them may not be set by an untrusted repository."""
    (site.root / ".coderag.yaml").write_text("search:\n  top_k: 7\n", encoding="utf-8")
    local = site.root / ".coderag.local.yaml"
    local.write_text(f"chat:\n  memory: postgres\n  url: postgresql://me:{SECRET}@db/chats\n", encoding="utf-8")
    local.chmod(0o600)


def test_settings_have_sources_and_are_searched(page: "Page", site: Site) -> None:
    page.goto(site.address("settings"))
    page.get_by_role("heading", name="Settings in force").wait_for()
    page.keyboard.press("/")
    page.keyboard.type("results returned by default")
    setting = page.get_by_role("group").filter(has_text="top_k")
    expect(page.get_by_role("status").filter(has_text="setting")).to_contain_text("1 of ")
    setting.get_by_text("top_k").first.click()
    expect(setting).to_contain_text(".coderag.yaml, line 2")
    expect(setting).to_contain_text("CODERAG_SEARCH__TOP_K")
    expect(setting).to_contain_text("integer, 1 to 200")
    assert "q=results+returned" in page.url
    page.get_by_role("searchbox").fill("no such setting")
    page.get_by_text("No setting matches.").wait_for()


def test_trust_decides_what_is_ignored(page: "Page", site: Site) -> None:
    page.goto(site.address("settings"))
    page.get_by_text("not trusted", exact=True).wait_for()
    ignored = page.get_by_role("list", name="Ignored settings")
    expect(ignored).to_contain_text("chat.url")
    expect(ignored).to_contain_text("names a server that gets the conversations")
    assert SECRET not in page.content()
    expect(page.get_by_text(f'coderag trust "{site.root}"')).to_be_visible()
    assert site.machine.run("trust", "--yes").returncode == 0
    page.goto(site.address("settings", changed="1"))
    page.get_by_text("trusted", exact=True).wait_for()
    expect(page.get_by_text("postgresql://me:****@db/chats")).to_be_visible()
    assert SECRET not in page.content()
    assert site.machine.run("trust", "--remove", "--yes").returncode == 0


def test_the_page_is_accessible_and_fits_a_phone(page: "Page", site: Site) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    for theme, width in (("light", 1280), ("dark", 400)):
        page.set_viewport_size({"width": width, "height": 800})
        page.goto(site.address("settings"))
        page.evaluate("theme => localStorage.setItem('coderag-theme', theme)", theme)
        page.reload()
        page.get_by_text("top_k").first.click()
        results = axe.run(page)
        assert results.violations_count == 0, results.generate_report()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
