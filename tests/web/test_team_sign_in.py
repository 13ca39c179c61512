"""Sign-in to a team server, its account menu, and the end of a session, in a real browser."""

import re

import pytest

from tests.web.conftest import TeamSite, find_violations

pytestmark = pytest.mark.slow

expect = pytest.importorskip("playwright.sync_api").expect
expect.set_options(timeout=30_000)


def test_a_wrong_key_is_refused_and_a_right_one_signs_in(team: TeamSite) -> None:
    page = team.open()
    box = page.get_by_label("API key")
    box.fill("cr_unknown")
    box.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("This key does not sign in")
    expect(box).to_have_value("")
    expect(box).to_have_attribute("type", "password")
    box.fill("cr_member")
    box.press("Enter")
    page.get_by_role("button", name="Account: The member").click()
    menu = page.locator("#account-menu")
    expect(menu).to_contain_text("Role: member")
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(page.get_by_role("button", name="Account: The member")).to_be_focused()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("heading", name="Sign in to CodeRAG").wait_for()
    page.reload()
    page.get_by_role("heading", name="Sign in to CodeRAG").wait_for()


def test_the_provider_leads_back_to_the_address_that_was_asked_for(team: TeamSite) -> None:
    page = team.open("administration/jobs?state=failed")
    page.get_by_role("link", name="Sign in with login.example.org").click()
    page.get_by_role("heading", name="Jobs").wait_for()
    assert page.url == team.address("administration/jobs?state=failed")


@pytest.mark.parametrize(("methods", "has_key", "has_provider"), [(["key"], True, False), (["oidc"], False, True)])
def test_only_the_offered_ways_to_sign_in_are_shown(
    team: TeamSite, methods: list[str], *, has_key: bool, has_provider: bool
) -> None:
    team.state.methods = methods
    page = team.open()
    page.get_by_role("heading", name="Sign in to CodeRAG").wait_for()
    assert page.get_by_label("API key").is_visible() == has_key
    assert page.get_by_role("link", name=re.compile("Sign in with")).is_visible() == has_provider


def test_an_ended_session_is_told_and_can_be_renewed(team: TeamSite) -> None:
    page = team.sign_in("admin", "administration/users")
    page.get_by_role("link", name="Build server").wait_for()
    admin = team.state.find_user("The admin")
    admin["is_active"] = False
    page.get_by_role("link", name="Teams").click()
    expect(page.get_by_role("alert")).to_have_text("Your session has ended. Sign in again.")
    admin["is_active"] = True
    page.get_by_label("API key").fill("cr_admin")
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.get_by_role("heading", name="Teams").wait_for()


def test_the_sign_in_is_accessible_in_both_themes(team: TeamSite) -> None:
    page = team.open(width=400)
    for theme in ("light", "dark"):
        page.evaluate("theme => localStorage.setItem('coderag-theme', theme)", theme)
        page.reload()
        page.get_by_label("API key").wait_for()
        assert find_violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
