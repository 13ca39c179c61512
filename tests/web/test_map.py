"""The embedding map: points, clusters as a list, a query on it, lasso, links, and the code behind a point."""

import re
from typing import TYPE_CHECKING

import pytest

from tests.web.conftest import Site, find_violations

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow


def open_map(page: "Page", site: Site, **query: str) -> None:
    page.goto(site.address("map", **query))
    page.get_by_role("toolbar", name="Map tools").wait_for()
    page.get_by_role("heading", name="Clusters").wait_for()


def draw_around(page: "Page") -> None:
    """Draw a lasso around all points, and around the tools at the top right."""
    box = page.get_by_role("application").bounding_box()
    assert box is not None
    left, top, right, bottom = box["x"] + 4, box["y"] + 4, box["x"] + box["width"] - 4, box["y"] + box["height"] - 4
    page.mouse.move(left, bottom)
    page.mouse.down()
    middle = left + 0.55 * (right - left)
    corners = ((left, top), (middle, top), (middle, top + 60), (right, top + 60), (right, bottom), (left + 8, bottom))
    for x, y in corners:
        page.mouse.move(x, y, steps=5)
    page.mouse.up()


def test_a_cluster_is_selected_by_keyboard_listed_and_in_the_address(page: "Page", site: Site) -> None:
    open_map(page, site)
    cluster = page.get_by_role("region", name="Clusters").get_by_role("button").first
    count = int(re.findall(r"\d+", cluster.inner_text())[-1])
    cluster.focus()
    page.keyboard.press("Enter")
    chunks = page.get_by_role("region", name="Chunks of the cluster")
    chunks.get_by_role("link").first.wait_for()
    assert chunks.get_by_role("listitem").count() == min(count, 50)
    assert "cluster=" in page.url
    page.reload()
    page.get_by_role("region", name="Chunks of the cluster").get_by_role("link").first.wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("region", name="Chunks of the cluster").wait_for(state="hidden")
    assert "cluster=" not in page.url


def test_a_query_colours_the_map_and_its_results_are_numbered(page: "Page", site: Site) -> None:
    open_map(page, site)
    page.get_by_label("Query to compare with the map").fill("apply a discount")
    page.keyboard.press("Enter")
    page.get_by_text("numbered on the map").wait_for()
    assert page.get_by_label("Colour by").input_value() == "similarity"
    assert page.locator(".ring").count() > 0
    assert "q=apply" in page.url
    page.get_by_role("link", name="apply_discount", exact=True).first.click()
    page.wait_for_url(re.compile(r"/code/shop/discount\.py"))
    page.go_back()
    page.get_by_text("numbered on the map").wait_for()


def test_the_lasso_lists_what_is_in_it_without_what_the_legend_hides(page: "Page", site: Site) -> None:
    open_map(page, site, color="language")
    legend = page.get_by_role("list", name="Legend")
    python = legend.get_by_role("button", name="python")
    hidden_count = int(re.findall(r"\d+", python.inner_text())[-1])
    page.get_by_role("button", name="Lasso").click()
    draw_around(page)
    selected = page.get_by_role("region", name="Selected by the lasso").get_by_role("status")
    selected.wait_for()
    total = int(selected.inner_text().split()[0])
    python.click()
    assert python.get_attribute("aria-pressed") == "false"
    page.keyboard.down("Shift")
    draw_around(page)
    page.keyboard.up("Shift")
    page.wait_for_function(
        "expected => document.querySelector('[aria-labelledby=selection-title] [role=status]').innerText.startsWith(expected)",
        arg=f"{total - hidden_count} ",
    )


def test_a_point_shows_its_declaration_and_a_click_opens_its_code(page: "Page", site: Site) -> None:
    open_map(page, site, q="compute_total")
    page.get_by_text("numbered on the map").wait_for()
    ring = page.locator(".ring", has_text=re.compile("^1$")).bounding_box()
    assert ring is not None
    x, y = ring["x"] + ring["width"] / 2, ring["y"] + ring["height"] / 2
    page.mouse.move(x - 40, y)
    page.mouse.move(x, y, steps=4)
    card = page.locator(".card")
    card.get_by_text("shop/").or_(card.get_by_text("web/")).first.wait_for()
    page.mouse.click(x, y)
    page.wait_for_url(re.compile(r"/code/.+line="))


def test_the_map_moves_and_zooms_by_keyboard(page: "Page", site: Site) -> None:
    open_map(page, site, q="compute_total")
    ring = page.locator(".ring", has_text=re.compile("^1$"))
    ring.wait_for()

    def locate() -> tuple[float, float]:
        page.wait_for_timeout(50)
        box = ring.bounding_box()
        assert box is not None
        return box["x"], box["y"]

    start = locate()
    page.get_by_role("application").focus()
    page.keyboard.press("ArrowRight")
    assert locate()[0] < start[0]
    page.keyboard.press("0")
    assert locate() == start
    page.keyboard.press("+")
    page.keyboard.press("0")
    assert locate() == start


def test_a_browser_without_webgl_shows_the_map_too(page: "Page", site: Site) -> None:
    page.add_init_script(
        "const get = HTMLCanvasElement.prototype.getContext;"
        "HTMLCanvasElement.prototype.getContext = function (kind, ...rest)"
        " { return kind === 'webgl2' ? null : get.call(this, kind, ...rest); };"
    )
    open_map(page, site)
    page.wait_for_function(
        "() => { const canvas = document.querySelector('canvas'); const size = [canvas.width, canvas.height];"
        " return canvas.getContext('2d').getImageData(0, 0, ...size).data.some((value) => value > 0); }"
    )


def test_a_repository_without_an_index_is_explained(page: "Page", site: Site) -> None:
    empty = site.root.parent / "empty"
    empty.mkdir(exist_ok=True)
    page.goto(site.address("map", repo=str(empty)))
    page.get_by_text("not indexed yet").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible_and_fits_a_phone(page: "Page", site: Site, scheme: str) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    open_map(page, site, q="apply a discount")
    page.get_by_text("numbered on the map").wait_for()
    page.get_by_role("region", name="Clusters").get_by_role("button").first.click()
    page.get_by_role("region", name="Chunks of the cluster").get_by_role("link").first.wait_for()
    assert find_violations(page) == []
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert find_violations(page) == []
