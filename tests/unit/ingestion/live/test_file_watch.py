import os
import shutil
import subprocess
import sys
import threading
import time

import pytest

from coderag.ingestion.live import file_watch
from coderag.ingestion.live.edits import ROOT
from coderag.ingestion.live.file_watch import FileWatch

DEADLINE_S = 30


@pytest.fixture
def reported():
    return []


@pytest.fixture
def root(tmp_path):
    (tmp_path / ".coderag").mkdir()
    (tmp_path / "build").mkdir()
    return tmp_path


@pytest.fixture
def watch(root, reported, monkeypatch):
    """A watch that has begun and told that anything may have changed before."""
    monkeypatch.setattr(file_watch, "_SETTLE_TIMEOUT_S", 3.0)  # the machine may be busy
    monkeypatch.setattr(file_watch, "_ROOT_CHECK_MS", 50)
    watch = FileWatch(root, lambda: {"build/", "debug.log"}, reported.append, root / ".coderag" / "watch")
    assert watch.wait_until_started(DEADLINE_S)
    until(lambda: ROOT in (watch.take_changes() or ()))
    yield watch
    watch.close()


def until(condition):
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_edit_is_in_the_next_result(watch, root):
    for number in range(50):
        (root / "a.py").write_text(f"x = {number}\n")
        assert watch.take_changes() == {"a.py"}


def test_edit_by_another_process_is_in_the_next_result(watch, root):
    subprocess.run([sys.executable, "-c", "open('b.py', 'w').write('x')"], cwd=root, check=True)
    assert watch.take_changes() == {"b.py"}


def test_each_change_is_reported_once(watch, root):
    (root / "a.py").write_text("x = 1\n")
    watch.take_changes()
    assert watch.take_changes() == set()


def test_deletion_and_both_paths_of_a_rename_are_reported(watch, root):
    for name in ("a.py", "b.py"):
        (root / name).write_text("x = 1\n")
    watch.take_changes()
    (root / "a.py").unlink()
    (root / "b.py").rename(root / "c.py")
    assert watch.take_changes() == {"a.py", "b.py", "c.py"}


def test_file_in_a_new_folder_is_reported(watch, root):
    for number in range(30):
        (root / f"pkg{number}").mkdir()
        (root / f"pkg{number}" / "a.py").write_text("x = 1\n")
        assert watch.take_changes() & {f"pkg{number}", f"pkg{number}/a.py"}


def test_ignored_files_and_the_index_are_not_reported(watch, root):
    (root / "build" / "out.py").write_text("x = 1\n")
    (root / "debug.log").write_text("x = 1\n")
    (root / ".coderag" / "CURRENT").write_text("x = 1\n")
    assert watch.take_changes() == set()


def test_no_cookie_is_left_behind(watch, root):
    for _ in range(5):
        watch.take_changes()
    assert [entry.name for entry in (root / ".coderag" / "watch").iterdir() if entry.name.startswith("cookie")] == []


def test_changes_are_reported_in_the_background(watch, root, reported):
    (root / "a.py").write_text("x = 1\n")
    until(lambda: any("a.py" in paths for paths in reported))


def test_each_of_several_threads_gets_a_result(watch, root):
    (root / "a.py").write_text("x = 1\n")
    results = []
    threads = [threading.Thread(target=lambda: results.append(watch.take_changes())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_S)
    assert len(results) == 4
    assert set().union(*results) == {"a.py"}


def test_replaced_root_is_watched_again(watch, root):
    shutil.rmtree(root)
    until(lambda: watch.take_changes() is None or ROOT in (watch.take_changes() or ()))
    (root / ".coderag").mkdir(parents=True)
    until(lambda: ROOT in (watch.take_changes() or ()))

    def is_reported():
        (root / "a.py").write_text("x = 1\n")
        return "a.py" in (watch.take_changes() or ())

    until(is_reported)


def test_invalid_unicode_name_reports_the_root(watch, root):
    if sys.platform != "linux":
        pytest.skip("other systems have no such names")
    os.close(os.open(os.fsencode(root) + b"/\xff.py", os.O_CREAT | os.O_WRONLY))
    until(lambda: ROOT in (watch.take_changes() or ()))


def test_unwatchable_folder_gives_an_unknown_result(tmp_path, reported, monkeypatch):
    monkeypatch.setattr(file_watch, "_ROOT_CHECK_MS", 50)
    watch = FileWatch(tmp_path / "nowhere", set, reported.append, tmp_path / ".coderag" / "watch")
    assert watch.wait_until_started(DEADLINE_S)
    assert watch.take_changes() is None
    watch.close()


def test_result_is_unknown_without_cookies(watch, root):
    shutil.rmtree(root / ".coderag")
    assert watch.take_changes() is None


def test_closing_twice_is_harmless(watch):
    watch.close()
    watch.close()
