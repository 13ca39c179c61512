"""Commits in the folder of the index: incremental, complete, and rebuilt where they cannot be used."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from coderag.errors import HistoryError
from coderag.lineage import commit_store
from coderag.lineage.commit_store import CommitStore, StoredHistory
from coderag.lineage.git_history import GitHistory
from coderag.lineage.people import KEEP_PEOPLE
from coderag.schema.lineage import CommitReference
from tests.support.histories import GitFolder


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = GitFolder(tmp_path_factory.mktemp("template"))
    folder.commit("Begin (#1)\n", {"a.py": "1\n", "b/c.py": "1\n"})
    folder.commit("Change a\n\nFixes #2\n", {"a.py": "2\n"}, author="Bob")
    folder.git("checkout", "-q", "-b", "side")
    side = folder.commit("Side\n", {"side.py": "1\n"})
    folder.git("checkout", "-q", "main")
    tip = folder.commit("Main\n", {"a.py": "3\n"})
    folder.git("merge", "-q", "--no-commit", "--no-ff", "side")
    folder.commit_tree("Merge side\n", tip, side)
    return folder.path


@pytest.fixture
def folder(template: Path, tmp_path: Path) -> GitFolder:
    shutil.copytree(template, tmp_path / "repository", symlinks=True)
    return GitFolder(tmp_path / "repository", existing=True)


@pytest.fixture
def refresh(folder: GitFolder, tmp_path: Path) -> Callable[[], StoredHistory]:
    """Refresh by a store of its own, as a further process does."""
    return lambda: CommitStore(tmp_path / "index", KEEP_PEOPLE).refresh(GitHistory.open(folder.path))


def describe(stored: StoredHistory) -> list[object]:
    """Everything that is known of the commits, without their order among siblings."""
    table = stored.table
    return sorted(
        (
            (table.build_commit(number), table.get_changes(number), [table.is_own_change(row) for row in rows])
            for number in range(len(table))
            for rows in [range(*table.change_ends[number : number + 2])]
        ),
        key=lambda item: item[0].id,
    )


def read_fresh(folder: GitFolder, tmp_path: Path) -> list[object]:
    shutil.rmtree(tmp_path / "fresh", ignore_errors=True)
    return describe(CommitStore(tmp_path / "fresh", KEEP_PEOPLE).refresh(GitHistory.open(folder.path)))


def list_ids(stored: StoredHistory) -> list[str]:
    return [stored.table.get_id(number) for number in range(len(stored.table))]


def assert_parents_first(stored: StoredHistory) -> None:
    ids = list_ids(stored)
    places = {commit: number for number, commit in enumerate(ids)}
    for number in range(len(ids)):
        assert all(places[parent] < number for parent in stored.table.get_parents(number) if parent in places)


def test_commits_are_complete(folder: GitFolder, refresh: Callable[[], StoredHistory]) -> None:
    stored = refresh()
    assert sorted(list_ids(stored)) == sorted(folder.git("rev-list", "HEAD").split())
    assert_parents_first(stored)
    second = stored.table.build_commit(1)
    assert (second.subject, second.body, second.author, second.email) == ("Change a", "Fixes #2", "Bob", "bob@x.test")
    assert second.references == (CommitReference("ticket", "#2", "body", "fixes"),)


def test_refreshes_one_by_one_equal_a_fresh_read(
    folder: GitFolder, refresh: Callable[[], StoredHistory], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_store, "_MAX_SEGMENTS", 3)
    refresh()
    for number in range(6):
        folder.commit(f"Commit {number} for PROJ-{number}\n", {f"f{number}.py": "1\n"})
        stored = refresh()
        assert describe(stored) == read_fresh(folder, tmp_path)
        assert_parents_first(stored)
        assert len(stored.segments) <= 4


def test_long_lived_store_sees_commits_of_others(folder: GitFolder, tmp_path: Path) -> None:
    first, second = (CommitStore(tmp_path / "index", KEEP_PEOPLE) for _ in range(2))
    history = GitHistory.open(folder.path)
    assert len(first.refresh(history).table) == len(second.refresh(history).table)
    tip = folder.commit("More\n", {"a.py": "9\n"})
    history = GitHistory.open(folder.path)
    assert first.refresh(history).tip == tip
    stored = second.refresh(history)
    assert stored.tip == tip
    assert second.refresh(history) is stored


@pytest.mark.parametrize(
    "command",
    [
        ("reset", "-q", "--hard", "HEAD~1"),
        ("checkout", "-q", "side"),
        ("commit", "-q", "--amend", "-m", "Rewritten"),
        ("checkout", "-q", "--detach", "main~1"),
    ],
)
def test_rewritten_history_is_detected(
    folder: GitFolder, refresh: Callable[[], StoredHistory], tmp_path: Path, command: tuple[str, ...]
) -> None:
    refresh()
    folder.git(*command)
    assert describe(refresh()) == read_fresh(folder, tmp_path)


def test_other_branch_keeps_the_common_commits(
    folder: GitFolder, refresh: Callable[[], StoredHistory], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_store, "_RECENT_COMMITS", 2)
    first = refresh()
    assert len(first.segments) == 2
    folder.git("checkout", "-q", "side")
    other = refresh()
    assert other.segments[0] == first.segments[0]
    assert describe(other) == read_fresh(folder, tmp_path)


@pytest.mark.parametrize("damage", ["truncate", "flip", "flip the last", "empty", "remove", "pointer", "format"])
def test_damaged_store_is_rebuilt(
    folder: GitFolder, refresh: Callable[[], StoredHistory], tmp_path: Path, damage: str
) -> None:
    expected = describe(refresh())
    segment = next((tmp_path / "index" / "lineage").glob("commits-*.bin"))
    pointer = segment.with_name("CURRENT")
    content = segment.read_bytes()
    if damage == "truncate":
        segment.write_bytes(content[: len(content) // 2])
    elif damage == "flip":
        place = content.index(b"}}") + 40
        segment.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
    elif damage == "flip the last":
        segment.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    elif damage == "empty":
        segment.write_bytes(b"")
    elif damage == "remove":
        segment.unlink()
    elif damage == "pointer":
        pointer.write_text("{")
    else:
        pointer.write_text(json.dumps({**json.loads(pointer.read_text()), "format": 0}))
    assert describe(refresh()) == expected


def test_pointer_cannot_name_files_elsewhere(
    folder: GitFolder, refresh: Callable[[], StoredHistory], tmp_path: Path
) -> None:
    expected = describe(refresh())
    pointer = tmp_path / "index" / "lineage" / "CURRENT"
    values = json.loads(pointer.read_text())
    pointer.write_text(json.dumps({**values, "segments": [f"../../{name}" for name in values["segments"]]}))
    assert describe(refresh()) == expected


def test_history_is_read_where_nothing_can_be_stored(folder: GitFolder, tmp_path: Path) -> None:
    (tmp_path / "index").write_text("a file")
    store = CommitStore(tmp_path / "index", KEEP_PEOPLE)
    stored = store.refresh(GitHistory.open(folder.path))
    assert (len(stored.table), stored.is_stored) == (5, False)
    assert store.refresh(GitHistory.open(folder.path)) is stored


def test_limit_leaves_older_commits_out(folder: GitFolder, tmp_path: Path) -> None:
    history = GitHistory.open(folder.path)
    store = CommitStore(tmp_path / "index", KEEP_PEOPLE)
    assert len(store.refresh(history).table) == 5
    limited = store.refresh(history, f"^{folder.git('rev-parse', 'main~1')}")
    assert [commit.subject for commit, *_ in describe(limited)].count("Begin (#1)") == 0
    assert len(limited.table) == 2
    assert len(store.refresh(history).table) == 5


def test_merge_owns_only_what_no_parent_has(folder: GitFolder, refresh: Callable[[], StoredHistory]) -> None:
    table = refresh().table
    merge = len(table) - 1
    rows = range(*table.change_ends[merge : merge + 2])
    assert table.is_merge(merge)
    assert [(table.paths[table.change_paths[row]], table.is_own_change(row)) for row in rows] == [("side.py", False)]


def test_repository_without_commits_is_named(tmp_path: Path) -> None:
    GitFolder(tmp_path / "empty")
    with pytest.raises(HistoryError, match="no commits") as raised:
        CommitStore(tmp_path / "index", KEEP_PEOPLE).refresh(GitHistory.open(tmp_path / "empty"))
    assert raised.value.state == "no_commits"


def test_commit_is_found_by_prefix_and_reference(refresh: Callable[[], StoredHistory]) -> None:
    table = refresh().table
    first = table.get_id(0)
    assert table.find_by_prefix(first[:8].upper()) == [0]
    assert table.find_by_prefix(first[:2]) == []
    assert table.find_position("zz") is None
    assert table.find_by_reference("#2") == [1]
    assert table.find_by_reference("#3") == []
    assert replace(table.build_commit(0), references=()).id == first


def test_single_root_commit_and_an_empty_range_are_stored(tmp_path: Path) -> None:
    folder = GitFolder(tmp_path / "one")
    root = folder.commit("Begin", {"a.py": "1\n"})
    history = GitHistory.open(folder.path)
    store = CommitStore(tmp_path / "index", KEEP_PEOPLE)
    assert store.refresh(history).table.build_commit(0).parents == ()
    nothing = store.refresh(history, f"^{root}")
    assert len(nothing.table) == 0
    assert nothing.table.find_by_reference("#1") == []
    folder.commit("More", {"a.py": "2\n"})
    assert len(store.refresh(GitHistory.open(folder.path), f"^{root}").table) == 1


def test_impossible_times_do_not_stop_the_reading(tmp_path: Path) -> None:
    folder = GitFolder(tmp_path / "old")
    tree = folder.git("write-tree")
    times = {"far": "99999999999999 +0000", "odd": "5 +9999"}
    for name, time in times.items():
        raw = f"tree {tree}\nauthor A <a@x> {time}\ncommitter A <a@x> {time}\n\n{name}\n"
        commit = folder.git("hash-object", "-t", "commit", "-w", "--literally", "--stdin", stdin=raw.encode())
        folder.git("update-ref", f"refs/heads/{name}", commit)
    for name in times:
        folder.git("symbolic-ref", "HEAD", f"refs/heads/{name}")
        table = CommitStore(tmp_path / name, KEEP_PEOPLE).refresh(GitHistory.open(folder.path)).table
        assert table.build_commit(0).subject == name
