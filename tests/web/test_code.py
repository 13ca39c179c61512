"""The code browser: tree, files, chunks by facets, and walks from a declaration to its callers and callees."""

import re
from typing import TYPE_CHECKING

import pytest

from tests.web.conftest import Site, find_violations

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

ODD_NAME = "odd & new/<script>alert(1)<_script> #1 100%?.py"
N_FUNCTIONS = 10_000


@pytest.fixture(scope="module")
def site(own_site: Site) -> Site:
    return own_site


@pytest.fixture(scope="module")
def odd_files(site: Site) -> None:
    """Files that are hard to show, in the repository and its index."""
    odd = site.root / ODD_NAME
    odd.parent.mkdir()
    odd.write_text('def odd():\n    return "<b>bold</b>"\n', encoding="utf-8")
    functions = (f"def f{number}(x):\n    # step\n    return x + {number}\n\n\n" for number in range(N_FUNCTIONS))
    (site.root / "long.py").write_text("".join(functions), encoding="utf-8")
    (site.root / "minified.js").write_text("var a=1;" + "f(1);" * 190_000, encoding="utf-8")
    (site.root / "logo.png").write_bytes(b"\x89PNG\0\0" * 100)
    (site.root / "gone.py").write_text("def gone():\n    return 1\n", encoding="utf-8")
    for _ in range(2):  # the first may join a job that began before these files were written
        assert site.machine.run("index").returncode == 0


def code_of(page: "Page") -> str:
    return page.get_by_role("region", name=re.compile("^Code of")).inner_text()


def test_the_tree_leads_to_a_file_whose_calls_lead_on(page: "Page", site: Site) -> None:
    page.goto(site.address("code"))
    tree = page.get_by_role("tree", name="Files")
    tree.get_by_role("treeitem", name="shop").click()
    tree.get_by_role("treeitem", name="checkout.py").click()
    page.wait_for_url("**/code/shop/checkout.py?*")
    page.locator(".keyword", has_text="def").first.wait_for()  # highlighted
    page.get_by_role("navigation", name="Outline").get_by_role("link", name="create_order").click()
    assert "line=16-18" in page.url
    page.get_by_role("region", name="Code of shop/checkout.py").get_by_role("link", name="charge").first.click()
    page.get_by_role("heading", name="charge").wait_for()


def test_a_walk_over_callers_and_callees_has_a_trail_that_leads_back(page: "Page", site: Site) -> None:
    page.goto(site.address("code/shop/cart.py", name="Cart.compute_total"))
    callers = page.get_by_role("region", name=re.compile("callers?$"))
    callers.get_by_role("link", name="checkout", exact=True).wait_for()
    assert "total = cart.compute_total(code)" in callers.inner_text()
    callee = page.get_by_role("region", name="Callees").get_by_role("link", name="apply_discount")
    line = page.locator(".line", has_text="return apply_discount")
    assert abs(callee.bounding_box()["y"] - line.bounding_box()["y"]) < 15  # type: ignore[index]
    callee.click()
    page.get_by_role("heading", name="apply_discount").wait_for()
    trail = page.get_by_role("navigation", name="Trail")
    assert "Cart.compute_total" in trail.inner_text()
    page.reload()  # the trail is in the address
    trail.get_by_role("link", name="Back").click()
    page.get_by_role("heading", name="Cart.compute_total").wait_for()
    assert trail.count() == 0


def test_the_box_goes_to_places_and_names_by_the_keyboard_alone(page: "Page", site: Site) -> None:
    page.goto(site.address("code"))
    box = page.get_by_role("combobox", name="Go to a file or a declaration")
    box.wait_for()
    page.keyboard.press("t")
    page.keyboard.type("payment.py:17")
    page.get_by_role("option", name="payment.py:17").wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**/code/shop/payment.py?*line=17*")
    page.locator(".line.marked", has_text="def charge").wait_for()
    page.keyboard.press(".")
    page.keyboard.type("apply_disc")
    page.get_by_role("option", name="apply_discount").first.wait_for()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="apply_discount").wait_for()


def test_the_tree_is_used_by_the_keyboard_alone(page: "Page", site: Site) -> None:
    page.goto(site.address("code"))
    folder = page.get_by_role("treeitem", name="web")
    folder.focus()
    page.keyboard.press("ArrowRight")
    page.get_by_role("treeitem", name="cart_view.ts").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/code/web/cart_view.ts?*")
    page.get_by_label("Filter files by name").fill("cart test")
    page.get_by_role("list", name="Matching files").get_by_role("link", name="test_cart.py").click()
    page.wait_for_url("**/code/tests/test_cart.py?*")


def test_lines_are_chosen_by_their_numbers_and_kept_in_the_address(page: "Page", site: Site) -> None:
    page.goto(site.address("code/shop/cart.py"))
    page.get_by_role("link", name="7", exact=True).click()
    page.get_by_role("link", name="9", exact=True).click(modifiers=["Shift"])
    assert "line=7-9" in page.url
    page.reload()
    page.locator(".line.marked").nth(2).wait_for()
    assert page.locator(".line.marked").count() == 3


def test_chunks_are_chosen_by_facets_that_the_address_keeps(page: "Page", site: Site) -> None:
    page.goto(site.address("code/shop", view="chunks"))
    facets = page.get_by_role("form", name="Facets")
    facets.get_by_role("checkbox", name=re.compile("^class")).check()
    page.get_by_role("link", name="PaymentError").wait_for()
    page.get_by_role("link", name="apply_discount").wait_for(state="hidden")
    assert "kind=class" in page.url
    page.reload()
    page.get_by_role("link", name="PaymentError").wait_for()
    assert facets.get_by_role("checkbox", name=re.compile("^class")).is_checked()
    facets.get_by_label("Name contains").fill("nothing like it")
    page.get_by_text("No chunk matches").wait_for()


def test_an_edit_is_shown_with_a_note(page: "Page", site: Site) -> None:
    path = site.root / "shop" / "errors.py"
    before = path.read_text(encoding="utf-8")
    path.write_text(before.replace("Errors of the shop", "All errors"), encoding="utf-8")
    try:
        page.goto(site.address("code/shop/errors.py"))
        page.get_by_text("Edited since the last index run").wait_for()
        assert "All errors" in code_of(page)
    finally:
        path.write_text(before, encoding="utf-8")


@pytest.mark.usefixtures("odd_files")
def test_odd_names_and_files_without_text_are_shown(page: "Page", site: Site) -> None:
    page.goto(site.address("code"))
    tree = page.get_by_role("tree", name="Files")
    tree.get_by_role("treeitem", name="odd & new").click()
    tree.get_by_role("treeitem", name="<script>").click()
    page.get_by_text('return "<b>bold</b>"').wait_for()
    page.reload()
    page.get_by_text('return "<b>bold</b>"').wait_for()
    tree.get_by_role("treeitem", name="logo.png").click()
    page.get_by_text("This file is not text").wait_for()
    (site.root / "gone.py").unlink()
    page.goto(site.address("code/gone.py"))
    page.get_by_text(re.compile("This file is gone|no file 'gone.py'")).wait_for()
    page.goto(site.address("code/never.py"))
    page.get_by_role("alert").get_by_text("no file 'never.py' in the index").wait_for()


@pytest.mark.usefixtures("odd_files")
def test_long_files_and_lines_do_not_freeze_the_page(page: "Page", site: Site) -> None:
    page.goto(site.address("code/long.py", line="49996"))
    page.locator(".line.marked", has_text=f"def f{N_FUNCTIONS - 1}").wait_for()
    page.locator(".keyword", has_text="def").first.wait_for()
    assert page.locator(".line").count() < 200
    page.get_by_role("region", name="Code of long.py").focus()
    page.keyboard.press("Control+Home")
    page.get_by_text("def f0(x):").wait_for()
    page.goto(site.address("code/minified.js"))
    page.get_by_text("more characters").wait_for()
    assert len(code_of(page)) < 10_000


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("path", "query", "ready"),
    [
        ("code", {}, "checkout"),
        ("code/shop/checkout.py", {"line": "8-10"}, "create_order"),
        ("code/shop/cart.py", {"name": "Cart.compute_total"}, "apply_discount"),
        ("code/shop", {"view": "chunks"}, "derived from the code"),
    ],
)
def test_every_view_is_accessible_and_fits_a_phone(
    page: "Page", site: Site, path: str, query: dict[str, str], ready: str, scheme: str
) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.goto(site.address(path, **query))
    if path == "code":
        page.get_by_role("treeitem", name="shop").click()
    page.get_by_text(ready).first.wait_for()
    page.wait_for_function("!document.body.innerText.includes('Loading …')")
    assert find_violations(page) == []
    page.set_viewport_size({"width": 400, "height": 800})
    assert find_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
