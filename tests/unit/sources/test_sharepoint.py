"""The SharePoint connector against Microsoft Graph on this machine: feeds, expiry, deletions, downloads, readers, pages."""

from collections.abc import Iterator
from typing import Any

import pytest

from coderag.errors import ConfigurationError, SourceAuthenticationError, SourceError, SourceUnavailableError
from coderag.schema.items import PRIVATE, PUBLIC, Item
from coderag.sources.http_client import RequestPolicy
from coderag.sources.protocol import Checkpoint, Page
from coderag.sources.sharepoint.source import SharePointSource
from tests.loopback import Reply
from tests.unit.sources.graph_server import TOKEN, DownloadServer, FixedToken, GraphServer
from tests.unit.sources.office_files import build_docx

pytest.importorskip("mammoth", reason="the extra sources is not installed")


@pytest.fixture
def graph() -> Iterator[GraphServer]:
    with DownloadServer() as downloads, GraphServer(downloads) as server:
        yield server


class Connected:
    """A connector that is closed, with the waits that it was asked for."""

    def __init__(self) -> None:
        self.opened: list[SharePointSource] = []
        self.waits: list[float] = []

    def __call__(self, graph: GraphServer, token: str = TOKEN, **settings: Any) -> SharePointSource:
        source = SharePointSource(
            "https://contoso.sharepoint.com/sites/team",
            FixedToken(token),
            graph_url=f"{graph.url}/v1.0",
            policy=RequestPolicy(sleep=self.waits.append),
            **settings,
        )
        self.opened.append(source)
        return source


@pytest.fixture
def connect() -> Iterator[Connected]:
    connected = Connected()
    yield connected
    for source in connected.opened:
        source.close()


def read(source: SharePointSource, checkpoint: Checkpoint | None = None) -> tuple[dict[str, Item], list[str], Page]:
    """Return the items by title, the deleted ids and the last page."""
    items: dict[str, Item] = {}
    deleted: list[str] = []
    page = None
    for page in source.read_changes(checkpoint):
        items |= {item.title: item for item in page.items}
        deleted += page.deleted
    assert page is not None
    return items, deleted, page


def test_first_synchronisation_reads_all_files_over_pages(graph: GraphServer, connect: Connected) -> None:
    names = [f"plan {number}.md" for number in range(5)]
    for name in names:
        graph.put(name, f"# {name}".encode())
    graph.put("photo.png", b"\x89PNG")
    graph.put("Design.docx", build_docx("Design", "Use retry_after."))
    items, deleted, _ = read(connect(graph))
    assert sorted(items) == sorted([*names, "Design.docx"])
    assert items["Design.docx"].text == "# Design\n\nUse retry_after."
    assert deleted == []
    item = items["plan 0.md"]
    assert item.url == "https://contoso.sharepoint.com/Docs/plan 0.md"
    assert item.people == {"author": ("Ann",), "editor": ("Bo",)}
    assert item.fields == {"folder": "Plans"}
    assert item.modified is not None


def test_unchanged_site_costs_one_request(graph: GraphServer, connect: Connected) -> None:
    graph.put("a.md", b"a")
    source = connect(graph, includes_pages=False)
    *_, last = read(source)
    before = len(graph.requests)
    pages = list(source.read_changes(last.checkpoint))
    assert [page.items for page in pages] == [()]
    assert len(graph.requests) - before == 1


def test_changes_renames_moves_and_deletions_are_reported(graph: GraphServer, connect: Connected) -> None:
    changed, renamed, gone, hidden = (graph.put(f"{name}.md", b"old") for name in ("a", "b", "c", "d"))
    source = connect(graph)
    *_, last = read(source)
    graph.put("a.md", b"new", changed)
    graph.change(renamed, name="better.md", parentReference={"path": "/drives/b!docs/root:/Archive/2026"})
    graph.delete(gone)
    graph.change(hidden, name="d.png")
    items, deleted, _ = read(source, last.checkpoint)
    assert items["a.md"].text == "new"
    assert items["better.md"].id == f"b!docs:{renamed}"
    assert items["better.md"].fields == {"folder": "Archive/2026"}
    assert sorted(deleted) == sorted([f"b!docs:{gone}", f"b!docs:{hidden}"])


def test_interrupted_synchronisation_continues_at_its_page(graph: GraphServer, connect: Connected) -> None:
    for number in range(6):
        graph.put(f"{number}.md", b"x")
    pages = connect(graph).read_changes(None)
    first = next(pages)
    titles = [item.title for item in first.items]
    items, *_ = read(connect(graph), first.checkpoint)
    assert sorted([*items, *titles]) == [f"{number}.md" for number in range(6)]


@pytest.mark.parametrize("in_the_middle", [True, False])
def test_expired_feed_starts_over_and_ids_show_what_is_gone(
    graph: GraphServer, connect: Connected, in_the_middle: bool
) -> None:
    kept, gone = graph.put("kept.md", b"x"), graph.put("gone.md", b"x")
    graph.put("also.md", b"x")
    graph.put("photo.png", b"x")
    graph.put_page("p1", "Home", "<p>Hi</p>")
    source = connect(graph)
    pages = list(source.read_changes(None))
    checkpoint = (pages[0] if in_the_middle else pages[-1]).checkpoint
    graph.delete(gone)
    graph.expire_tokens()
    items, _, last = read(source, checkpoint)
    assert {"also.md", "kept.md"} <= items.keys()
    listed = list(source.list_ids())
    assert f"b!docs:{kept}" in listed
    assert f"b!docs:{gone}" not in listed
    assert (len(listed), listed[-1]) == (3, "page:p1")
    assert read(source, last.checkpoint)[0] == {}


def test_feed_that_expires_at_once_again_is_an_error(graph: GraphServer, connect: Connected) -> None:
    source = connect(graph)
    *_, last = read(source)
    graph.next(*[Reply({"error": {"code": "resyncRequired"}}, 410)] * 2)
    with pytest.raises(SourceError, match=r"cannot list 'Documents' \(status 410\)"):
        read(source, last.checkpoint)


def test_library_that_is_gone_leaves_the_others(graph: GraphServer, connect: Connected) -> None:
    graph.drives["b!more"] = "More"
    graph.put("a.md", b"a")
    graph.put("b.md", b"b", drive="b!more")
    source = connect(graph)
    items, _, last = read(source)
    assert sorted(items) == ["a.md", "b.md"]
    del graph.drives["b!more"]
    graph.put("c.md", b"c")
    items, *_ = read(source, last.checkpoint)
    assert sorted(items) == ["c.md"]
    assert all(item_id.startswith("b!docs:") for item_id in source.list_ids())


def test_throttled_request_is_repeated_after_the_wait(graph: GraphServer, connect: Connected) -> None:
    graph.put("a.md", b"a")
    source = connect(graph)
    graph.next(Reply({"error": {"code": "tooManyRequests"}}, 429, {"Retry-After": "11"}))
    items, *_ = read(source)
    assert "a.md" in items
    assert 11.0 in connect.waits


def test_download_carries_no_token_and_survives_an_expired_address(graph: GraphServer, connect: Connected) -> None:
    entry = graph.put("a.md", b"text")
    items, *_ = read(connect(graph))
    assert items["a.md"].text == "text"
    assert all("authorization" not in request.headers for request in graph.downloads.requests)
    graph.downloads.next(Reply({}, 401))
    items, *_ = read(connect(graph))
    assert items["a.md"].text == "text"
    assert any(request.path.endswith(f"/{entry}/content") for request in graph.requests)


def test_file_without_download_address_is_read_by_its_id(graph: GraphServer, connect: Connected) -> None:
    graph.with_download_url = False
    graph.put("a.md", b"text")
    items, *_ = read(connect(graph))
    assert items["a.md"].text == "text"


def test_unreadable_files_are_failures_with_reasons(graph: GraphServer, connect: Connected) -> None:
    big = graph.put("big.md", b"x" * 2_000)
    broken = graph.put("broken.docx", b"no zip")
    sick = graph.put("sick.md", b"x", malware={"description": "EICAR"})
    graph.put("good.md", b"x")
    source = connect(graph, max_bytes=1_000)
    failures = {failure.id: failure for page in source.read_changes(None) for failure in page.failures}
    assert failures[f"b!docs:{big}"].reason == "it has 2,000 bytes; 1,000 are read at most"
    assert "broken.docx is damaged" in failures[f"b!docs:{broken}"].reason
    assert "malware" in failures[f"b!docs:{sick}"].reason
    assert len(failures) == 3
    assert all("secret-t" not in f"{failure}" for failure in failures.values())


def test_failed_files_are_read_again_by_id(graph: GraphServer, connect: Connected) -> None:
    mended, gone = graph.put("a.docx", b"no zip"), graph.put("b.docx", b"no zip")
    graph.put_page("p1", "Home", "<p>Hi</p>")
    graph.downloads.contents[mended] = build_docx("Mended")
    graph.delete(gone)
    page = connect(graph).read_items([f"b!docs:{mended}", f"b!docs:{gone}", "page:p1", "page:p2"])
    assert [item.text for item in page.items] == ["# Mended", "Hi"]
    assert list(page.deleted) == [f"b!docs:{gone}", "page:p2"]


def grant(**identities: Any) -> dict[str, Any]:
    return {"id": "1", "roles": ["read"], "grantedToV2": identities}


@pytest.mark.parametrize(
    ("permissions", "users", "groups"),
    [
        (
            [
                grant(user={"displayName": "Ann", "email": "ann@x.example"}),
                grant(siteGroup={"displayName": "Visitors"}),
            ],
            ("ann@x.example",),
            ("Visitors",),
        ),
        ([grant(siteUser={"loginName": "i:0#.f|membership|bo@x.example"})], ("bo@x.example",), ()),
        ([grant(group={"displayName": "Staff"}) | {"expirationDateTime": "2020-01-01T00:00:00Z"}], (), ()),
        ([grant(group={"displayName": "Staff"}) | {"expirationDateTime": "0001-01-01T00:00:00Z"}], (), ("Staff",)),
        ([{"roles": ["read"], "link": {"scope": "anonymous", "type": "view"}}], (), ()),
        ([{"roles": ["read"], "link": {"scope": "organization", "type": "view"}}], (), ()),
        (
            [
                {
                    "roles": ["write"],
                    "link": {"scope": "users"},
                    "grantedToIdentitiesV2": [{"user": {"displayName": "Cy"}}],
                }
            ],
            ("Cy",),
            (),
        ),
    ],
)
def test_permissions_become_readers(
    graph: GraphServer, connect: Connected, permissions: list[dict[str, Any]], users: tuple[str], groups: tuple[str]
) -> None:
    graph.permissions[graph.put("a.md", b"a")] = permissions
    access = read(connect(graph))[0]["a.md"].access
    assert (access.is_public, access.users, access.groups) == (False, users, groups)


def test_file_for_everyone_is_public(graph: GraphServer, connect: Connected) -> None:
    graph.default_permissions = [grant(siteUser={"loginName": "c:0-.f|rolemanager|spo-grid-all-users/9f"})]
    graph.put("a.md", b"a")
    assert read(connect(graph))[0]["a.md"].access == PUBLIC


def test_unknown_readers_are_private(graph: GraphServer, connect: Connected) -> None:
    graph.default_permissions = [grant(siteUser={"loginName": "c:0(.s|true"})]
    graph.permissions[graph.put("a.md", b"a")] = None
    assert read(connect(graph))[0]["a.md"].access == PRIVATE
    assert read(connect(graph, reads_permissions=False))[0]["a.md"].access == PRIVATE


def test_site_pages_are_read_when_their_version_changes(graph: GraphServer, connect: Connected) -> None:
    graph.put_page("p1", "Home", "<h2>Welcome</h2><p>Use <b>it</b></p>")
    graph.put_page("p2", "Old", "<p>Old</p>")
    source = connect(graph)
    items, _, last = read(source)
    assert items["Home"].text == "## Welcome\n\nUse **it**"
    assert (items["Home"].kind, items["Home"].id, items["Home"].access) == ("page", "page:p1", PRIVATE)
    graph.put_page("p1", "Home", "<p>New</p>", version=2)
    del graph.pages["p2"]
    items, deleted, last = read(source, last.checkpoint)
    assert {title: item.text for title, item in items.items()} == {"Home": "New"}
    assert deleted == ["page:p2"]
    assert read(source, last.checkpoint)[0] == {}


def test_check_names_the_site_and_missing_libraries(graph: GraphServer, connect: Connected) -> None:
    assert connect(graph, libraries=["Documents"]).check() == "The Team"
    with pytest.raises(SourceError, match="no document library 'Papers'"):
        connect(graph, libraries=["Documents", "Papers"]).check()


def test_refused_token_is_an_authentication_error(graph: GraphServer, connect: Connected) -> None:
    with pytest.raises(SourceAuthenticationError) as caught:
        connect(graph, token="eyJ0-wrong-token").check()
    assert "InvalidAuthenticationToken" in str(caught.value)
    assert "eyJ0-wrong-token" not in str(caught.value)


def test_feed_that_repeats_its_page_is_an_error(graph: GraphServer, connect: Connected) -> None:
    source = connect(graph)
    *_, last = read(source)
    link = last.checkpoint["drives"][0]["link"]
    graph.next(Reply({"value": [], "@odata.nextLink": f"{link}x"}), Reply({"value": [], "@odata.nextLink": link}))
    with pytest.raises(SourceError, match="the change feed of 'Documents' repeats without end"):
        read(source, last.checkpoint)


def test_feed_that_leads_to_another_host_is_refused(graph: GraphServer, connect: Connected) -> None:
    source = connect(graph)
    *_, last = read(source)
    graph.next(Reply({"value": [], "@odata.nextLink": "https://evil.example/v1.0/drives/1/root/delta?token=1"}))
    with pytest.raises(SourceError, match=r"another host, evil\.example"):
        read(source, last.checkpoint)


def test_outage_during_a_download_stops_without_losing_the_page(graph: GraphServer, connect: Connected) -> None:
    graph.put("a.md", b"a")
    graph.downloads.next(*[Reply({}, 503)] * 20)
    with pytest.raises(SourceUnavailableError):
        read(connect(graph))


def test_address_that_is_no_site_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="'team' is not the address"):
        SharePointSource("team", FixedToken())
