"""Scenarios that every connector must pass, against a fake of its server.

A test module of a connector to a server subclasses `RemoteSourceConformance` and provides the fixture `world`::

    class TestJira(RemoteSourceConformance):
        @pytest.fixture
        def world(self) -> Iterator[SourceWorld]:
            with JiraServer() as server:
                yield SourceWorld(server, lambda: JiraSource(...))
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Protocol

import pytest

from coderag.schema.mirrored_items import SourceRun
from coderag.sources.mirror import ItemMirror
from coderag.sources.protocol import Checkpoint, Page, Source, SourceKind
from coderag.sources.synchronization import SyncOptions, synchronize

NAME = "source"
SECRET = "conformance-s3cret-key"  # the key that fake servers accept
NEVER = timedelta(days=365)


class FakeServer(Protocol):
    """A fake of the system's server. Times are its own; later calls never have an earlier time."""

    request_count: int
    """Requests so far."""
    page_size: int
    """Items on a page; may be set before the first request."""

    def add_item(self, title: str, text: str) -> str:
        """Add an item and return its id, as the connector's items have it."""

    def change_item(self, item_id: str, text: str) -> None:
        """Replace the text of an item."""

    def delete_item(self, item_id: str) -> None:
        """Delete an item, as the system does it."""

    def move_item(self, item_id: str) -> None:
        """Move an item to another place, twice; its id stays, and its revision if the system does so."""

    def fail_next(
        self, status: int, headers: Mapping[str, str] | None = None, body: bytes = b"", *, times: int = 1
    ) -> None:
        """Answer the next requests with a status, headers and body; a status 200 with HTML is a login page."""

    def refuse_key(self, *, refuses: bool = True) -> None:
        """Refuse the key as the system does, such as with 401, or accept it again."""

    def loop_pages(self, *, loops: bool = True) -> None:
        """Answer every request for a next page with the first page and its link to the next, or no longer."""


@dataclass
class SourceWorld:
    """A fake server, and how to connect to it.

    Attributes:
        server: The fake server, empty, with at most 3 items a page.
        connect: Opens a connector that waits for no time at all, with the key `SECRET` if it has one.
        idle_requests: Requests of a synchronisation of nothing changed, at most.
    """

    server: FakeServer
    connect: Callable[[], Source]
    idle_requests: int = 1
    items: dict[str, str] = field(default_factory=dict)

    def add(self, number: int) -> list[str]:
        """Add items whose texts are unique."""
        texts = [f"Body{len(self.items) + offset} of the item." for offset in range(number)]
        ids = [self.server.add_item(f"Title {text.split()[0]}", text) for text in texts]
        self.items |= dict(zip(ids, texts, strict=True))
        return ids

    def change(self, item_id: str) -> None:
        """Change the text of an item."""
        self.items[item_id] = f"Changed{len(self.items)} from {self.items[item_id]}"
        self.server.change_item(item_id, self.items[item_id])

    def delete(self, item_id: str) -> None:
        """Delete an item."""
        del self.items[item_id]
        self.server.delete_item(item_id)


class _KilledError(BaseException):
    """Ends a run as a kill does, without any handler."""


class _KillableSource:
    """A source whose run ends after some pages, before or after the last one is stored."""

    def __init__(self, source: Source, pages: int) -> None:
        self._source = source
        self._pages = pages

    @property
    def kind(self) -> SourceKind:
        return self._source.kind

    def check(self) -> str:
        return self._source.check()

    def read_changes(self, checkpoint: Checkpoint | None) -> Iterator[Page]:
        for number, page in enumerate(self._source.read_changes(checkpoint)):
            if number == self._pages:
                raise _KilledError
            yield page
        raise _KilledError

    def read_items(self, ids: Sequence[str]) -> Page:
        return self._source.read_items(ids)

    def list_ids(self) -> Iterator[str] | None:
        return self._source.list_ids()

    def close(self) -> None:
        self._source.close()


class SourceConformance:
    """Base class of the tests of any connector."""

    @pytest.fixture
    def mirror(self, tmp_path: Path) -> Iterator[ItemMirror]:
        mirror = ItemMirror(tmp_path / "mirror")
        yield mirror
        mirror.close()

    def sync(self, world: SourceWorld, mirror: ItemMirror, interval: timedelta = timedelta(0)) -> SourceRun:
        source = world.connect()
        try:
            return synchronize(NAME, source, mirror, SyncOptions(deletion_interval=interval))
        finally:
            source.close()

    def check_equal(self, world: SourceWorld, mirror: ItemMirror) -> None:
        """Check that mirror, files and server have the same items."""
        items = {item.id: item for item in mirror.list_items(NAME)}
        assert set(items) == set(world.items)
        for item_id, text in world.items.items():
            assert text in mirror.read_text(items[item_id])
            assert text in (mirror.files_folder / items[item_id].path).read_text("utf-8")
        assert len(list(mirror.files_folder.rglob("*.md"))) == len(items)

    def test_first_synchronisation_mirrors_every_item(self, world: SourceWorld, mirror: ItemMirror) -> None:
        world.add(8)
        run = self.sync(world, mirror)

        assert (run.outcome, run.message, run.changes.added) == ("complete", "", 8)
        self.check_equal(world, mirror)

    def test_empty_source_is_complete(self, world: SourceWorld, mirror: ItemMirror) -> None:
        assert self.sync(world, mirror).outcome == "complete"
        world.add(1)
        self.sync(world, mirror)
        self.check_equal(world, mirror)

    def test_check_names_the_scope_and_reads_no_items(self, world: SourceWorld) -> None:
        source = world.connect()
        assert source.check().strip()
        source.close()

    def test_changed_and_new_items_replace_and_join_the_others(self, world: SourceWorld, mirror: ItemMirror) -> None:
        first, *_, last = world.add(5)
        self.sync(world, mirror)
        world.change(first)
        world.change(last)
        world.add(2)
        run = self.sync(world, mirror)

        assert (run.outcome, run.changes.added, run.changes.changed, run.changes.deleted) == ("complete", 2, 2, 0)
        self.check_equal(world, mirror)

    def test_deleted_item_leaves_the_mirror(self, world: SourceWorld, mirror: ItemMirror) -> None:
        ids = world.add(5)
        self.sync(world, mirror)
        world.delete(ids[2])
        run = self.sync(world, mirror)

        assert (run.outcome, run.changes.deleted) == ("complete", 1)
        self.check_equal(world, mirror)

    def test_nothing_changed_changes_nothing_and_costs_one_request(
        self, world: SourceWorld, mirror: ItemMirror
    ) -> None:
        world.add(3)
        self.sync(world, mirror)
        self.sync(world, mirror, NEVER)
        before = world.server.request_count
        run = self.sync(world, mirror, NEVER)

        assert run.outcome == "complete"
        assert (run.changes.added, run.changes.changed, run.changes.deleted, run.changes.failed) == (0, 0, 0, 0)
        assert world.server.request_count - before <= world.idle_requests
        self.check_equal(world, mirror)

    def test_item_that_moved_twice_is_there_once(self, world: SourceWorld, mirror: ItemMirror) -> None:
        ids = world.add(4)
        self.sync(world, mirror)
        world.server.move_item(ids[0])
        world.change(ids[0])
        world.server.move_item(ids[0])
        run = self.sync(world, mirror)

        assert (run.outcome, run.changes.deleted) == ("complete", 0)
        self.check_equal(world, mirror)

    def test_run_killed_at_any_page_continues_without_loss(self, world: SourceWorld, mirror: ItemMirror) -> None:
        world.add(8)
        for pages in range(5):
            source = world.connect()
            with pytest.raises(_KilledError):
                synchronize(NAME, _KillableSource(source, pages), mirror)
            source.close()
            if pages == 2:
                world.change(next(iter(world.items)))
        run = self.sync(world, mirror)

        assert run.outcome == "complete"
        self.check_equal(world, mirror)
        clean = ItemMirror(mirror.folder.parent / "clean")
        self.sync(world, clean)
        assert _list_contents(mirror) == _list_contents(clean)
        clean.close()


class RemoteSourceConformance(SourceConformance):
    """Base class of the tests of a connector to a server: keys, throttling, wrong replies, loops of pages."""

    @pytest.mark.parametrize("status", [429, 503])
    def test_throttled_source_loses_nothing(self, world: SourceWorld, mirror: ItemMirror, status: int) -> None:
        world.add(8)
        world.server.fail_next(status, {"Retry-After": "0"})
        runs = [self.sync(world, mirror) for _ in range(2)]

        assert runs[-1].outcome == "complete"
        assert all(run.outcome == "complete" or run.message for run in runs)
        self.check_equal(world, mirror)

    def test_server_that_stays_overloaded_is_an_outcome_and_keeps_the_mirror(
        self, world: SourceWorld, mirror: ItemMirror
    ) -> None:
        world.add(4)
        self.sync(world, mirror)
        world.server.fail_next(503, {"Retry-After": "0"}, times=1_000)
        run = self.sync(world, mirror)

        self.check_failure(run)
        self.check_equal(world, mirror)

    def test_refused_key_is_an_outcome_without_the_key(self, world: SourceWorld, mirror: ItemMirror) -> None:
        world.add(4)
        self.sync(world, mirror)
        world.server.refuse_key()
        run = self.sync(world, mirror)
        self.check_failure(run)
        self.check_equal(world, mirror)

        world.server.refuse_key(refuses=False)
        world.add(1)
        assert self.sync(world, mirror).outcome == "complete"
        self.check_equal(world, mirror)

    def test_html_reply_is_an_outcome_and_deletes_nothing(self, world: SourceWorld, mirror: ItemMirror) -> None:
        world.add(4)
        self.sync(world, mirror)
        page = b"<!DOCTYPE html><html><body>Sign in</body></html>"
        world.server.fail_next(200, {"Content-Type": "text/html; charset=utf-8"}, page, times=1_000)
        run = self.sync(world, mirror)

        self.check_failure(run)
        self.check_equal(world, mirror)

    def test_pages_in_a_loop_end_with_a_message(self, world: SourceWorld, mirror: ItemMirror) -> None:
        world.add(8)
        world.server.loop_pages()
        run = self.sync(world, mirror)
        assert run.outcome in {"incomplete", "failed"}
        assert run.message

        world.server.loop_pages(loops=False)
        assert self.sync(world, mirror).outcome == "complete"
        self.check_equal(world, mirror)

    def check_failure(self, run: SourceRun) -> None:
        """Check that a run failed with one clear line, which does not hold the key."""
        assert run.outcome == "failed"
        assert "internal error" not in run.message
        assert "127.0.0.1" in run.message or "localhost" in run.message
        assert "\n" not in run.message
        assert SECRET not in f"{run}"


def _list_contents(mirror: ItemMirror) -> list[tuple[str, str, str]]:
    return sorted((item.id, item.path, item.content_hash) for item in mirror.list_items(NAME))
