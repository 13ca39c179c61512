"""The account page of a team server in a real browser: keys, agent tokens and sessions."""

import json

import pytest

from tests.web.conftest import TeamSite

pytestmark = pytest.mark.slow

expect = pytest.importorskip("playwright.sync_api").expect
expect.set_options(timeout=30_000)


def test_a_key_is_shown_once_and_revoked(team: TeamSite) -> None:
    page = team.sign_in("member", "account")
    page.get_by_label("Name of the key").fill("Laptop")
    page.get_by_label("It may").select_option("Read and index")
    page.get_by_label("It expires").select_option("Never")
    page.get_by_role("combobox", name="Repositories").select_option("Only chosen ones")
    create = page.get_by_role("button", name="Create the key")
    expect(create).to_be_disabled()  # a key that is bound to nothing is of no use
    page.get_by_role("group", name="Repositories of the key").get_by_label("shop").check()
    create.click()
    notice = page.get_by_role("group", name="New key")
    expect(notice).to_be_focused()
    secret = team.state.secrets[-1]
    expect(notice).to_contain_text(secret)
    row = page.get_by_role("row", name="Laptop")
    expect(row).to_contain_text("read, index")
    expect(row).to_contain_text("shop")
    expect(row).to_contain_text("does not expire")
    expect(page.get_by_text(f'"Authorization": "Bearer {secret}"')).to_be_visible()
    notice.get_by_role("button", name="Done").click()
    expect(page.get_by_role("row", name="Laptop")).to_be_visible()
    assert secret not in page.content()
    row.get_by_role("button", name="Revoke Laptop").click()
    row.get_by_role("button", name="Revoke", exact=True).click()
    expect(row).to_contain_text("revoked")
    expect(row.get_by_role("button")).to_have_count(0)
    key = team.state.keys[0]
    assert (key["scopes"], key["repositories"], key["expires_at"]) == (["read", "index"], ["shop"], None)


def test_an_agent_token_comes_with_a_configuration_to_copy(team: TeamSite) -> None:
    page = team.sign_in("member", "account")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("group", name="Repositories of the agent").get_by_label("shop").check()
    page.get_by_role("button", name="Create an agent token").click()
    notice = page.get_by_role("group", name="New agent token")
    notice.get_by_role("button", name="Copy the agent token").click()
    expect(notice.get_by_role("status")).to_have_text("Copied")
    secret = team.state.secrets[-1]
    assert page.evaluate("navigator.clipboard.readText()") == secret
    page.get_by_role("button", name="Copy the configuration").click()
    expect(page.get_by_role("status").filter(has_text="Copied")).to_have_count(2)
    server = json.loads(page.evaluate("navigator.clipboard.readText()"))["mcpServers"]["coderag"]
    assert server["url"] == team.address("mcp")
    assert server["headers"] == {"Authorization": f"Bearer {secret}"}
    expect(page.get_by_role("row", name="Agent token")).to_contain_text("expires in")


def test_without_a_clipboard_the_secret_is_selected(team: TeamSite) -> None:
    page = team.sign_in("member", "account")
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")  # as over plain HTTP
    page.get_by_role("button", name="Copy the configuration").click()
    expect(page.get_by_role("status").filter(has_text="Selected")).to_be_visible()
    assert '"mcpServers"' in page.evaluate("getSelection().toString()")


def test_sessions_end_one_by_one(team: TeamSite) -> None:
    page = team.sign_in("member", "account")
    table = page.get_by_role("region", name="Sessions")
    expect(table.get_by_role("row")).to_have_count(3)
    table.get_by_role("button", name="End the session of 10.0.0.8").click()
    expect(table.get_by_role("row")).to_have_count(2)
    assert [session["id"] for session in team.state.sessions] == ["own"]
    table.get_by_role("button", name="Sign out the session of 127.0.0.1").click()
    page.get_by_role("heading", name="Sign in to CodeRAG").wait_for()
