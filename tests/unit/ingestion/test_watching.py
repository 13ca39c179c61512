import shutil
from threading import Event

import pytest

from coderag.errors import IndexLockedError, IngestionError
from coderag.ingestion import watching
from coderag.ingestion.watching import run_when_unlocked, watch_changes


@pytest.fixture
def stop():
    event = Event()
    yield event
    event.set()


@pytest.fixture
def changes(tmp_path, stop, monkeypatch):
    """Changes of a folder, watched already; `debug.log` and what is in `build` do not matter."""
    monkeypatch.setattr(watching, "_POLL_MS", 50)
    (tmp_path / "build").mkdir()
    (tmp_path / ".git").mkdir()
    watched = watch_changes(tmp_path, lambda: {"build/", "debug.log"}, stop)
    assert not next(watched)
    return watched


def test_edit_is_noticed(changes, tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n")
    assert next(changes)


def test_edit_in_a_new_folder_is_noticed(changes, tmp_path):
    (tmp_path / "pkg").mkdir()
    assert next(changes)
    (tmp_path / "pkg" / "a.py").write_text("x = 1\n")
    assert next(changes)


@pytest.mark.parametrize("folder", ["build", "build/deep", ".git", ".coderag"])
def test_edits_in_ignored_folders_are_not_noticed(changes, tmp_path, folder):
    (tmp_path / folder).mkdir(exist_ok=True)
    for number in range(50):
        (tmp_path / folder / f"{number}.py").write_text("x = 1\n")
    (tmp_path / "a.py").write_text("x = 1\n")
    assert 0 < len(next(changes)) < 10


def test_repeated_writes_to_an_ignored_file_are_not_noticed(changes, tmp_path):
    for number in range(50):
        (tmp_path / "debug.log").write_text(f"line {number}\n")
    (tmp_path / "a.py").write_text("x = 1\n")
    assert next(changes) == {"a.py"}


def test_simultaneous_edits_are_reported_together(changes, tmp_path):
    for number in range(50):
        (tmp_path / f"{number}.py").write_text("x = 1\n")
    noticed = [next(changes)]
    while len(set().union(*noticed)) < 50:
        noticed.append(next(changes))
    assert len(noticed) < 10


def test_watching_ends_on_stop(changes, stop):
    stop.set()
    assert list(changes) == []


def test_folder_that_cannot_be_watched_is_an_error_with_a_hint(tmp_path):
    shutil.rmtree(tmp_path)
    with pytest.raises(IngestionError, match="cannot be watched") as caught:
        next(watch_changes(tmp_path, set))
    assert caught.value.hint


def test_indexing_waits_for_another_writer(monkeypatch):
    monkeypatch.setattr(watching, "_RETRY_S", 0.001)
    answers = iter([IndexLockedError("busy"), IndexLockedError("busy"), "report"])

    def index():
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert run_when_unlocked(index) == "report"


def test_waiting_for_another_writer_ends_on_stop(stop):
    def index():
        stop.set()
        raise IndexLockedError("busy")

    assert run_when_unlocked(index, stop) is None
