"""The Jira connector against servers of Cloud and Data Center."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from coderag.errors import SourceError
from coderag.schema.items import PRIVATE, PUBLIC, Item, ItemLink
from coderag.sources.jira.connector import JiraSource
from coderag.sources.protocol import Checkpoint
from tests.loopback import Reply
from tests.unit.sources.atlassian_servers import JiraServer, open_jira

START = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture(params=[True, False], ids=["cloud", "data-center"])
def server(request: pytest.FixtureRequest) -> Iterator[JiraServer]:
    with JiraServer(is_cloud=request.param) as running:
        yield running


def test_issue_becomes_item_with_fields_people_links_and_text(server: JiraServer) -> None:
    server.put(
        "PROJ-2",
        "Log in by key",
        updated=START,
        description=server.write_text("As a user"),
        customfield_10050=server.write_text("It works"),
        labels=["auth"],
        security=None,
        priority={"name": "High"},
        components=[{"name": "Login"}, {"name": "API"}],
        fixVersions=[{"name": "2.1"}],
        assignee={"displayName": "Ann"},
        reporter={"displayName": "Bob"},
        customfield_10060={"displayName": "Eve"},
        customfield_10070="0|i0001:",
        parent={"key": "PROJ-1", "fields": {"issuetype": {"name": "Epic", "hierarchyLevel": 1}}},
        subtasks=[{"key": "PROJ-3"}],
        issuelinks=[
            {"type": {"inward": "is blocked by", "outward": "blocks"}, "outwardIssue": {"key": "PROJ-9"}},
            {"type": {"inward": "is blocked by", "outward": "blocks"}, "inwardIssue": {"key": "OPS-1"}},
        ],
    )
    item = read_all(open_jira(server))["PROJ-2"]
    assert (item.kind, item.title, item.type, item.status) == ("ticket", "Log in by key", "Story", "Open")
    assert item.text == "As a user\n\n## Acceptance Criteria\n\nIt works"
    assert item.url == f"{server.url}/browse/PROJ-2"
    assert (item.modified, item.created, item.access, item.labels) == (START, START, PUBLIC, ("auth",))
    assert item.people == {"assignee": ("Ann",), "reporter": ("Bob",), "reviewer": ("Eve",)}
    assert item.fields == {
        "project": "Project One",
        "priority": "High",
        "components": "Login, API",
        "fix versions": "2.1",
        "epic": "PROJ-1",
    }
    assert item.links == (
        ItemLink("epic", "PROJ-1"),
        ItemLink("subtask", "PROJ-3"),
        ItemLink("blocks", "PROJ-9"),
        ItemLink("is blocked by", "OPS-1"),
    )


def test_sprint_and_epic_are_found_by_type_of_their_field(server: JiraServer) -> None:
    text = "com.atlassian.greenhopper.service.sprint.Sprint@1f[id=1,state=ACTIVE,name=Sprint 7, late,startDate=<null>]"
    for field in server.fields:
        field["id"] = field["id"].replace("100", "111")  # ids differ between installations
    sprints = [{"id": 1, "name": "Sprint 6"}, {"id": 2, "name": "Sprint 7"}] if server.is_cloud else [text]
    server.put("PROJ-1", customfield_11120=sprints, customfield_11114="PROJ-7")
    item = read_all(open_jira(server))["PROJ-1"]
    assert item.fields["sprint"] == ("Sprint 6, Sprint 7" if server.is_cloud else "Sprint 7, late")
    assert item.fields["epic"] == "PROJ-7"


def test_comments_beyond_the_first_page_are_read(server: JiraServer) -> None:
    comments = [
        {
            "author": {"displayName": "Ann"},
            "created": "2026-01-01T00:00:00.000+0000",
            "body": server.write_text(f"c{n}"),
        }
        for n in range(230)
    ]
    server.put("PROJ-1", comments=comments)
    item = read_all(open_jira(server))["PROJ-1"]
    assert [comment.text for comment in item.comments] == [f"c{number}" for number in range(230)]
    assert (item.comments[0].author, item.comments[0].created) == ("Ann", datetime(2026, 1, 1, tzinfo=UTC))


def test_comment_for_a_role_only_is_left_out(server: JiraServer) -> None:
    secret = {"body": server.write_text("internal"), "visibility": {"type": "role", "value": "Administrators"}}
    server.put("PROJ-1", comments=[secret, {"body": server.write_text("public")}])
    assert [comment.text for comment in read_all(open_jira(server))["PROJ-1"].comments] == ["public"]


def test_status_history_is_complete_and_in_order(server: JiraServer) -> None:
    histories = [
        {
            "author": {"displayName": "Ann"},
            "created": (START + timedelta(minutes=number)).isoformat(),
            "items": [
                {"field": "status", "fromString": str(number), "toString": str(number + 1)},
                {"field": "Rank", "toString": "x"},
            ],
        }
        for number in range(150)
    ]
    server.put("PROJ-1", histories=histories)
    changes = read_all(open_jira(server))["PROJ-1"].status_changes
    assert [(change.before, change.after) for change in changes] == [(str(n), str(n + 1)) for n in range(150)]
    assert (changes[0].author, changes[0].changed) == ("Ann", START)


def test_issue_with_security_level_is_private(server: JiraServer) -> None:
    server.put("PROJ-1", security={"id": "1", "name": "Staff only"})
    assert read_all(open_jira(server))["PROJ-1"].access == PRIVATE


def test_moved_issue_deletes_its_former_key(server: JiraServer) -> None:
    source = open_jira(server)
    server.put("PROJ-1", updated=START)
    checkpoint = read_to_end(source)
    del server.issues["PROJ-1"]
    moved = {"created": START.isoformat(), "items": [{"field": "Key", "fromString": "PROJ-1", "toString": "PROJ-5"}]}
    server.put("PROJ-5", updated=START + timedelta(hours=1), histories=[moved])
    pages = list(source.read_changes(checkpoint))
    assert [(item.id, list(page.deleted)) for page in pages for item in page.items] == [("PROJ-5", ["PROJ-1"])]
    assert list(source.list_ids()) == ["PROJ-5"]


def test_read_items_reports_gone_and_moved_issues(server: JiraServer) -> None:
    server.put("PROJ-1")
    server.issues["PROJ-4"] = {**server.issues["PROJ-1"], "key": "PROJ-6"}  # Jira answers with the new key
    page = open_jira(server).read_items(["PROJ-1", "PROJ-2", "PROJ-4"])
    assert [item.id for item in page.items] == ["PROJ-1", "PROJ-6"]
    assert page.deleted == ["PROJ-2", "PROJ-4"]


def test_forbidden_issue_is_a_failure_when_read_again(server: JiraServer) -> None:
    server.put("PROJ-2")
    server.next(Reply({"errorMessages": ["You may not see it"]}, 403))
    page = open_jira(server).read_items(["PROJ-1", "PROJ-2"])
    assert [item.id for item in page.items] == ["PROJ-2"]
    assert [failure.id for failure in page.failures] == ["PROJ-1"]


def test_malformed_issue_is_a_failure_and_the_rest_is_read(server: JiraServer) -> None:
    server.put("PROJ-1", issuelinks=["not an object"])
    server.put("PROJ-2")
    pages = list(open_jira(server).read_changes(None))
    assert [item.id for page in pages for item in page.items] == ["PROJ-2"]
    assert [failure.id for page in pages for failure in page.failures] == ["PROJ-1"]


def test_short_and_empty_pages_are_no_end_on_cloud() -> None:
    with JiraServer(is_cloud=True) as server:
        server.page_size = 3
        for number in range(8):
            server.put(f"PROJ-{number}", updated=START + timedelta(hours=number))
        source = open_jira(server)
        source.check()
        server.next(Reply({"timeZone": "UTC"}), Reply({"issues": [], "isLast": False, "nextPageToken": "0"}))
        assert len(read_all(source)) == 8


@pytest.mark.parametrize("lie", [-100, 100])
def test_wrong_total_hides_no_issue(lie: int) -> None:
    with JiraServer(is_cloud=False) as server:
        server.page_size, server.total_lie = 4, lie
        for number in range(12):
            server.put(f"PROJ-{number}", updated=START + timedelta(hours=number))
        assert len(read_all(open_jira(server))) == 12
        assert len(set(open_jira(server).list_ids())) == 12


def test_repeated_token_is_an_error() -> None:
    with JiraServer(is_cloud=True) as server:
        server.put("PROJ-1")
        reply = Reply({"issues": [{"key": "PROJ-1"}], "isLast": False, "nextPageToken": "same"})
        server.next(*[reply] * 10)
        with pytest.raises(SourceError, match="pages repeat"):
            list(open_jira(server).list_ids())


def test_issues_that_move_between_pages_are_all_read(server: JiraServer) -> None:
    server.page_size = 3
    for number in range(12):
        server.put(f"PROJ-{number:02}", updated=START + timedelta(hours=number))

    def update(searches: int) -> None:
        if searches in {1, 3}:
            server.put(f"PROJ-{searches:02}", "Updated", updated=START + timedelta(days=searches))

    server.before_page = update
    items = read_all(open_jira(server))
    assert items.keys() == {f"PROJ-{number:02}" for number in range(12)}
    assert items["PROJ-01"].title == "Updated"


def test_unchanged_project_costs_one_request(server: JiraServer) -> None:
    for number in range(5):
        server.put(f"PROJ-{number}", updated=START + timedelta(seconds=number))
    checkpoint = read_to_end(open_jira(server))
    server.requests.clear()
    pages = list(open_jira(server).read_changes(checkpoint))
    assert [(page.items, page.deleted) for page in pages] == [((), ())]
    assert len(server.requests) == 1


def test_window_is_in_the_zone_of_the_user(server: JiraServer) -> None:
    server.zone = server.query_zone = "America/New_York"
    server.put("PROJ-1", updated=START)
    source = open_jira(server)
    checkpoint = read_to_end(source)
    server.requests.clear()
    server.put("PROJ-2", updated=START + timedelta(minutes=1))
    assert list(read_all(source, checkpoint)) == ["PROJ-2"]
    assert 'updated >= "2026-01-01 06:30"' in server.requests[0].body["jql"]


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Pacific/Kiritimati"])
def test_changed_zone_of_the_user_hides_no_change(server: JiraServer, zone: str) -> None:
    server.put("PROJ-1", updated=START)
    source = open_jira(server)
    checkpoint = read_to_end(source)
    server.zone = server.query_zone = zone
    server.put("PROJ-2", updated=START + timedelta(minutes=1))
    assert list(read_all(source, checkpoint)) == ["PROJ-2"]


def test_check_names_the_project_or_the_missing_one(server: JiraServer) -> None:
    assert open_jira(server).check() == "Project One"
    with pytest.raises(SourceError, match="has no project NONE"):
        open_jira(server, projects=("NONE",)).check()
    with pytest.raises(SourceError, match="does not exist for the field 'project'"):
        open_jira(server, projects=(), jql='project in ("NONE")').check()


def test_resumed_run_reads_what_was_not_stored(server: JiraServer) -> None:
    server.page_size = 2
    for number in range(9):
        server.put(f"PROJ-{number}", updated=START + timedelta(minutes=number))
    source = open_jira(server)
    stored: dict[str, Item] = {}
    checkpoint: Checkpoint | None = None
    for _ in range(10):  # killed after each page
        page = next(iter(source.read_changes(checkpoint)))
        stored |= {item.id: item for item in page.items}
        checkpoint = page.checkpoint
    assert stored == read_all(source)


def read_all(source: JiraSource, checkpoint: Checkpoint | None = None) -> dict[str, Item]:
    """Read all changes; the last occurrence of an item counts."""
    return {item.id: item for page in source.read_changes(checkpoint) for item in page.items}


def read_to_end(source: JiraSource) -> dict[str, Any]:
    return dict(list(source.read_changes(None))[-1].checkpoint)
