"""Repositories of a team server and their jobs in a real browser."""

import pytest

from tests.web.conftest import TeamSite, find_violations
from tests.web.team_server import WEBHOOK_SECRET
from tests.web.team_state import WIKI_ERROR

pytestmark = pytest.mark.slow

expect = pytest.importorskip("playwright.sync_api").expect
expect.set_options(timeout=30_000)


def test_a_repository_is_added_by_its_url(team: TeamSite) -> None:
    page = team.sign_in("admin", "administration/repositories")
    page.get_by_text("Add a repository").click()
    page.get_by_label("Git URL").fill("file:///etc")
    page.get_by_role("button", name="Add and index").click()
    expect(page.get_by_role("alert")).to_contain_text("has the scheme file")
    page.get_by_label("Git URL").fill("ssh://git@git.example.org/acme/billing.git")
    expect(page.get_by_label("Name", exact=True)).to_have_value("billing")
    page.get_by_role("combobox", name="Credential").select_option("shop deploy key (git.example.org)")
    page.get_by_role("combobox", name="Fetch").select_option("every day")
    page.get_by_role("button", name="Add and index").click()
    page.get_by_role("heading", name="billing").wait_for()
    added = team.state.repositories[-1]
    assert (added["name"], added["interval_minutes"]) == ("billing", 1_440)
    assert added["credential_id"] == team.state.credentials[0]["id"]


def test_a_repository_is_synchronised_rescheduled_and_removed(team: TeamSite) -> None:
    shop = team.state.repositories[0]
    page = team.sign_in("admin", f"administration/repositories/{shop['id']}")
    state = page.get_by_role("region", name="State")
    expect(state).to_contain_text(shop["commit"])
    expect(state).to_contain_text("2 hours ago")
    page.get_by_role("button", name="Sync now").click()
    expect(page.get_by_role("row", name="by hand")).to_contain_text("queued")
    fetching = page.get_by_role("region", name="Fetching")
    fetching.get_by_role("combobox", name="Fetch").select_option("every 6 hours")
    fetching.get_by_role("button", name="Save").click()
    expect(state).to_contain_text("every 6 hours")
    page.get_by_role("button", name="Remove the repository").click()
    page.get_by_role("group", name="Remove shop with its index?").get_by_role("button", name="Remove").click()
    page.get_by_role("heading", name="Repositories").wait_for()
    assert [repository["name"] for repository in team.state.repositories] == ["payments"]
    expect(page.get_by_role("combobox", name="Repository")).not_to_contain_text("shop")


def test_a_webhook_shows_its_secret_once(team: TeamSite) -> None:
    shop = team.state.repositories[0]
    page = team.sign_in("member", f"administration/repositories/{shop['id']}")
    page.get_by_role("button", name="Create a secret").click()
    webhook = page.get_by_role("region", name="Webhook")
    expect(webhook).to_contain_text(team.address(f"hooks/{shop['id']}"))
    expect(webhook).to_contain_text(WEBHOOK_SECRET)
    page.get_by_role("button", name="Done").click()
    expect(webhook).to_contain_text("set up")
    assert WEBHOOK_SECRET not in page.content()
    page.get_by_role("button", name="New secret").click()
    expect(webhook).to_contain_text("The present secret stops working at once.")
    expect(page.get_by_role("region", name="Removal")).to_have_count(0)  # the member administers it, but did not add it


def test_a_source_is_added_changed_and_removed(team: TeamSite) -> None:
    shop = team.state.repositories[0]
    page = team.sign_in("admin", f"administration/repositories/{shop['id']}")
    panel = page.get_by_role("region", name="Sources")
    panel.get_by_role("button", name="Add a source").click()
    panel.get_by_role("combobox", name="System").select_option("Jira")
    panel.get_by_label("Name").fill("tracker")
    panel.get_by_label("Token or key").fill("token-of-the-tracker")
    panel.get_by_label("Address").fill("https://example.atlassian.net")
    panel.get_by_label("Projects, one a line").fill("SHOP\nPAY\n")
    panel.get_by_role("button", name="Save and synchronise").click()
    tracker = panel.get_by_role("row", name="tracker")
    expect(tracker).to_contain_text("waiting")
    expect(tracker).to_contain_text("Jira · backlog · example.atlassian.net")
    assert shop["sources"][-1]["settings"] == {
        "system": "jira",
        "address": "https://example.atlassian.net",
        "projects": ["SHOP", "PAY"],
    }
    assert team.state.secrets[-1] == "token-of-the-tracker"
    assert "token-of-the-tracker" not in page.content()
    expect(page.get_by_role("row", name="by hand")).to_contain_text("queued")

    panel.get_by_role("button", name="Edit tracker").click()
    expect(panel.get_by_label("Token or key")).to_have_value("")
    panel.get_by_label("Address").fill("https://elsewhere.example")
    panel.get_by_role("button", name="Save and synchronise").click()
    expect(panel.get_by_role("alert")).to_contain_text("not sent to another server")
    panel.get_by_label("Address").fill("https://example.atlassian.net")
    panel.get_by_label("Projects, one a line").fill("SHOP")
    panel.get_by_role("button", name="Save and synchronise").click()
    expect(panel.get_by_role("heading", name="Change tracker")).to_have_count(0)
    assert (shop["sources"][-1]["settings"]["projects"], team.state.secrets[-1]) == (["SHOP"], None)

    panel.get_by_role("button", name="Remove tracker").click()
    panel.get_by_role("group", name="Remove tracker").get_by_role("button", name="Remove").click()
    expect(tracker).to_have_count(0)
    assert find_violations(page) == []


def test_a_source_that_failed_shows_why_and_is_synchronised_again(team: TeamSite) -> None:
    shop = team.state.repositories[0]
    page = team.sign_in("member", f"administration/repositories/{shop['id']}")
    panel = page.get_by_role("region", name="Sources")
    wiki = panel.get_by_role("row", name="wiki")
    for text in ("error", WIKI_ERROR, "1,204", "yesterday"):
        expect(wiki).to_contain_text(text)
    expect(page.get_by_role("region", name="Jobs").get_by_role("row", name="schedule")).to_contain_text(
        f"Source wiki: {WIKI_ERROR}"
    )
    expect(panel.get_by_role("button", name="Edit wiki")).to_have_count(0)  # the member does not manage repositories
    wiki.get_by_role("button", name="Sync wiki").click()
    expect(panel).to_contain_text("A job is queued that synchronises “wiki”.")
    expect(page.get_by_role("row", name="by hand")).to_contain_text("queued")


def test_jobs_follow_the_queue_only_while_they_are_seen(team: TeamSite) -> None:
    page = team.sign_in("owner")
    page.clock.install()
    page.goto(team.address("administration/jobs"))
    progress = page.get_by_role("progressbar", name="Progress of shop")
    before = int(progress.get_attribute("value") or 0)
    page.clock.run_for(4_000)
    expect(page.get_by_text(f"{before + 40} of 480")).to_be_visible()
    page.evaluate(
        "Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true });"
        "document.dispatchEvent(new Event('visibilitychange'))"
    )
    done = team.state.jobs[0]["progress"]["done"]
    page.clock.run_for(30_000)
    assert team.state.jobs[0]["progress"]["done"] == done
    page.evaluate("delete document.visibilityState; document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.get_by_text(f"{done + 40} of 480")).to_be_visible()


def test_a_job_is_cancelled_and_a_failure_has_its_reason(team: TeamSite) -> None:
    page = team.sign_in("owner", "administration/jobs")
    expect(page.get_by_role("row", name="payments")).to_contain_text("git.example.org refused the credential")
    page.get_by_role("button", name="Cancel the job of shop").click()
    page.get_by_role("button", name="Stop it").click()
    expect(page.get_by_role("row", name="shop push")).to_contain_text("cancelled")
    page.get_by_role("combobox", name="State").select_option("failed")
    expect(page.locator("tbody tr")).to_have_count(1)
    assert page.url.endswith("/administration/jobs?state=failed")


def test_a_repository_without_an_index_shows_why(team: TeamSite) -> None:
    page = team.sign_in("owner", "dashboard?repo=payments")
    expect(page.get_by_text("Nothing is indexed yet.")).to_be_visible()
    expect(page.get_by_text("The last job failed: git.example.org refused the credential")).to_be_visible()
    page.goto(team.address("search?repo=payments"))
    expect(page.get_by_text("payments is not indexed yet")).to_be_visible()
    page.get_by_role("button", name="Sync now").click()
    expect(page.get_by_text("A job waits for a worker.")).to_be_visible()


def test_repositories_are_addressed_by_their_names(team: TeamSite, team_machine) -> None:
    page = team.sign_in("member", "dashboard")
    expect(page.get_by_role("heading", name="shop")).to_be_visible()
    expect(page.get_by_text("every file", exact=False).or_(page.get_by_text("declarations")).first).to_be_visible()
    expect(page.get_by_role("button", name="Sync now")).to_be_visible()
    expect(page.get_by_role("button", name="Forget")).to_have_count(0)
    expect(page.get_by_label("Folder of a repository")).to_have_count(0)
    page.goto(team.address("search?repo=shop&q=discount"))
    page.get_by_role("link", name="apply_discount").first.wait_for()
    requests = [request for request in team.state.requests if "root=" in request]
    assert requests
    assert all("root=shop" in request for request in requests), requests
    assert str(team_machine.root.parent) not in page.content()
