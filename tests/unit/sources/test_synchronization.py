import itertools
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from coderag.errors import IndexLockedError, SourceError, StoreError
from coderag.schema.items import Item, ItemFailure
from coderag.schema.mirrored_items import SourceRun
from coderag.sources.mirror import ItemMirror
from coderag.sources.protocol import Checkpoint, Page, SourceKind
from coderag.sources.sync_lock import lock_mirror
from coderag.sources.synchronization import SyncOptions, SyncProgress, synchronize
from tests.support.item_server import ItemServer, ItemServerSource

KEY = "k" * 20


def make_item(item_id: str, text: str = "Text.", revision: str = "1") -> Item:
    return Item(item_id, "page", f"Page {item_id}", text, revision=revision)


class ScriptedSource:
    """A source with given pages, listing, and replies to reading again."""

    kind: SourceKind = "documentation"

    def __init__(
        self,
        pages: Sequence[Page | Exception] | Iterator[Page | Exception] = (),
        ids: Sequence[str] | None = None,
        again: Page | Exception | None = None,
    ) -> None:
        self._pages = pages
        self.ids: Sequence[str] | Exception | None = ids
        self._again = again
        self.checkpoints: list[Checkpoint | None] = []
        self.read_again: list[list[str]] = []

    def check(self) -> str:
        return "all"

    def read_changes(self, checkpoint: Checkpoint | None) -> Iterator[Page]:
        self.checkpoints.append(checkpoint)
        for page in self._pages:
            if isinstance(page, Exception):
                raise page
            yield page

    def read_items(self, ids: Sequence[str]) -> Page:
        self.read_again.append(list(ids))
        if isinstance(self._again, Exception):
            raise self._again
        return self._again or Page((), {})

    def list_ids(self) -> Iterator[str] | None:
        if isinstance(self.ids, Exception):
            raise self.ids
        return iter(self.ids) if self.ids is not None else None

    def close(self) -> None:
        pass


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[ItemMirror]:
    mirror = ItemMirror(tmp_path / "sources")
    yield mirror
    mirror.close()


def fill(mirror: ItemMirror, number: int) -> list[str]:
    ids = [str(index) for index in range(number)]
    run = synchronize("wiki", ScriptedSource([Page([make_item(item_id) for item_id in ids], {"at": 1})]), mirror)
    assert run.outcome == "complete"
    return ids


def run_listing(mirror: ItemMirror, ids: Sequence[str], options: SyncOptions | None = None) -> SourceRun:
    return synchronize("wiki", ScriptedSource([Page((), {"at": 2})], ids), mirror, options)


def test_error_after_a_page_keeps_that_page_and_its_checkpoint(mirror: ItemMirror) -> None:
    error = SourceError("wiki.example answered with HTML", hint="Log in\nagain.")
    run = synchronize("wiki", ScriptedSource([Page([make_item("1")], {"at": 1}), error]), mirror)

    assert (run.outcome, run.message) == ("failed", "wiki.example answered with HTML. Log in again.")
    assert mirror.list_ids("wiki") == ["1"]
    source = ScriptedSource([Page((), {"at": 2})])
    assert synchronize("wiki", source, mirror).outcome == "complete"
    assert source.checkpoints == [{"at": 1}]
    assert [stored.outcome for stored in mirror.list_runs("wiki", 5)] == ["complete", "failed"]


def test_internal_error_of_a_connector_is_an_outcome(mirror: ItemMirror) -> None:
    run = synchronize("wiki", ScriptedSource([Page([make_item("1")], {}), KeyError("fields")]), mirror)

    assert (run.outcome, run.message) == ("failed", "internal error: KeyError: 'fields'")
    assert mirror.list_ids("wiki") == ["1"]


def test_checkpoint_that_is_no_json_is_an_outcome(mirror: ItemMirror) -> None:
    run = synchronize("wiki", ScriptedSource([Page([make_item("1")], {"at": object()})]), mirror)

    assert run.outcome == "failed"
    assert mirror.read_checkpoint("wiki") is None


def test_failed_items_are_tried_again_by_the_next_run(mirror: ItemMirror) -> None:
    failing = Page([make_item("1")], {"at": 1}, failures=[ItemFailure("2", "HTTP 500"), ItemFailure("3", "HTTP 500")])
    first = ScriptedSource([failing])
    assert synchronize("wiki", first, mirror).changes.failed == 2
    assert first.read_again == []

    second = ScriptedSource([Page((), {"at": 2})], again=Page([make_item("2")], {}, deleted=["3"]))
    synchronize("wiki", second, mirror)

    assert second.read_again == [["2", "3"]]
    assert mirror.list_failures() == []
    assert sorted(mirror.list_ids("wiki")) == ["1", "2"]
    assert mirror.read_checkpoint("wiki") == {"at": 2}


def test_items_that_cannot_be_read_again_leave_the_run_incomplete(mirror: ItemMirror) -> None:
    synchronize("wiki", ScriptedSource([Page((), {"at": 1}, failures=[ItemFailure("2", "HTTP 500")])]), mirror)
    run = synchronize("wiki", ScriptedSource([Page((), {"at": 2})], again=SourceError("wiki.example is down")), mirror)

    assert run.outcome == "incomplete"
    assert "wiki.example is down" in run.message
    assert [failure.id for failure in mirror.list_failures()] == ["2"]


def test_listing_finds_deletions_and_items_that_no_page_had(mirror: ItemMirror) -> None:
    fill(mirror, 5)
    source = ScriptedSource([Page((), {"at": 2})], ["0", "1", "2", "4", "late"], again=Page([make_item("late")], {}))
    run = synchronize("wiki", source, mirror)

    assert (run.changes.deleted, run.changes.added) == (1, 1)
    assert source.read_again == [["late"]]
    assert sorted(mirror.list_ids("wiki")) == ["0", "1", "2", "4", "late"]


@pytest.mark.parametrize("listed", [[], ["0", "1"]])
def test_short_listing_deletes_nothing_unless_forced(mirror: ItemMirror, listed: list[str]) -> None:
    ids = fill(mirror, 5)
    run = run_listing(mirror, listed)

    assert run.outcome == "incomplete"
    assert "nothing was deleted" in run.message
    assert sorted(mirror.list_ids("wiki")) == ids

    assert run_listing(mirror, listed, SyncOptions(forces_deletions=True)).changes.deleted == 5 - len(listed)
    assert sorted(mirror.list_ids("wiki")) == listed


def test_listing_that_breaks_off_deletes_nothing(mirror: ItemMirror) -> None:
    ids = fill(mirror, 3)
    source = ScriptedSource([Page((), {"at": 2})])
    source.ids = SourceError("wiki.example is down")
    run = synchronize("wiki", source, mirror)

    assert (run.outcome, run.changes.deleted) == ("incomplete", 0)
    assert "deletions were not looked for: wiki.example is down" in run.message
    assert mirror.list_ids("wiki") == ids
    assert mirror.read_checkpoint("wiki") == {"at": 2}


def test_ids_are_listed_again_only_after_the_interval(mirror: ItemMirror) -> None:
    fill(mirror, 3)
    day = SyncOptions(deletion_interval=timedelta(days=1))
    run_listing(mirror, ["0", "1", "2"], day)

    assert run_listing(mirror, ["0", "1"], day).changes.deleted == 0
    assert run_listing(mirror, ["0", "1"], replace(day, full=True)).changes.deleted == 1


def test_endless_pages_end_the_run(mirror: ItemMirror) -> None:
    def repeat() -> Iterator[Page]:
        for number in itertools.count():
            yield Page([make_item(str(number % 4))], {"at": number})

    run = synchronize("wiki", ScriptedSource(repeat(), ["0"]), mirror)

    assert run.outcome == "incomplete"
    assert "loop" in run.message
    assert (run.pages, len(mirror.list_ids("wiki"))) == (7, 4)


def test_same_position_with_nothing_new_ends_the_run(mirror: ItemMirror) -> None:
    pages = [Page([make_item("1")], {"at": 1}), Page([make_item("2")], {"at": 1}), Page([make_item("1")], {"at": 1})]
    run = synchronize("wiki", ScriptedSource([*pages, Page([make_item("3")], {"at": 1})]), mirror)

    assert (run.outcome, run.message) == (
        "incomplete",
        "page 3 repeats the position of page 1 and has nothing new: the pages run in a loop; the rest is read next time",
    )
    assert sorted(mirror.list_ids("wiki")) == ["1", "2"]


def test_endless_empty_pages_end_the_run(mirror: ItemMirror) -> None:
    pages = (Page((), {"at": number}) for number in itertools.count())
    run = synchronize("wiki", ScriptedSource(pages), mirror)

    assert (run.outcome, run.message) == ("incomplete", "1,000 pages in a row are empty; the rest is read next time")


def test_wrong_total_is_noted_and_never_shown_as_progress(mirror: ItemMirror) -> None:
    steps: list[SyncProgress] = []
    pages = [Page([make_item(str(number))], {"at": number}, total=2) for number in range(3)]
    pages += [Page([make_item("3")], {"at": 3}, total=50)]
    run = synchronize("wiki", ScriptedSource(pages), mirror, SyncOptions(on_progress=steps.append))

    assert run.outcome == "complete"
    assert run.notes == ("the source announced 50 items and sent 4",)
    assert [(step.done, step.total) for step in steps] == [(0, None), (1, 2), (2, 2), (3, None), (4, 50)]


def test_cancelled_run_keeps_its_pages_and_continues(mirror: ItemMirror) -> None:
    pages = [Page([make_item(str(number))], {"at": number}) for number in range(5)]
    options = SyncOptions(is_cancelled=lambda: len(mirror.list_ids("wiki")) >= 2)
    run = synchronize("wiki", ScriptedSource(pages), mirror, options)

    assert run.outcome == "cancelled"
    assert mirror.list_ids("wiki") == ["0", "1"]
    assert mirror.read_checkpoint("wiki") == {"at": 1}


def test_interrupted_run_is_recorded(mirror: ItemMirror) -> None:
    def interrupt() -> Iterator[Page]:
        yield Page([make_item("1")], {"at": 1})
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        synchronize("wiki", ScriptedSource(interrupt()), mirror)
    (run,) = mirror.list_runs("wiki")
    assert (run.outcome, run.message, run.changes.added) == ("cancelled", "it was interrupted", 1)


def test_second_writer_is_refused(mirror: ItemMirror) -> None:
    with lock_mirror(mirror.folder), pytest.raises(IndexLockedError, match="another process"):
        synchronize("wiki", ScriptedSource(), mirror)


def test_mirror_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "sources").write_text("a file")

    with pytest.raises(StoreError):
        synchronize("wiki", ScriptedSource(), ItemMirror(tmp_path / "sources"))


def test_runs_of_two_sources_stay_apart(mirror: ItemMirror) -> None:
    fill(mirror, 3)
    synchronize("tracker", ScriptedSource([Page([make_item("0")], {"at": 9})], ["0"]), mirror)

    assert {name: counts.items for name, counts in mirror.count_items().items()} == {"tracker": 1, "wiki": 3}
    assert mirror.read_checkpoint("wiki") == {"at": 1}


_FORKING_CHILD = """
import os, sys
from pathlib import Path
from coderag.models.redaction.redactor import get_redactor
from coderag.sources.mirror import ItemMirror
from coderag.sources.synchronization import synchronize
from tests.support.item_server import ItemServerSource
get_redactor()
for _ in sys.stdin:
    child = os.fork()
    if child == 0:
        synchronize("tracker", ItemServerSource(sys.argv[2], sys.argv[3]), ItemMirror(Path(sys.argv[1])))
        os._exit(0)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""
"""A process that has imported everything, and runs a synchronisation in a child for each line."""


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
def test_run_killed_at_random_times_ends_equal_to_a_clean_one(tmp_path: Path) -> None:
    rng, killed = random.Random(29), 0
    with ItemServer(KEY) as server:
        for number in range(270):
            server.add_item(f"Ticket {number}", f"Text {number}")
        arguments = [sys.executable, "-c", _FORKING_CHILD, str(tmp_path / "killed"), server.address, KEY]
        with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as parent:
            assert parent.stdin is not None
            assert parent.stdout is not None
            while killed < 20:
                target = server.request_count + rng.randrange(1, 4)
                parent.stdin.write("run\n")
                child = int(parent.stdout.readline())
                deadline = time.monotonic() + 10
                while server.request_count < target and time.monotonic() < deadline:
                    time.sleep(0.0002)
                time.sleep(rng.random() * 0.003)
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
                killed += int(parent.stdout.readline()) == signal.SIGKILL
                server.change_item(f"ITEM-{rng.randrange(270) + 1}", f"Changed after kill {killed}")
            parent.stdin.close()
        source = ItemServerSource(server.address, KEY)
        mirrors = ItemMirror(tmp_path / "killed"), ItemMirror(tmp_path / "clean")
        for mirror in mirrors:
            assert synchronize("tracker", source, mirror).outcome == "complete"
    contents = [
        (
            {item.id: (item.path, item.content_hash, item.revision) for item in mirror.list_items()},
            {path.name: path.read_bytes() for path in mirror.files_folder.rglob("*") if path.is_file()},
        )
        for mirror in mirrors
    ]
    assert contents[0] == contents[1]
    assert len(contents[0][0]) == len(contents[0][1]) == 270
