"""The ClickUp connector against a server on this machine: pages by key, scope, comments, custom fields, rate of requests."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from coderag.errors import SourceAuthenticationError, SourceError
from coderag.schema.items import Item, ItemLink
from coderag.sources.clickup.source import ClickUpSource
from coderag.sources.http_client import RequestPolicy
from coderag.sources.protocol import Checkpoint
from coderag.sources.rate_limit import RequestLimiter
from tests.loopback import Reply
from tests.unit.sources.clickup_server import TOKEN, ClickUpServer

HOUR_MS = 3_600_000
BO = {"id": 2, "username": "Bo"}


@pytest.fixture
def server() -> Iterator[ClickUpServer]:
    with ClickUpServer() as started:
        yield started


@pytest.fixture
def connect(server: ClickUpServer) -> Iterator[Any]:
    opened: list[ClickUpSource] = []

    def build(token: str = TOKEN, waits: list[float] | None = None, team: str = "9", **settings: Any) -> ClickUpSource:
        policy = RequestPolicy(sleep=(waits if waits is not None else []).append)
        opened.append(ClickUpSource(team, token, address=f"{server.url}/api/v2", policy=policy, **settings))
        return opened[-1]

    yield build
    for source in opened:
        source.close()


def read(source: ClickUpSource, checkpoint: Checkpoint | None = None) -> tuple[dict[str, Item], Checkpoint]:
    items: dict[str, Item] = {}
    for page in source.read_changes(checkpoint):
        items |= {item.id: item for item in page.items}
        checkpoint = page.checkpoint
    assert checkpoint is not None
    return items, checkpoint


@pytest.mark.parametrize("has_last_page", [True, False])
@pytest.mark.parametrize("newest_first", [True, False])
def test_all_tasks_are_read_over_pages(
    server: ClickUpServer, connect: Any, has_last_page: bool, newest_first: bool
) -> None:
    server.has_last_page, server.newest_first = has_last_page, newest_first
    for number in range(250):
        server.put(f"t{number}", f"Task {number}")
    source = connect(reads_comments=False)
    assert list(read(source)[0]) == [f"t{number}" for number in range(250)]
    assert sorted(set(source.list_ids())) == sorted(server.tasks)


def test_many_tasks_of_the_same_millisecond_are_read(server: ClickUpServer, connect: Any) -> None:
    server.page_size = 2
    for number in range(7):
        server.put(f"t{number}", "x", tick_ms=0)
    server.put("later", "x")
    assert len(read(connect())[0]) == 8


def test_task_that_changes_during_the_run_hides_no_other(server: ClickUpServer, connect: Any) -> None:
    server.page_size = 2
    for number in range(6):
        server.put(f"t{number}", f"Task {number}")
    items: dict[str, Item] = {}
    for number, page in enumerate(connect().read_changes(None)):
        items |= {item.id: item for item in page.items}
        if number == 0:
            server.put("t0", "Changed")
            del server.tasks["t1"]
    assert sorted(items) == [f"t{number}" for number in range(6)]
    assert items["t0"].title == "Changed"


def test_later_synchronisation_reads_changes_only(server: ClickUpServer, connect: Any) -> None:
    for number in range(3):
        server.put(f"t{number}", f"Task {number}")
    source = connect()
    _, checkpoint = read(source)
    server.put("t1", "Changed", tick_ms=2 * HOUR_MS)
    items, checkpoint = read(source, checkpoint)
    assert [item.title for item in items.values()] == ["Changed"]
    assert read(source, checkpoint)[0] == {}


def test_unchanged_workspace_costs_one_request(server: ClickUpServer, connect: Any) -> None:
    for number in range(3):
        server.put(f"t{number}", "x")
    source = connect()
    _, checkpoint = read(source)
    for _ in range(2):
        before = len(server.requests)
        pages = list(source.read_changes(checkpoint))
        checkpoint = pages[-1].checkpoint
        assert [list(page.items) for page in pages] == [[]]
        assert len(server.requests) == before + 1


def test_task_that_is_listed_late_is_found_by_the_overlap(server: ClickUpServer, connect: Any) -> None:
    server.put("t1", "x")
    server.put("t2", "x", tick_ms=10 * 60_000)
    late = dict(server.tasks["t1"], id="late")
    source = connect()
    _, checkpoint = read(source)
    server.tasks["late"] = late
    assert list(read(source, checkpoint)[0]) == ["late"]


def test_interrupted_synchronisation_continues_at_its_page(server: ClickUpServer, connect: Any) -> None:
    server.page_size = 2
    for number in range(6):
        server.put(f"t{number}", "x", tick_ms=HOUR_MS)
    first = next(connect().read_changes(None))
    items, _ = read(connect(), first.checkpoint)
    assert sorted([*items, *(item.id for item in first.items)]) == [f"t{number}" for number in range(6)]


def test_subtasks_and_closed_tasks_are_read(server: ClickUpServer, connect: Any) -> None:
    server.put("t1", "Parent", status={"status": "Closed", "type": "closed"})
    server.put("t2", "Child", parent="t1")
    items, _ = read(connect())
    assert items["t1"].status == "Closed"
    assert (items["t2"].type, items["t2"].links) == ("Subtask", (ItemLink("parent", "t1"),))


def test_archived_tasks_are_read_on_request(server: ClickUpServer, connect: Any) -> None:
    server.put("t1", "Live")
    server.put("t2", "Old", archived=True)
    server.put("t3", "Old, without a folder", list_id="8", archived=True)
    assert list(read(connect())[0]) == ["t1"]
    source = connect(includes_archived=True)
    items, checkpoint = read(source)
    assert sorted(items) == sorted(source.list_ids()) == ["t1", "t2", "t3"]
    assert items["t2"].fields["archived"] == "yes"
    assert read(source, checkpoint)[0] == {}


def test_scope_is_the_union_of_its_parts(server: ClickUpServer, connect: Any) -> None:
    server.put("t1", "In the folder")
    server.put("t2", "In the list", list_id="8")
    server.put("t3", "Elsewhere", list_id="6")
    assert sorted(read(connect(folders=["5"], lists=["8"]))[0]) == ["t1", "t2"]
    assert sorted(read(connect(spaces=["1"]))[0]) == ["t1", "t2", "t3"]


def test_new_part_of_the_scope_is_read_from_its_beginning(server: ClickUpServer, connect: Any) -> None:
    server.put("t2", "In the list", list_id="8")
    server.put("t1", "In the folder", tick_ms=5 * HOUR_MS)
    _, checkpoint = read(connect(folders=["5"]))
    assert list(read(connect(folders=["5"], lists=["8"]), checkpoint)[0]) == ["t2"]


def test_item_has_description_checklists_people_and_fields(server: ClickUpServer, connect: Any) -> None:
    def build_field(name: str, kind: str, value: Any, **config: Any) -> dict[str, Any]:
        return {"id": name, "name": name, "type": kind, "value": value, "type_config": config}

    server.put(
        "t1", "Retry", custom_id="DEV-45", markdown_description="Call **retry**.", custom_item_id=1001,
        assignees=[BO], tags=[{"name": "net"}], points=3, parent="t0",
        priority={"priority": "high"}, due_date="1767225600000",
        checklists=[{"name": "Done when", "items": [{"name": "tested", "resolved": True}, {"name": "shipped"}]}],
        dependencies=[{"task_id": "t1", "depends_on": "t7", "type": 1}, {"task_id": "t8", "depends_on": "t1"}],
        linked_tasks=[{"task_id": "t9", "link_id": "t1"}],
        custom_fields=[
            build_field("Severity", "drop_down", 1, options=[{"orderindex": 0, "name": "a"}, {"orderindex": 1, "name": "top"}]),
            build_field("Team", "drop_down", "u2", options=[{"id": "u2", "orderindex": 5, "name": "Core"}]),
            build_field("Areas", "labels", ["a", "b"], options=[{"id": "a", "label": "API"}, {"id": "b", "label": "CLI"}]),
            build_field("Owner", "users", [BO]),
            build_field("Released", "date", "1767225600000"),
            build_field("Public", "checkbox", "true"),
            build_field("Estimate", "number", "2.5"),
            build_field("Progress", "manual_progress", {"current": "40"}),
            build_field("Spec", "url", "https://wiki.example/x"),
            build_field("Empty", "short_text", None),
        ],
    )  # fmt: skip
    item = read(connect())[0]["DEV-45"]
    assert item.text == "Call **retry**.\n\n## Done when\n\n- [x] tested\n- [ ] shipped"
    assert (item.title, item.type, item.status, item.labels) == ("Retry", "Bug", "to do", ("net",))
    assert item.people == {"assignee": ("Bo",), "author": ("Ann",)}
    assert item.fields == {
        "task id": "t1", "list": "List 7", "folder": "Folder", "priority": "high", "points": "3",
        "due date": "2026-01-01", "Severity": "top", "Team": "Core", "Areas": "API, CLI", "Owner": "Bo",
        "Released": "2026-01-01", "Public": "yes", "Estimate": "2.5", "Progress": "40", "Spec": "https://wiki.example/x",
    }  # fmt: skip
    address = "https://app.clickup.com/t/"
    assert item.links == (
        ItemLink("parent", f"{address}t0"),
        ItemLink("waiting on", f"{address}t7"),
        ItemLink("blocking", f"{address}t8"),
        ItemLink("linked", f"{address}t9"),
    )
    assert item.modified is not None
    assert not item.access.is_public


def test_comments_of_all_pages_and_their_replies_are_read_oldest_first(server: ClickUpServer, connect: Any) -> None:
    server.put("t1", "x")
    for number in range(60):
        server.comment("t1", f"Comment {number}")
    asked = server.comment("t1", "Why?", reply_count=2)
    server.replies[asked] = [
        {"id": "r2", "comment_text": "Thanks", "user": {"username": "Bo"}, "date": "2"},
        {"id": "r1", "comment_text": "Because", "user": {"username": "Cy"}, "date": "1"},
    ]
    comments = read(connect())[0]["t1"].comments
    assert [comment.text for comment in comments] == [
        *(f"Comment {number}" for number in range(60)), "Why?", "Because", "Thanks",
    ]  # fmt: skip
    assert (comments[0].author, comments[-1].author) == ("Ann", "Bo")
    assert comments[0].created is not None


def test_failed_tasks_are_read_again_by_key(server: ClickUpServer, connect: Any) -> None:
    server.put("t1", "x")
    server.put("t2", "y", custom_id="DEV-7")
    page = connect().read_items(["t1", "DEV-7", "gone", "DEV-8"])
    assert [item.id for item in page.items] == ["t1", "DEV-7"]
    assert list(page.deleted) == ["gone", "DEV-8"]


def test_task_that_the_token_may_not_see_is_gone(server: ClickUpServer, connect: Any) -> None:
    server.next(Reply({"err": "Team not authorized", "ECODE": "OAUTH_027"}, 401))
    assert list(connect().read_items(["t1"]).deleted) == ["t1"]
    with pytest.raises(SourceAuthenticationError):
        connect("pk_wrong_token").read_items(["t1"])


def test_task_whose_comments_cannot_be_read_is_a_failure(server: ClickUpServer, connect: Any) -> None:
    server.put("t1", "x")
    original = server.respond
    server.respond = lambda request: (  # type: ignore[method-assign]
        Reply("[]") if request.path.endswith("/comment") else original(request)
    )
    page, *_ = connect().read_changes(None)
    assert [failure.id for failure in page.failures] == ["t1"]
    assert "not a JSON object" in page.failures[0].reason


def test_exceeded_rate_is_waited_for(server: ClickUpServer, connect: Any) -> None:
    server.put("t1", "x")
    waits: list[float] = []
    reset = str(int(time.time()) + 20)
    server.next(Reply({"err": "Rate limit reached", "ECODE": "APP_002"}, 429, {"X-RateLimit-Reset": reset}))
    assert list(read(connect(waits=waits))[0]) == ["t1"]
    assert waits == [pytest.approx(19.5, abs=1)]


def test_requests_keep_the_rate_of_the_plan(server: ClickUpServer, connect: Any) -> None:
    waits: list[float] = []
    source = connect(waits=waits)
    for _ in range(100):
        source._limiter.wait()
    server.next(Reply({"teams": [{"id": "9", "name": "Acme"}]}, 200, {"X-RateLimit-Limit": "1000"}))
    source.check()
    assert waits == [pytest.approx(60.0, abs=1)]
    for _ in range(100):
        source.check()
    assert len(waits) == 1


def test_limiter_allows_no_more_than_its_requests_in_any_window() -> None:
    now = 0.0
    times: list[float] = []

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    limiter = RequestLimiter(5, 10.0, sleep=sleep, clock=lambda: now)
    for number in range(50):
        limiter.wait()
        times.append(now)
        now += 0.3 * (number % 4)
    assert all(later - earlier >= 10.0 for earlier, later in zip(times, times[5:], strict=False))
    assert now < 120


def test_check_names_the_workspace_or_those_that_there_are(server: ClickUpServer, connect: Any) -> None:
    assert connect(spaces=["1"], folders=["5"], lists=["7", "8"]).check() == "Acme"
    with pytest.raises(SourceError, match=r"no workspace 8; the token sees: Acme \(9\)"):
        connect(team="8").check()
    with pytest.raises(SourceError, match="/api/v2/list/99"):
        connect(lists=["99"]).check()


def test_refused_token_is_an_authentication_error(connect: Any) -> None:
    with pytest.raises(SourceAuthenticationError, match="OAUTH_025: Token invalid") as caught:
        read(connect("pk_wrong_token"))
    assert "pk_wrong_token" not in str(caught.value)


def test_page_that_repeats_is_an_error(server: ClickUpServer, connect: Any) -> None:
    tasks = [{"id": f"t{number}", "name": "x", "date_updated": "5"} for number in range(3)]
    server.next(*[Reply({"tasks": tasks, "last_page": False})] * 9)
    with pytest.raises(SourceError, match="repeats a page of tasks"):
        read(connect(reads_comments=False))
