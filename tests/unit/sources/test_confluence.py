"""The Confluence connector against servers of Cloud and Data Center."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from coderag.errors import SourceError, SourceUnavailableError
from coderag.schema.items import PRIVATE, PUBLIC, Item, ItemAccess, ItemLink
from coderag.sources.confluence.connector import ConfluenceSource
from coderag.sources.protocol import Checkpoint, Page
from tests.loopback import Reply
from tests.unit.sources.atlassian_servers import ConfluenceServer, open_confluence

START = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture(params=[True, False], ids=["cloud", "data-center"])
def server(request: pytest.FixtureRequest) -> Iterator[ConfluenceServer]:
    with ConfluenceServer(is_cloud=request.param) as running:
        yield running


def test_page_becomes_item_with_text_people_labels_and_place(server: ConfluenceServer) -> None:
    body = (
        '<p>See <ac:link><ri:page ri:content-title="Run book"/></ac:link> of <a href="https://example.org/x">x</a></p>'
    )
    server.put("1", "Home")
    server.put("2", "Deploy", body, modified=START, parents=["1"], labels=["ops"])
    server.put("3", "News", "<p>Hi</p>", modified=START, kind="blogpost")
    items = read_all(open_confluence(server))
    page = items["2"]
    base = server.url + server.prefix
    assert (page.kind, page.title, page.type, items["3"].type) == ("page", "Deploy", "", "blogpost")
    assert page.text == f"See [Run book]({base}/display/DOCS/Run+book) of [x](https://example.org/x)"
    assert page.url == f"{base}/spaces/DOCS/pages/2"
    assert (page.revision, page.modified, page.labels) == ("1", START, ("ops",))
    assert page.people == {"author": ("Ann Author",), "editor": ("Ed Itor",)}
    assert page.fields == {"space": "Documentation", "path": "Page 1"}
    assert page.links[:2] == (ItemLink("parent", "1"), ItemLink("mentions", f"{base}/display/DOCS/Run+book"))


def test_all_pages_of_a_listing_are_read_in_order(server: ConfluenceServer) -> None:
    server.page_size = 3
    for number in range(10):
        server.put(str(number), modified=START + timedelta(hours=number))
    pages = list(open_confluence(server).read_changes(None))
    assert [item.id for page in pages for item in page.items] == [str(number) for number in range(10)]


def test_unchanged_space_costs_one_request_and_yields_no_items(server: ConfluenceServer) -> None:
    for number in range(60):
        server.put(str(number), modified=START + timedelta(seconds=number))
    source = open_confluence(server)
    checkpoint = read_to_end(source)
    server.requests.clear()
    pages = list(source.read_changes(checkpoint))
    assert [(page.items, page.deleted) for page in pages] == [([], [])] or not any(page.items for page in pages)
    assert len(pages) == 1
    # The overlap has all 60 rows, more than fit a page.
    assert len(server.requests) == 2


def test_change_is_read_by_the_next_run_and_nothing_else(server: ConfluenceServer) -> None:
    for number in range(5):
        server.put(str(number), modified=START + timedelta(minutes=number))
    source = open_confluence(server)
    checkpoint = read_to_end(source)
    server.put("2", "Changed", modified=START + timedelta(hours=1))
    server.requests.clear()
    assert [(item.title, item.revision) for item in read_all(source, checkpoint).values()] == [("Changed", "2")]
    assert len(server.requests) == 1


def test_late_indexed_page_within_the_overlap_is_read(server: ConfluenceServer) -> None:
    server.put("1", modified=START)
    source = open_confluence(server)
    checkpoint = read_to_end(source)
    server.put("2", modified=START - timedelta(minutes=20))
    assert list(read_all(source, checkpoint)) == ["2"]


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Pacific/Kiritimati", "Europe/Berlin"])
def test_window_covers_changes_when_the_server_reads_times_in_another_zone(server: ConfluenceServer, zone: str) -> None:
    server.zone, server.query_zone = "Asia/Tokyo", zone
    server.put("1", modified=START)
    source = open_confluence(server)
    checkpoint = read_to_end(source)
    server.put("2", modified=START + timedelta(minutes=5))
    pages = list(source.read_changes(checkpoint))
    assert [item.id for page in pages for item in page.items] == ["2"]
    server.requests.clear()
    assert not read_all(source, pages[-1].checkpoint)
    assert len(server.requests) == 1, "the run learned the zone"


def test_window_covers_the_hour_that_occurs_twice(server: ConfluenceServer) -> None:
    server.zone = server.query_zone = "Europe/Berlin"
    first_half_past_two = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)  # 02:30 in summer, and again an hour later
    server.put("1", modified=first_half_past_two)
    source = open_confluence(server)
    checkpoint = read_to_end(source)
    server.put("2", modified=first_half_past_two + timedelta(minutes=10))
    server.requests.clear()
    assert list(read_all(source, checkpoint)) == ["2"]
    assert len(server.requests) == 1


def test_page_that_moves_to_the_end_while_pages_are_read_hides_no_other(server: ConfluenceServer) -> None:
    server.page_size = 2
    for number in range(8):
        server.put(str(number), modified=START + timedelta(hours=number))
    source = open_confluence(server)
    moves = iter(["0", "3"])

    def move(_searches: int) -> None:
        if server.searches in {6, 8} and (moved := next(moves, None)):
            server.put(moved, "Moved", modified=START + timedelta(days=1))

    server.before_page = move
    items = read_all(source)
    assert items.keys() == {str(number) for number in range(8)}
    assert items["0"].title == items["3"].title == "Moved"


def test_expired_cursor_restarts_behind_what_was_read() -> None:
    with ConfluenceServer(is_cloud=True) as server:
        server.page_size = 2
        for number in range(6):
            server.put(str(number), modified=START + timedelta(hours=number))
        source = open_confluence(server)
        server.expired = {f"{(START + timedelta(hours=3)).isoformat()} 3"}
        assert len(set(source.list_ids())) == 6
        server.expired = {f"{(START + timedelta(hours=3)).isoformat()} 3"}
        server.searches = 0
        assert len(read_all(source)) == 6
        assert not server.expired
        server.next(Reply({"results": [server.contents["1"]], "_links": {"next": "/x?cursor=a"}}))
        server.next(*[Reply({"message": "the query is invalid"}, 400)] * 10)
        with pytest.raises(SourceError, match="the query is invalid"):
            list(source.list_ids())


def test_pages_that_repeat_are_an_error(server: ConfluenceServer) -> None:
    server.put("1")
    server.put("2")
    link = "/rest/api/content/search?cql=x&cursor=abc"
    server.next(*[Reply({"results": [*server.contents.values()], "size": 2, "_links": {"next": link}})] * 120)
    with pytest.raises(SourceError, match=r"repeat|faster than they can be read"):
        list(open_confluence(server).list_ids())


def test_restrictions_of_page_and_ancestors_are_intersected(server: ConfluenceServer) -> None:
    server.put("root", users=["ann", "bob"], groups=["dev", "ops"])
    server.put("middle", parents=["root"])
    server.put("leaf", parents=["root", "middle"], users=["bob", "eve"], groups=["ops"])
    server.put("open")
    items = read_all(open_confluence(server))
    assert items["open"].access == PUBLIC
    assert items["middle"].access == ItemAccess(users=("ann", "bob"), groups=("dev", "ops"))
    assert items["leaf"].access == ItemAccess(users=("bob",), groups=("ops",))


def test_readers_who_are_only_disjoint_leave_a_page_private(server: ConfluenceServer) -> None:
    server.put("root", users=["ann"])
    server.put("leaf", parents=["root"], groups=["dev"])
    assert read_all(open_confluence(server))["leaf"].access == PRIVATE


def test_ancestor_that_cannot_be_read_makes_a_page_private(server: ConfluenceServer) -> None:
    server.put("page", parents=["folder"])
    assert read_all(open_confluence(server))["page"].access == PRIVATE


def test_restrictions_of_ancestor_outside_the_search_are_asked_for(server: ConfluenceServer) -> None:
    server.unsearchable = {"folder"}
    server.put("folder", users=["ann"])
    server.put("page", parents=["folder"])
    assert read_all(open_confluence(server))["page"].access == ItemAccess(users=("ann",))


def test_restrictions_beyond_one_page_are_complete(server: ConfluenceServer) -> None:
    server.put("1", users=[f"user{number}" for number in range(450)])
    assert len(read_all(open_confluence(server))["1"].access.users) == 450


def test_rows_without_restrictions_are_private(server: ConfluenceServer) -> None:
    server.put("1")
    del server.contents["1"]["restrictions"]
    assert read_all(open_confluence(server))["1"].access == PRIVATE


def test_text_attachments_are_items_with_the_access_of_their_page(server: ConfluenceServer) -> None:
    server.put("1", users=["ann"])
    server.attach("att1", "1", "a notes.md", b"# Notes", modified=START)
    server.attach("att2", "1", "photo.png", b"\x89PNG", modified=START)
    source = open_confluence(server)
    items = read_all(source)
    assert items.keys() == {"1", "att1"} == set(source.list_ids())
    note = items["att1"]
    assert (note.kind, note.text, note.title) == ("attachment", "# Notes", "a notes.md")
    assert note.links == (ItemLink("attachment of", "1"),)
    assert note.access == ItemAccess(users=("ann",))
    assert "att1" not in read_all(open_confluence(server, has_attachments=False))


def test_unreadable_attachment_is_a_failure_and_the_rest_is_read(server: ConfluenceServer) -> None:
    server.put("1")
    server.attach("att1", "1", "broken.pdf", b"%PDF-nothing", modified=START)
    server.put("2", modified=START + timedelta(minutes=1))
    source = open_confluence(server)
    pages = list(source.read_changes(None))
    assert [item.id for page in pages for item in page.items] == ["1", "2"]
    assert [failure.id for page in pages for failure in page.failures] == ["att1"]
    server.files["att1"] = b""
    server.attach("att1", "1", "broken.txt", b"fine now", modified=START)
    assert [item.text for item in source.read_items(["att1"]).items] == ["fine now"]


def test_downloads_that_always_fail_hold_up_nothing_unless_the_system_is_down(server: ConfluenceServer) -> None:
    server.put("1")
    server.broken_files = {"att1", "a.md", "att2", "b.md"}
    server.attach("att1", "1", "a.md", b"a", modified=START)
    server.attach("att2", "1", "b.md", b"b", modified=START)
    source = open_confluence(server)
    pages = list(source.read_changes(None))
    assert [item.id for page in pages for item in page.items] == ["1"]
    assert [failure.id for page in pages for failure in page.failures] == ["att1", "att2"]
    server.next(Reply({"results": [server.contents["att1"]]}), Reply({"results": [server.contents["1"]]}))
    server.next(*[Reply({}, 503)] * 10)
    with pytest.raises(SourceUnavailableError):
        source.read_items(["att1"])


def test_trashed_pages_are_reported_when_read_again_and_not_listed(server: ConfluenceServer) -> None:
    server.put("1")
    server.put("2")
    source = open_confluence(server)
    server.put("2", status="trashed")
    assert list(source.list_ids()) == ["1"]
    page = source.read_items(["1", "2"])
    assert ([item.id for item in page.items], page.deleted) == (["1"], ["2"])


def test_archived_row_of_a_search_is_a_deletion(server: ConfluenceServer) -> None:
    server.put("1")
    row = {**server.contents["1"], "status": "archived"}
    server.next(Reply({"results": [row], "_links": {}}))
    assert open_confluence(server).read_items(["1"]).deleted == ["1"]


@pytest.mark.parametrize("change", ["restriction", "move", "label"])
def test_change_without_a_version_is_found_once_the_structure_is_due(server: ConfluenceServer, change: str) -> None:
    server.put("root", users=["ann"])
    for number in range(20):
        server.put(str(number))
    server.attach("att1", "7", "notes.md", b"# Notes")
    source = open_confluence(server)
    checkpoint = read_to_end(source)
    row = server.contents["7"]
    if change == "restriction":
        row["restrictions"] = server.contents["root"]["restrictions"]
    elif change == "move":
        row["ancestors"] = [{"id": "root", "title": "Root"}]
    else:
        row["metadata"] = {"labels": {"results": [{"name": "new"}]}}
    assert not read_all(source, checkpoint)
    old: dict[str, Any] = {
        **checkpoint,
        "structure": {**checkpoint["structure"], "checked": "2026-01-01T00:00:00+00:00"},
    }
    pages = list(source.read_changes(old))
    items = {item.id: item for page in pages for item in page.items}
    assert "7" in items
    assert len(items) < 10
    if change == "label":
        assert items["7"].labels == ("new",)
    else:
        assert items["7"].access == items["att1"].access == ItemAccess(users=("ann",))
    server.requests.clear()
    assert not read_all(source, pages[-1].checkpoint)
    assert len(server.requests) == 1


def test_contents_read_in_a_run_are_not_read_again_for_the_structure(server: ConfluenceServer) -> None:
    server.put("1")
    source = open_confluence(server)
    checkpoint = read_to_end(source)
    checkpoint["structure"]["checked"] = "2026-01-01T00:00:00+00:00"
    for number in range(2, 30):
        server.put(str(number), modified=START + timedelta(hours=1))
    ids = [item.id for page in source.read_changes(checkpoint) for item in page.items]
    assert len(ids) == len(set(ids))
    assert set(ids) >= {str(number) for number in range(2, 30)}


def test_content_that_fails_its_page_is_a_failure_and_the_rest_is_read(server: ConfluenceServer) -> None:
    server.page_size = 5
    for number in range(12):
        server.put(str(number), modified=START + timedelta(hours=number))
    server.poisonous = {"3", "8"}
    source = open_confluence(server)
    pages = list(source.read_changes(None))
    ids = [item.id for page in pages for item in page.items]
    assert ids == [str(number) for number in range(12) if number not in {3, 8}]
    assert [failure.id for page in pages for failure in page.failures] == ["3", "8"]
    server.poisonous = set()
    assert [item.id for item in source.read_items(["3", "8"]).items] == ["3", "8"]


def test_query_selects_without_its_order(server: ConfluenceServer) -> None:
    server.put("1")
    source = open_confluence(server, spaces=(), cql='space in ("DOCS") and title != " order by x" ORDER BY title')
    assert list(source.list_ids()) == ["1"]
    assert 'title != " order by x"' in source.check()
    assert "ORDER BY" not in source.check()


def test_check_names_the_space_or_the_missing_one(server: ConfluenceServer) -> None:
    assert open_confluence(server).check() == "Documentation"
    with pytest.raises(SourceError, match="has no space NONE"):
        open_confluence(server, spaces=("NONE",)).check()


def test_resumed_run_reads_what_was_not_stored(server: ConfluenceServer) -> None:
    server.page_size = 2
    for number in range(9):
        server.put(str(number), modified=START + timedelta(hours=number))
    source = open_confluence(server)
    stored: dict[str, Item] = {}
    checkpoint: Checkpoint | None = None
    for _ in range(20):  # killed after each page
        page = next(iter(source.read_changes(checkpoint)))
        stored |= {item.id: item for item in page.items}
        checkpoint = page.checkpoint
    assert stored == read_all(source)


def test_time_in_the_future_does_not_hide_later_changes(server: ConfluenceServer) -> None:
    server.put("future", modified=datetime(2099, 1, 1, tzinfo=UTC))
    source = open_confluence(server)
    checkpoint = read_to_end(source)
    server.put("new", modified=datetime.now(UTC) + timedelta(minutes=1))
    assert "new" in read_all(source, checkpoint)


def test_checkpoint_of_another_version_starts_over(server: ConfluenceServer) -> None:
    server.put("1")
    assert list(read_all(open_confluence(server), {"version": 0, "newest": "2026-05-01"})) == ["1"]


def read_all(source: ConfluenceSource, checkpoint: Checkpoint | None = None) -> dict[str, Item]:
    """Read all changes; the last occurrence of an item counts."""
    return {item.id: item for page in source.read_changes(checkpoint) for item in page.items}


def read_to_end(source: ConfluenceSource) -> dict[str, Any]:
    pages: list[Page] = list(source.read_changes(None))
    return dict(pages[-1].checkpoint)
