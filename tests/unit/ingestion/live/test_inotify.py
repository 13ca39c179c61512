import errno
import logging
import os
import random
import shutil
import sys
import threading
import time
from pathlib import Path

import pytest

from coderag.ingestion.live import file_watch
from coderag.ingestion.live.edits import ROOT
from coderag.ingestion.live.file_watch import FileWatch

if sys.platform != "linux":
    pytest.skip("other systems have no inotify", allow_module_level=True)

from coderag.ingestion.live.inotify import InotifySource

DEADLINE_S = 30


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "repository"
    (root / ".coderag").mkdir(parents=True)
    (root / ".git" / "objects").mkdir(parents=True)
    (root / "build" / "deep").mkdir(parents=True)
    (root / "src").mkdir()
    return root


@pytest.fixture
def ignored():
    """What is ignored; a test replaces the set, as a walk does."""
    return [frozenset({".git/", ".coderag/", "build/", "debug.log"})]


@pytest.fixture
def watch(root, ignored, monkeypatch):
    monkeypatch.setattr(file_watch, "_SETTLE_TIMEOUT_S", 5.0)  # the machine may be busy
    watch = FileWatch(root, lambda: ignored[0], lambda paths: None, root / ".coderag" / "watch")
    assert watch.wait_until_started(DEADLINE_S)
    assert watch.take_changes() == {ROOT}
    yield watch
    watch.close()


def folders(watch):
    """The folders that have a watch, relative to the root."""
    return {os.path.relpath(path, watch._root) for path in watch._source._watches}


def test_no_edit_is_lost_with_concurrent_threads(root, monkeypatch):
    monkeypatch.setattr(file_watch, "_SETTLE_TIMEOUT_S", 5.0)
    reported, ended = set(), threading.Event()
    watch = FileWatch(root, frozenset, reported.update, root / ".coderag" / "watch")
    assert watch.wait_until_started(DEADLINE_S)

    def ask():
        while not ended.wait(0.001):
            watch.take_changes()

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for number in range(2_000):
            path = f"src/f{number % 50}.py"
            reported.clear()
            (root / path).write_text(f"x = {number}\n")
            assert watch.take_changes() is not None
            assert path in reported
    finally:
        ended.set()
        for thread in threads:
            thread.join(DEADLINE_S)
        watch.close()


def test_result_waits_for_changes_read_by_another_thread(root, monkeypatch):
    monkeypatch.setattr(file_watch, "_SETTLE_TIMEOUT_S", 5.0)
    reached, released, noted = threading.Event(), threading.Event(), []

    def on_change(paths):
        if "src/a.py" in paths:
            reached.set()
            assert released.wait(DEADLINE_S)
        noted.extend(paths)

    watch = FileWatch(root, frozenset, on_change, root / ".coderag" / "watch")
    assert watch.wait_until_started(DEADLINE_S)
    (root / "src" / "a.py").write_text("x = 1\n")
    assert reached.wait(DEADLINE_S)  # the thread that follows edits has read it, and is not done
    results = []
    thread = threading.Thread(target=lambda: results.append((watch.take_changes(), list(noted))))
    thread.start()
    thread.join(0.1)
    assert not results
    released.set()
    thread.join(DEADLINE_S)
    watch.close()
    [(changed, noted_before)] = results
    assert "src/a.py" in changed
    assert "src/a.py" in noted_before


def test_callback_may_query_the_watch(root, monkeypatch):
    monkeypatch.setattr(file_watch, "_SETTLE_TIMEOUT_S", 5.0)
    watches, answers = [], []
    watches.append(
        FileWatch(
            root,
            frozenset,
            lambda paths: None,
            root / ".coderag" / "watch",
            lambda paths: answers.extend(watch_in_list.take_changes() for watch_in_list in watches),
        )
    )
    [watch] = watches
    assert watch.wait_until_started(DEADLINE_S)
    (root / "a.py").write_text("x = 1\n")
    watch.take_changes()
    watch.close()
    assert answers


def test_nested_new_folders_are_watched_and_reported(watch, root):
    for number in range(30):
        deep = root / f"n{number}" / "b" / "c"
        deep.mkdir(parents=True)
        (deep / "a.py").write_text("x = 1\n")
        reported = watch.take_changes()
        assert reported & {f"n{number}", f"n{number}/b", f"n{number}/b/c", f"n{number}/b/c/a.py"}
        (deep / "a.py").write_text("x = 2\n")
        assert watch.take_changes() == {f"n{number}/b/c/a.py"}


def test_file_in_a_renamed_folder_is_reported_under_its_new_name(watch, root):
    (root / "src" / "inner").mkdir()
    watch.take_changes()
    (root / "src").rename(root / "lib")
    (root / "lib" / "inner" / "a.py").write_text("x = 1\n")
    assert {"src", "lib"} <= watch.take_changes()
    (root / "lib" / "inner" / "a.py").write_text("x = 2\n")
    assert watch.take_changes() == {"lib/inner/a.py"}


def test_folder_moved_out_is_no_longer_watched(watch, root, tmp_path):
    (root / "src" / "inner").mkdir()
    watch.take_changes()
    (root / "src").rename(tmp_path / "elsewhere")
    assert watch.take_changes() == {"src"}
    (tmp_path / "elsewhere" / "inner" / "a.py").write_text("x = 1\n")
    assert watch.take_changes() == set()
    assert not {"src", "src/inner"} & folders(watch)


def test_folder_moved_in_is_watched(watch, root, tmp_path):
    (tmp_path / "other" / "inner").mkdir(parents=True)
    (tmp_path / "other").rename(root / "other")
    assert watch.take_changes() == {"other"}
    (root / "other" / "inner" / "a.py").write_text("x = 1\n")
    assert watch.take_changes() == {"other/inner/a.py"}


def test_ignored_folder_has_no_watch(watch):
    assert folders(watch) == {".", "src", ".coderag/watch"}


def test_changed_ignore_rules_update_the_watches(watch, root, ignored):
    (root / "build" / "deep" / "a.py").write_text("x = 1\n")
    assert watch.take_changes() == set()
    ignored[0] = frozenset({".git/", ".coderag/", "src/"})
    assert watch.take_changes() == {"build"}
    (root / "build" / "deep" / "a.py").write_text("x = 2\n")
    (root / "src" / "a.py").write_text("x = 2\n")
    assert watch.take_changes() == {"build/deep/a.py"}
    assert "src" not in folders(watch)


def test_links_to_folders_are_not_followed(watch, root, tmp_path):
    (tmp_path / "target").mkdir()
    (root / "link").symlink_to(tmp_path / "target")
    watch.take_changes()
    (tmp_path / "target" / "a.py").write_text("x = 1\n")
    assert watch.take_changes() == set()


def test_queue_overflow_reports_the_root_and_renews_watches(watch, root):
    room = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if room > 200_000:
        pytest.skip("there is too much room")
    paths = [root / "src" / f"{name}.py" for name in "ab"]
    with watch._source._lock:  # nobody reads meanwhile
        for _ in range(room // 2 + 1):
            for path in paths:
                path.touch()
        (root / "src" / "late").mkdir()
    assert ROOT in watch.take_changes()
    (root / "src" / "late" / "a.py").write_text("x = 1\n")
    assert watch.take_changes() == {"src/late/a.py"}


def test_source_closes_at_once(watch, root):
    watch.take_changes()
    started = time.monotonic()
    watch.close()
    assert time.monotonic() - started < file_watch._ROOT_CHECK_MS / 1_000 / 2


def test_watch_limit_gives_an_unknown_result_with_a_reason(watch, root, monkeypatch, caplog):
    def full(self, path, mask):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    monkeypatch.setattr(InotifySource, "_add_watch", full)
    with caplog.at_level(logging.WARNING, file_watch.__name__):
        (root / "new").mkdir()
        assert watch.take_changes() is None
        watch._thread.join(DEADLINE_S)
    assert not watch._thread.is_alive()
    assert watch.take_changes() is None
    assert "max_user_watches" in caplog.text


def test_unwatchable_folder_leaves_no_open_descriptor(root, monkeypatch):
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(FileNotFoundError):
        InotifySource(root / "nowhere", root / "cookies", frozenset, list)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_swapped_folders_are_reported_by_name(watch, root):
    for name in ("one", "two"):
        (root / name / "inner").mkdir(parents=True)
    watch.take_changes()
    (root / "one").rename(root / "tmp")
    (root / "two").rename(root / "one")
    (root / "tmp").rename(root / "two")
    watch.take_changes()
    for name in ("one", "two"):
        (root / name / "inner" / "a.py").write_text("x = 1\n")
        assert watch.take_changes() == {f"{name}/inner/a.py"}


# Random edits: what was told suffices to know the whole tree


def tree(root, below=""):
    texts = {}
    top = root / below
    if top.is_symlink() or not top.is_dir():
        return {below: top.read_text()} if top.is_file() and not top.is_symlink() else {}
    for folder, names, files in os.walk(top):
        names[:] = [name for name in names if name != ".coderag"]
        for name in files:
            path = os.path.join(folder, name)  # noqa: PTH118
            if not os.path.islink(path):  # noqa: PTH114
                with open(path) as file:  # noqa: PTH123
                    texts[os.path.relpath(path, root)] = file.read()
    return texts


def edit(root, outside, chance, number):
    """Make one random edit."""
    inside = [folder for folder, *_ in os.walk(root) if ".coderag" not in folder]
    folder = root / chance.choice(inside)
    name = chance.choice("abcdef")
    target = folder / name
    kind = chance.randrange(8)
    if kind <= 2 and not target.is_dir():
        target.write_text(str(number))
    elif kind == 3:
        deep = folder / name / chance.choice("ab") / chance.choice("cd")
        if not any(path.is_file() for path in (deep, *deep.parents)):
            deep.mkdir(parents=True, exist_ok=True)
            (deep / f"{number}.py").write_text(str(number))
    elif kind == 4 and target.exists():
        shutil.rmtree(target) if target.is_dir() else target.unlink()
    elif kind == 5 and target.exists():
        other = root / chance.choice(inside) / chance.choice("ghi")
        if not other.exists() and not other.is_relative_to(target):
            target.rename(other)
    elif kind == 6 and target.exists():
        target.rename(outside / f"{chance.random()}")
    elif kind == 7 and (there := sorted(outside.iterdir())) and not target.exists():
        chance.choice(there).rename(target)


@pytest.mark.parametrize("seed", range(6))
def test_reported_changes_reproduce_the_tree(seed, watch, root, tmp_path):
    (tmp_path / "outside").mkdir()
    shutil.rmtree(root / "build")
    shutil.rmtree(root / ".git")
    watch.take_changes()
    chance = random.Random(seed)
    mirror = tree(root)
    for number in range(150):
        for _ in range(chance.choice((1, 1, 1, 5))):
            edit(root, tmp_path / "outside", chance, number)
        reported = watch.take_changes()
        assert reported is not None
        for path in reported:
            assert path != ROOT
            mirror = {name: text for name, text in mirror.items() if name != path and not name.startswith(f"{path}/")}
            mirror |= tree(root, path)
        assert mirror == tree(root)
