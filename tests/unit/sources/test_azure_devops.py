"""The Azure DevOps connector against a server on this machine: windows, batches, time zones, comments, links, history."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from coderag.errors import ConfigurationError, SourceAuthenticationError, SourceError
from coderag.schema.items import Item, ItemLink
from coderag.sources.azure_devops import queries, source
from coderag.sources.azure_devops.source import AzureDevOpsSource
from coderag.sources.http_client import RequestPolicy
from coderag.sources.protocol import Checkpoint
from tests.loopback import Reply
from tests.unit.sources.azure_devops_server import TOKEN, AzureDevOpsServer

pytest.importorskip("markdownify", reason="the extra sources is not installed")


@pytest.fixture
def server() -> Iterator[AzureDevOpsServer]:
    with AzureDevOpsServer() as started:
        yield started


@pytest.fixture
def connect(server: AzureDevOpsServer) -> Iterator[Any]:
    opened: list[AzureDevOpsSource] = []

    def build(token: str = TOKEN, **settings: Any) -> AzureDevOpsSource:
        policy = RequestPolicy(sleep=lambda _: None)
        opened.append(AzureDevOpsSource(f"{server.url}/contoso", ["Fabrikam Fiber"], token, policy=policy, **settings))
        return opened[-1]

    yield build
    for connector in opened:
        connector.close()


def read(connector: AzureDevOpsSource, checkpoint: Checkpoint | None = None) -> tuple[dict[str, Item], Checkpoint]:
    items: dict[str, Item] = {}
    for page in connector.read_changes(checkpoint):
        items |= {item.id: item for item in page.items}
        checkpoint = page.checkpoint
    assert checkpoint is not None
    return items, checkpoint


def test_work_items_are_read_in_batches_of_200(server: AzureDevOpsServer, connect: Any) -> None:
    for number in range(1, 451):
        server.put(number, f"Task {number}")
    pages = list(connect().read_changes(None))
    assert [len(page.items) for page in pages] == [200, 200, 50, 0]
    assert pages[0].total == 450
    assert [len(body["ids"]) for body in server.bodies if body and "ids" in body] == [200, 200, 50]


def test_item_has_fields_rich_text_people_and_labels(server: AzureDevOpsServer, connect: Any) -> None:
    server.put(
        7, "Retry", Description="<div>Call <b>retry</b>.<br></div>", Tags="net; urgent", Reason="New",
        AssignedTo={"displayName": "Bo", "uniqueName": "bo@x.example"}, IterationPath="Fabrikam Fiber\\Sprint 3",
        **{
            "Microsoft.VSTS.Common.AcceptanceCriteria": "<ul><li>No loss</li></ul>",
            "Microsoft.VSTS.Common.Priority": 2,
            "Custom.RequestType": "Change",
            "Custom.Notes": "<p>See <i>this</i></p>",
            "Custom.IsBlocked": True,
            "WEF_6CB5_Kanban.Column": "internal",
        },
    )  # fmt: skip
    item = read(connect())[0]["7"]
    assert (item.title, item.kind, item.type, item.status) == ("Retry", "ticket", "Bug", "New")
    assert item.text == "Call **retry**.\n\n## Acceptance criteria\n\n- No loss"
    assert item.labels == ("net", "urgent")
    assert item.people == {"assignee": ("Bo",), "author": ("Ann",)}
    assert item.fields == {
        "area path": "Fabrikam Fiber", "iteration path": "Fabrikam Fiber\\Sprint 3", "reason": "New", "priority": "2",
        "RequestType": "Change", "Notes": "See *this*", "IsBlocked": "yes",
    }  # fmt: skip
    assert item.url == f"{server.url}/contoso/Fabrikam%20Fiber/_workitems/edit/7"
    assert item.modified == server.now
    assert not item.access.is_public


def test_markdown_field_stays_as_it_is(server: AzureDevOpsServer, connect: Any) -> None:
    server.put(7, "Retry", Description="Use `a<b>` and **this**")
    server.items[7]["multilineFieldsFormat"] = {"System.Description": "markdown"}
    assert read(connect())[0]["7"].text == "Use `a<b>` and **this**"


def test_relations_become_links(server: AzureDevOpsServer, connect: Any) -> None:
    def relate(rel: str, url: str, name: str = "") -> dict[str, Any]:
        return {"rel": rel, "url": url, "attributes": {"name": name} if name else {}}

    items = f"{server.url}/contoso/_apis/wit/workItems"
    server.put(
        7,
        "Retry",
        [
            relate("System.LinkTypes.Hierarchy-Reverse", f"{items}/3", "Parent"),
            relate("System.LinkTypes.Related", f"{items}/4", "Related"),
            relate("ArtifactLink", "vstfs:///Git/Commit/p1%2Fr1%2F9af3", "Fixed in Commit"),
            relate("ArtifactLink", "vstfs:///Git/PullRequestId/p1%2fr1%2f12", "Pull Request"),
            relate("Hyperlink", "https://wiki.example/x"),
            relate("AttachedFile", f"{items}/../attachments/1", ""),
        ],
    )
    assert read(connect())[0]["7"].links == (
        ItemLink("parent", "3"),
        ItemLink("related", "4"),
        ItemLink("fixed in commit", f"{server.url}/contoso/p1/_git/r1/commit/9af3"),
        ItemLink("pull request", f"{server.url}/contoso/p1/_git/r1/pullrequest/12"),
        ItemLink("hyperlink", "https://wiki.example/x"),
    )


def test_comments_of_all_pages_are_read(
    server: AzureDevOpsServer, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "_MAX_COMMENTS_PER_REQUEST", 2)
    server.put(7, "Retry")
    server.comment(7, '<div><a href="#" data-vss-mention="version:2.0,1">@Bo</a> why?</div>')
    server.comment(7, "gone", isDeleted=True)
    server.comment(7, "Because of `x`", format="markdown")
    comments = read(connect())[0]["7"].comments
    assert [comment.text for comment in comments] == ["@Bo why?", "Because of `x`"]
    assert (comments[0].author, comments[0].created) == ("Ann", server.now)


def test_state_history_has_times_and_people(
    server: AzureDevOpsServer, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "_MAX_UPDATES_PER_REQUEST", 2)
    server.put(7, "Retry")
    server.put(7, State="Active")
    server.now += timedelta(days=1)
    server.put(7, Tags="x")
    server.put(7, State="Closed")
    changes = read(connect())[0]["7"].status_changes
    assert [(change.before, change.after) for change in changes] == [("New", "Active"), ("Active", "Closed")]
    assert [change.changed for change in changes] == [server.now - timedelta(days=1), server.now]
    assert changes[0].author == "Ann"


def test_large_project_is_split_by_ids(
    server: AzureDevOpsServer, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "MIN_ID_WINDOW", 10)
    server.max_results = 20
    numbers = [*range(1, 60), 5_000, 90_000]
    for number in numbers:
        server.put(number, "x")
    connector = connect()
    assert list(read(connector)[0]) == [str(number) for number in numbers]
    assert list(connector.list_ids()) == [str(number) for number in numbers]
    assert len(server.requests) < 60


def test_later_synchronisation_reads_changes_only(server: AzureDevOpsServer, connect: Any) -> None:
    for number in range(1, 6):
        server.put(number, f"Task {number}")
    server.now += timedelta(hours=2)
    connector = connect()
    _, checkpoint = read(connector)
    server.now += timedelta(hours=1)
    server.put(3, "Changed")
    items, checkpoint = read(connector, checkpoint)
    assert {item.title for item in items.values()} == {"Changed"}


def test_unchanged_project_costs_one_request(server: AzureDevOpsServer, connect: Any) -> None:
    server.put(1, "x")
    server.now += timedelta(hours=2)
    connector = connect()
    _, checkpoint = read(connector)
    before = len(server.requests)
    assert [len(page.items) for page in connector.read_changes(checkpoint)] == [0]
    assert len(server.requests) == before + 1


def test_overlapping_window_skips_what_was_read_and_finds_what_came_late(
    server: AzureDevOpsServer, connect: Any
) -> None:
    for number in (1, 3, 4):
        server.put(number, "x")
    connector = connect()
    _, checkpoint = read(connector)
    server.put(2, "late")  # with a time before the end of the first run
    server.comment(1, "new revision within the window")
    first, _ = connector.read_changes(checkpoint)
    assert first.total == 2
    items, checkpoint = read(connector, checkpoint)
    assert sorted(items) == ["1", "2"]
    assert read(connector, checkpoint)[0] == {}
    assert read(connector, checkpoint)[0] == {}


def test_times_of_queries_have_a_zone_and_seconds(server: AzureDevOpsServer, connect: Any) -> None:
    server.put(1, "x")
    connector = connect()
    _, checkpoint = read(connector)
    read(connector, checkpoint)
    (query,) = {body["query"] for body in server.bodies if body and "ChangedDate" in body.get("query", "")}
    assert "[System.ChangedDate] >= '2026-03-01T11:30:00.000Z'" in query


def test_interrupted_synchronisation_continues_and_reads_what_changed_since(
    server: AzureDevOpsServer, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "MAX_BATCH_ITEMS", 2)
    for number in range(1, 6):
        server.put(number, "x")
    first = next(connect().read_changes(None))
    server.now += timedelta(minutes=40)
    server.put(1, "changed after the run began")
    items, checkpoint = read(connect(), first.checkpoint)
    assert sorted(items) == ["1", "3", "4", "5"]
    assert items["1"].title == "changed after the run began"
    assert read(connect(), checkpoint)[0] == {}


def test_scope_is_quoted_in_queries(server: AzureDevOpsServer, connect: Any) -> None:
    server.put(1, "in", AreaPath="Fabrikam Fiber\\Ann's")
    server.put(2, "out")
    server.put(3, "other project", AreaPath="Fabrikam Fiber\\Ann's", TeamProject="Contoso")
    connector = connect(area_paths=["Fabrikam Fiber\\Ann's"], types=["Bug"])
    assert list(read(connector)[0]) == ["1"]
    assert "[System.WorkItemType] IN ('Bug')" in server.bodies[0]["query"]


def test_hidden_and_deleted_work_items_are_reported_as_gone(server: AzureDevOpsServer, connect: Any) -> None:
    server.put(1, "x")
    server.put(2, "x")
    server.hidden = {2}
    connector = connect()
    pages = list(connector.read_changes(None))
    assert list(pages[0].deleted) == ["2"]
    page = connector.read_items(["1", "2", "99", "not a number"])
    assert [item.id for item in page.items] == ["1"]
    assert sorted(page.deleted) == ["2", "99", "not a number"]


def test_item_whose_comments_cannot_be_read_is_a_failure(server: AzureDevOpsServer, connect: Any) -> None:
    server.put(1, "x")
    server.comment(1, "y")
    server.put(2, "x")
    connector = connect(reads_history=False)
    original = server.respond
    server.respond = lambda request: (  # type: ignore[method-assign]
        Reply("<html>", 200, {"Content-Type": "text/html"}) if "/comments" in request.path else original(request)
    )
    (page, _) = connector.read_changes(None)
    assert [item.id for item in page.items] == ["2"]
    assert [failure.id for failure in page.failures] == ["1"]
    assert "HTML page" in page.failures[0].reason


def test_check_returns_the_project(connect: Any) -> None:
    assert connect().check() == "Fabrikam Fiber"


@pytest.mark.parametrize(
    "reply",
    [None, Reply("<html>Sign in", 203, {"Content-Type": "text/html"}), Reply({"message": f"no {TOKEN}"}, 403)],
)
def test_refused_token_is_an_authentication_error(server: AzureDevOpsServer, connect: Any, reply: Reply | None) -> None:
    if reply:
        server.next(reply)
    with pytest.raises(SourceAuthenticationError) as caught:
        connect(TOKEN if reply else "pat-expired").check()
    assert TOKEN not in str(caught.value)
    assert "pat-expired" not in str(caught.value)


def test_redirect_to_sign_in_is_refused(server: AzureDevOpsServer, connect: Any) -> None:
    server.next(Reply(status=302, headers={"Location": "https://spsprod.vssps.visualstudio.com/_signin"}))
    with pytest.raises(SourceError, match="redirects to spsprod") as caught:
        connect().check()
    assert "sign in" in caught.value.hint


def test_refused_query_names_the_reason(server: AzureDevOpsServer, connect: Any) -> None:
    server.next(Reply({"message": "TF51011: The specified area path does not exist."}, 400))
    with pytest.raises(SourceError, match="TF51011"):
        next(connect().read_changes(None))


def test_query_that_ignores_its_window_is_an_error(server: AzureDevOpsServer, connect: Any) -> None:
    with pytest.raises(SourceError, match="repeats the same work items"):
        server.next(Reply({"workItems": [{"id": 4}], "asOf": "2026-03-01T00:00:00Z"}))
        next(connect().read_changes({"after_id": 10}))


def test_server_without_a_clock_uses_this_one(server: AzureDevOpsServer, connect: Any) -> None:
    server.next(Reply({"workItems": []}))
    _, checkpoint = read(connect())
    assert abs(datetime.fromisoformat(checkpoint["since"]) - datetime.now(UTC)) < timedelta(minutes=1)


def test_address_without_encryption_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        AzureDevOpsSource("http://tfs.example/tfs/Collection", ["P"], TOKEN)
