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
def told():
    return []


@pytest.fixture
def root(tmp_path):
    (tmp_path / ".coderag").mkdir()
    (tmp_path / "build").mkdir()
    return tmp_path


@pytest.fixture
def watch(root, told, monkeypatch):
    """A watch that has begun and told that anything may have changed before."""
    monkeypatch.setattr(file_watch, "_SETTLE_TIMEOUT_S", 3.0)  # the machine may be busy
    monkeypatch.setattr(file_watch, "_ROOT_CHECK_MS", 50)
    watch = FileWatch(root, lambda: {"build/", "debug.log"}, told.append, root / ".coderag" / "watch")
    assert watch.wait_until_started(DEADLINE_S)
    until(lambda: ROOT in (watch.take_changes() or ()))
    yield watch
    watch.close()


def until(condition):
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_an_edit_is_in_the_very_next_answer(watch, root):
    for number in range(50):
        (root / "a.py").write_text(f"x = {number}\n")
        assert watch.take_changes() == {"a.py"}


def test_an_edit_of_another_process_is_in_the_very_next_answer(watch, root):
    subprocess.run([sys.executable, "-c", "open('b.py', 'w').write('x')"], cwd=root, check=True)
    assert watch.take_changes() == {"b.py"}


def test_each_change_is_told_once(watch, root):
    (root / "a.py").write_text("x = 1\n")
    watch.take_changes()
    assert watch.take_changes() == set()


def test_a_deletion_and_both_ends_of_a_rename_are_told(watch, root):
    for name in ("a.py", "b.py"):
        (root / name).write_text("x = 1\n")
    watch.take_changes()
    (root / "a.py").unlink()
    (root / "b.py").rename(root / "c.py")
    assert watch.take_changes() == {"a.py", "b.py", "c.py"}


def test_a_file_in_a_folder_that_was_just_made_is_told_with_it_or_its_folder(watch, root):
    for number in range(30):
        (root / f"pkg{number}").mkdir()
        (root / f"pkg{number}" / "a.py").write_text("x = 1\n")
        assert watch.take_changes() & {f"pkg{number}", f"pkg{number}/a.py"}


def test_what_is_ignored_and_the_index_itself_are_not_told(watch, root):
    (root / "build" / "out.py").write_text("x = 1\n")
    (root / "debug.log").write_text("x = 1\n")
    (root / ".coderag" / "CURRENT").write_text("x = 1\n")
    assert watch.take_changes() == set()


def test_no_cookie_is_left_behind(watch, root):
    for _ in range(5):
        watch.take_changes()
    assert [entry.name for entry in (root / ".coderag" / "watch").iterdir() if entry.name.startswith("cookie")] == []


def test_changes_are_told_without_being_asked_for(watch, root, told):
    (root / "a.py").write_text("x = 1\n")
    until(lambda: any("a.py" in paths for paths in told))


def test_of_several_threads_each_is_answered(watch, root):
    (root / "a.py").write_text("x = 1\n")
    found = []
    threads = [threading.Thread(target=lambda: found.append(watch.take_changes())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_S)
    assert len(found) == 4
    assert set().union(*found) == {"a.py"}


def test_a_root_that_is_replaced_is_followed_again(watch, root):
    shutil.rmtree(root)
    until(lambda: watch.take_changes() is None or ROOT in (watch.take_changes() or ()))
    (root / ".coderag").mkdir(parents=True)
    until(lambda: ROOT in (watch.take_changes() or ()))

    def is_told():
        (root / "a.py").write_text("x = 1\n")
        return "a.py" in (watch.take_changes() or ())

    until(is_told)


def test_a_name_that_is_no_text_means_that_anything_may_have_changed(watch, root):
    if sys.platform != "linux":
        pytest.skip("other systems have no such names")
    os.close(os.open(os.fsencode(root) + b"/\xff.py", os.O_CREAT | os.O_WRONLY))
    until(lambda: ROOT in (watch.take_changes() or ()))


def test_a_folder_that_cannot_be_watched_is_unknown_and_no_error(tmp_path, told, monkeypatch):
    monkeypatch.setattr(file_watch, "_ROOT_CHECK_MS", 50)
    watch = FileWatch(tmp_path / "nowhere", set, told.append, tmp_path / ".coderag" / "watch")
    assert watch.wait_until_started(DEADLINE_S)
    assert watch.take_changes() is None
    watch.close()


def test_where_cookies_cannot_be_made_the_answer_is_unknown(watch, root):
    shutil.rmtree(root / ".coderag")
    assert watch.take_changes() is None


def test_it_is_closed_more_than_once_without_harm(watch):
    watch.close()
    watch.close()
