"""The graph page in a real browser."""

import re
from typing import TYPE_CHECKING

import pytest

from tests.web.conftest import Site, find_violations

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.slow

CLASS = re.compile(r"^\s*Cart\s+class")
TOTAL = "shop/cart.py::Cart.compute_total"


def open_graph(page: "Page", site: Site, **query: str) -> None:
    page.goto(site.address("graph", **query))
    page.get_by_role("listbox", name="Nodes of the picture").wait_for()


def list_nodes(page: "Page") -> "Locator":
    return page.get_by_role("listbox", name="Nodes of the picture").get_by_role("option")


def test_the_map_opens_folders_and_files_down_to_declarations(page: "Page", site: Site) -> None:
    open_graph(page, site, open="")
    list_nodes(page).filter(has_text="shop/").first.click()
    panel = page.get_by_role("region", name="Chosen node")
    panel.get_by_role("button", name=re.compile("^Open")).click()
    list_nodes(page).filter(has_text="cart.py").first.click()
    panel.get_by_role("heading", name="cart.py").wait_for()
    panel.get_by_role("button", name=re.compile("^Open")).click()
    list_nodes(page).filter(has_text=CLASS).first.click()
    panel.get_by_role("heading", name="Cart", exact=True).wait_for()
    panel.get_by_text("class Cart").wait_for()
    assert panel.get_by_role("link", name="shop/cart.py:7").get_attribute("href").startswith("/code/shop/cart.py?")
    address = page.url
    page.goto(address)  # a link to this state shows the same
    panel.get_by_role("heading", name="Cart", exact=True).wait_for()
    list_nodes(page).filter(has_text=CLASS).first.wait_for()
    page.go_back()
    assert find_violations(page) == []


def test_a_name_is_found_by_typing_and_its_neighbours_are_drawn(page: "Page", site: Site) -> None:
    open_graph(page, site)
    box = page.get_by_role("combobox", name="Find")
    box.fill("compute_to")
    page.get_by_role("option", name=re.compile("compute_total")).wait_for()
    box.press("ArrowDown")
    box.press("Enter")
    panel = page.get_by_role("region", name="Chosen node")
    panel.get_by_role("heading", name="compute_total").wait_for()
    panel.get_by_text("def compute_total").wait_for()
    assert "mode=neighbours" in page.url
    for name in ("checkout", "apply_discount", "test_the_total_has_the_discount"):
        list_nodes(page).filter(has_text=name).first.wait_for()
    page.get_by_role("region", name="Drawn neighbours").get_by_text(re.compile(r"compute_total: \d+ of \d+")).wait_for()
    list_nodes(page).filter(has_text="apply_discount").first.click()
    panel.get_by_role("heading", name="apply_discount").wait_for()
    panel.get_by_role("button", name="Expand").click()
    list_nodes(page).filter(has_text="MAX_DISCOUNT_PERCENT").first.wait_for()
    assert find_violations(page) == []


def test_filters_stay_in_the_address_and_change_the_picture(page: "Page", site: Site) -> None:
    open_graph(page, site, name=TOTAL)
    list_nodes(page).filter(has_text="test_the_total").first.wait_for()
    page.get_by_text("Filters").click()
    page.get_by_role("checkbox", name="Test code").uncheck()
    list_nodes(page).filter(has_text="test_the_total").wait_for(state="detached")
    page.get_by_role("checkbox", name="calls").uncheck()
    list_nodes(page).filter(has_text="apply_discount").wait_for(state="detached")
    assert "tests=0" in page.url
    page.reload()
    list_nodes(page).filter(has_text="compute_total").first.wait_for()
    assert list_nodes(page).filter(has_text="apply_discount").count() == 0


def test_path_impact_cycles_and_hotspots(page: "Page", site: Site) -> None:
    open_graph(page, site, mode="path", name="checkout", end="apply_discount")
    assert [text.split()[0] for text in list_nodes(page).all_inner_texts()] == [
        "checkout", "compute_total", "apply_discount"
    ]  # fmt: skip
    page.get_by_role("button", name="Swap both ends").click()
    page.get_by_text("No path from apply_discount to checkout is known").wait_for()
    open_graph(page, site, mode="impact", name="apply_discount")
    list_nodes(page).filter(has_text="checkout").first.wait_for()
    page.get_by_role("button", name="Hotspots").click()
    page.get_by_role("region", name="Table of hotspots").get_by_role("button").first.click()
    page.get_by_role("region", name="Chosen node").get_by_role("button", name="Neighbours").wait_for()
    assert find_violations(page) == []
    page.get_by_role("button", name="Cycles").click()
    page.get_by_text("No files import one another in a cycle").wait_for()


def test_pictures_are_saved(page: "Page", site: Site) -> None:
    open_graph(page, site, name=TOTAL)
    contents = {}
    for kind in ("SVG", "PNG", "Mermaid"):
        page.get_by_text("Save", exact=True).click()
        with page.expect_download() as download:
            page.get_by_role("button", name=kind).click()
        contents[kind] = download.value.path().read_bytes()
    assert contents["SVG"].startswith(b"<svg")
    assert b"compute_total" in contents["SVG"]
    assert contents["SVG"].count(b'class="subject"') == 1
    assert contents["PNG"].startswith(b"\x89PNG")
    assert contents["Mermaid"].startswith(b"flowchart")
    assert b"compute#95;total" in contents["Mermaid"] or b"compute_total" in contents["Mermaid"]


def test_the_list_is_walked_by_keyboard(page: "Page", site: Site) -> None:
    open_graph(page, site, open="")
    page.keyboard.press("l")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    list_nodes(page).first.and_(page.get_by_role("option", selected=True)).wait_for()
    before = list_nodes(page).count()
    page.keyboard.press("Enter")
    list_nodes(page).nth(before).wait_for()
    page.keyboard.press("+")
    page.keyboard.press("0")


def test_errors_are_explained(page: "Page", site: Site) -> None:
    page.goto(site.address("graph", name="no_such_thing"))
    page.get_by_role("alert").filter(has_text="no_such_thing").first.wait_for()
    page.goto(f"{site.url}/graph?repo=/nowhere")
    page.get_by_role("alert").first.wait_for()


def test_it_fits_a_phone_in_the_dark(page: "Page", site: Site) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    page.emulate_media(color_scheme="dark")
    open_graph(page, site, name=TOTAL)
    page.get_by_role("region", name="Chosen node").get_by_role("heading", name="compute_total").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert find_violations(page) == []
