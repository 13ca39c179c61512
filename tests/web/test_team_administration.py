"""Users, teams, credentials, the audit record and the server in a real browser."""

import json
from pathlib import Path

import pytest

from tests.web.conftest import TeamSite, find_violations

pytestmark = pytest.mark.slow

expect = pytest.importorskip("playwright.sync_api").expect
expect.set_options(timeout=30_000)

SECTIONS = ["Users", "Teams", "Repositories", "Credentials", "Jobs", "Audit", "Server"]
SECRET = "made-up-token-4711"  # made up


@pytest.mark.parametrize(
    ("role", "sections"),
    [
        ("owner", SECTIONS),
        ("admin", ["Users", "Teams", "Repositories", "Credentials", "Jobs", "Server"]),
        ("member", ["Repositories", "Jobs"]),
        ("auditor", ["Users", "Teams", "Audit"]),
    ],
)
def test_a_role_sees_only_its_pages(team: TeamSite, role: str, sections: list[str]) -> None:
    page = team.sign_in(role, "administration")
    navigation = page.get_by_role("navigation", name="Administration")
    expect(navigation.get_by_role("link")).to_have_text(sections)
    for title in set(SECTIONS) - set(sections):
        page.goto(team.address(f"administration/{title.lower()}"))
        expect(page.get_by_role("main")).to_contain_text(f"You may not use this page. Your role is {role}.")
        expect(page.get_by_role("table")).to_have_count(0)


def test_a_viewer_has_no_administration_and_an_auditor_no_code(team: TeamSite) -> None:
    page = team.sign_in("viewer")
    pages = page.get_by_role("navigation", name="Pages", exact=True).get_by_role("link")
    expect(pages).to_have_text(["Dashboard", "Code", "Search", "Graph", "Map", "Changes"])
    page.goto(team.address("administration/users"))
    expect(page.get_by_role("main")).to_contain_text("You may not use this page")
    page = team.sign_in("auditor")
    expect(page.get_by_role("heading", name="Users")).to_be_visible()  # the first page that it may use
    expect(page.get_by_role("navigation", name="Pages", exact=True).get_by_role("link")).to_have_text(
        ["Administration"]
    )
    page.goto(team.address("search?q=discount"))
    expect(page.get_by_role("main")).to_contain_text("You may not use this page")


def test_accounts_are_paged_and_searched(team: TeamSite) -> None:
    page = team.sign_in("owner", "administration/users")
    rows = page.get_by_role("region", name="Accounts").locator("tbody tr")
    expect(rows).to_have_count(100)
    page.get_by_role("button", name="Load more").click()
    expect(rows).to_have_count(len(team.state.users))
    expect(page.get_by_role("button", name="Load more")).to_be_hidden()
    page.get_by_role("searchbox", name="Search by name or e-mail").fill("person 11")
    expect(rows).to_have_count(10)
    assert page.url.endswith("/administration/users?q=person+11")
    page.reload()
    expect(rows).to_have_count(10)


def test_an_account_is_created_changed_and_removed(team: TeamSite) -> None:
    page = team.sign_in("owner", "administration/users")
    page.get_by_text("New account").click()
    page.get_by_label("Name", exact=True).fill("Grace")
    page.get_by_role("textbox", name="E-mail").fill("the.viewer@example.org")
    page.get_by_role("button", name="Create the account").click()
    expect(page.get_by_role("alert")).to_contain_text("the e-mail 'the.viewer@example.org' is taken")
    expect(page.get_by_role("alert")).to_contain_text("Give another one.")
    page.get_by_role("textbox", name="E-mail").fill("grace@example.org")
    page.get_by_role("button", name="Create the account").click()
    page.get_by_role("heading", name="Grace").wait_for()
    page.get_by_role("combobox", name="Role").select_option("auditor")
    page.get_by_role("button", name="Change the role").click()
    expect(page.get_by_role("status").filter(has_text="The role is auditor now.")).to_be_visible()
    page.get_by_role("button", name="Disable").click()
    page.get_by_role("group", name="Disable it?").get_by_role("button", name="Disable").click()
    expect(page.get_by_role("heading", name="Grace")).to_contain_text("disabled")
    grace = team.state.find_user("Grace")
    assert (grace["role"], grace["is_active"], grace["email"]) == ("auditor", False, "grace@example.org")
    page.get_by_role("button", name="Remove").click()
    page.get_by_role("group", name="Remove Grace?").get_by_role("button", name="Cancel").click()
    assert grace in team.state.users
    page.get_by_role("button", name="Remove").click()
    page.get_by_role("group", name="Remove Grace?").get_by_role("button", name="Remove").click()
    page.get_by_role("heading", name="Users").wait_for()
    assert grace not in team.state.users


def test_a_service_account_gets_a_key(team: TeamSite) -> None:
    user = team.state.find_user("Build server")
    page = team.sign_in("admin", f"administration/users/{user['id']}")
    expect(page.get_by_text("It has no keys.")).to_be_visible()
    page.get_by_label("Name of the key").fill("CI")
    page.get_by_role("button", name="Create the key").click()
    expect(page.get_by_role("group", name="New key")).to_contain_text("shown-once")
    expect(page.get_by_role("row", name="CI")).to_be_visible()
    assert team.state.keys[0]["user_id"] == user["id"]


def test_an_admin_cannot_change_an_owner_nor_anybody_themself(team: TeamSite) -> None:
    owner, admin = team.state.find_user("The owner"), team.state.find_user("The admin")
    page = team.sign_in("admin", f"administration/users/{owner['id']}")
    expect(page.get_by_text("Only an owner changes the accounts of owners and admins.")).to_be_visible()
    expect(page.get_by_role("button", name="Remove")).to_have_count(0)
    page = team.sign_in("owner", f"administration/users/{owner['id']}")
    expect(page.get_by_text("This is your own account")).to_be_visible()
    page.goto(team.address(f"administration/users/{admin['id']}"))
    expect(page.get_by_role("button", name="Remove")).to_be_visible()


def test_members_and_grants_of_a_team(team: TeamSite) -> None:
    shop_team = team.state.teams[0]
    page = team.sign_in("admin", f"administration/teams/{shop_team['id']}")
    page.get_by_role("combobox", name="Add a member").fill("build")
    page.get_by_role("option", name="Build server").click()
    members = page.get_by_role("region", name="Members")
    expect(members.get_by_role("row", name="Build server")).to_be_visible()
    members.get_by_role("button", name="Remove The member").click()
    members.get_by_role("button", name="Remove", exact=True).click()
    expect(members.get_by_role("row", name="The member")).to_have_count(0)
    assert [member["name"] for member in shop_team["members"]] == ["The viewer", "Build server"]

    grants = page.get_by_role("region", name="Grants")
    expect(grants.get_by_role("button", name="administer on shop", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )
    grants.get_by_role("button", name="read on shop", exact=True).click()
    expect(grants.get_by_role("button", name="read on shop", exact=True)).to_have_attribute("aria-pressed", "true")
    grants.get_by_role("combobox", name="Repository").select_option("payments")
    grants.get_by_role("combobox", name="Of it").select_option("its source wiki")
    grants.get_by_role("combobox", name="Level").select_option("index")
    grants.get_by_role("button", name="Grant", exact=True).click()
    expect(grants.get_by_role("button", name="index on payments, source wiki")).to_have_attribute(
        "aria-pressed", "true"
    )
    grants.get_by_role("button", name="Remove the grant on shop, source wiki").click()
    grants.get_by_role("button", name="Remove", exact=True).click()
    expect(grants.locator("tbody tr")).to_have_count(2)
    levels = [(grant["repository"], grant["source"], grant["level"]) for grant in shop_team["grants"]]
    assert levels == [("shop", None, "read"), ("payments", "wiki", "index")]


def test_an_auditor_reads_teams_without_buttons(team: TeamSite) -> None:
    page = team.sign_in("auditor", f"administration/teams/{team.state.teams[0]['id']}")
    expect(page.get_by_role("region", name="Members").get_by_role("row", name="The viewer")).to_be_visible()
    expect(page.get_by_role("main").get_by_role("button")).to_have_count(0)
    expect(page.get_by_role("main").get_by_role("combobox")).to_have_count(0)


def test_a_credential_is_stored_and_never_shown(team: TeamSite) -> None:
    page = team.sign_in("admin", "administration/credentials")
    page.get_by_text("New credential").click()
    page.get_by_label("Name", exact=True).fill("read token")
    page.get_by_label("Host of the git server").fill("git.example.org")
    box = page.get_by_label("Token", exact=True)
    box.fill(SECRET)
    expect(box).to_have_attribute("type", "password")
    page.get_by_role("button", name="Store the credential").click()
    row = page.get_by_role("row", name="read token")
    expect(page.get_by_role("row", name="shop deploy key")).to_contain_text("fingerprint: SHA256:mVPw")
    expect(row).to_contain_text("git.example.org")
    expect(box).to_have_value("")
    assert SECRET not in page.content()
    row.get_by_role("button", name="Remove read token").click()
    row.get_by_role("button", name="Remove", exact=True).click()
    expect(row).to_have_count(0)


def test_the_audit_record_is_filtered_paged_verified_and_exported(team: TeamSite, tmp_path: Path) -> None:
    page = team.sign_in("auditor", "administration/audit")
    rows = page.get_by_role("region", name="Entries, newest first").locator("tbody tr")
    expect(rows).to_have_count(100)
    expect(rows.first).to_contain_text("130")
    page.get_by_role("button", name="Load more").click()
    expect(rows).to_have_count(130)
    page.get_by_label("Action").fill("users.manage")
    page.get_by_label("Action").press("Enter")
    expect(rows).to_have_count(33)
    assert "action=users.manage" in page.url
    page.reload()
    expect(rows).to_have_count(33)
    page.get_by_role("button", name="All entries").click()
    expect(rows).to_have_count(100)
    page.go_back()
    expect(rows).to_have_count(33)
    page.get_by_role("button", name="Verify").click()
    expect(page.get_by_text("130 entries, all as they were written.")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Export as JSON Lines").click()
    download.value.save_as(tmp_path / "audit.jsonl")
    lines = (tmp_path / "audit.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["sequence"] for line in lines] == list(range(1, 131))


def test_the_server_shows_its_state_and_settings(team: TeamSite) -> None:
    page = team.sign_in("admin", "administration/server")
    expect(page.get_by_role("region", name="Overview")).to_contain_text("1.2.0")
    expect(page.get_by_role("row", name="oidc.issuer")).to_contain_text("https://login.example.org")


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 400)])
def test_all_pages_are_accessible_and_fit(team: TeamSite, theme: str, width: int) -> None:
    state = team.state
    service = state.find_user("Build server")
    sections = [f"administration/{title.lower()}" for title in SECTIONS]
    details = [
        f"administration/users/{service['id']}",
        f"administration/teams/{state.teams[0]['id']}",
        f"administration/repositories/{state.repositories[0]['id']}",
    ]
    page = team.sign_in("owner", width=width)
    page.evaluate("theme => localStorage.setItem('coderag-theme', theme)", theme)
    for path in ["account", *sections, *details, "dashboard?repo=shop"]:
        page.goto(team.address(path))
        page.locator("main .panel").first.wait_for()
        expect(page.get_by_text("Loading …")).to_have_count(0)
        for form in page.locator("main details.panel > summary").all():
            form.click()
        assert (path, find_violations(page)) == (path, [])
        assert (path, page.evaluate("document.documentElement.scrollWidth")) <= (path, width)
