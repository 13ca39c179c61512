"""Reading of commits from git, over repositories with every kind of change."""

import os
import shutil
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from coderag.errors import HistoryError
from coderag.lineage.git_history import GitHistory
from coderag.lineage.git_log import LogEntry, read_log
from coderag.schema.lineage import Hunk
from tests.support.histories import GitFolder
from tests.support.hostile_git import plant_commands


class Kinds:
    """A history with a commit for each kind of change, and the ids of its commits by name."""

    def __init__(self, folder: GitFolder) -> None:
        self.folder = folder
        self.ids: dict[str, str] = {}
        commit = self._commit
        commit("root", "Begin\n", {"a.py": "one\ntwo\nthree\n", "sub/b.py": "x\n" * 20, "bin": b"\0\1" * 40})
        commit("modify", "Change a line\n\nBody of\nthe commit.\n", {"a.py": "one\n2\nthree\n"})
        folder.git("mv", "sub/b.py", "sub/c.py")
        commit("rename", "Rename b\n")
        (folder.path / "a.py").chmod(0o755)
        commit("mode", "Make a.py executable\n")
        commit("binary", "Change the binary file\n", {"bin": b"\0\2" * 40})
        commit(
            "names", "Odd names\n", {"with space.py": "1\n", "tab\there.py": "1\n", "ünï.py": "1\n", 'quo"te.py': "1\n"}
        )
        (folder.path / os.fsdecode(b"inv\xff.py")).write_text("1\n")
        commit("bytes", "A name in no encoding\n")
        (folder.path / "bin").unlink()
        (folder.path / "bin").symlink_to("a.py")
        commit("type", "Make it a link\n")
        folder.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module")
        self.ids["submodule"] = folder.commit_tree("Add a submodule\n", self.ids["type"])
        folder.git("checkout", "-q", "-b", "side", self.ids["modify"])
        commit("side", "Work aside\n", {"side.py": "1\n"})
        folder.git("checkout", "-q", "main")
        folder.git("merge", "-q", "--no-ff", "--no-commit", "side")
        self.ids["merge"] = folder.commit_tree("Merge side\n", self.ids["submodule"], self.ids["side"])
        folder.git("checkout", "-q", "-b", "other", self.ids["merge"])
        commit("theirs", "Theirs\n", {"a.py": "one\ntheirs\nthree\n"})
        folder.git("checkout", "-q", "main")
        commit("ours", "Ours\n", {"a.py": "one\nours\nthree\n"})
        folder.write("a.py", "one\nboth\nthree\n")
        folder.git("add", "a.py")
        self.ids["conflict"] = folder.commit_tree("Merge other\n", self.ids["ours"], self.ids["theirs"])
        folder.git("checkout", "-q", "--orphan", "alone")
        folder.git("rm", "-rq", "--cached", ".")
        folder.git("read-tree", "--empty")
        folder.write("alone.py", "1\n")
        folder.git("add", "-f", "alone.py")
        self.ids["second root"] = folder.git("commit-tree", folder.git("write-tree"), stdin=b"Another root\n")
        folder.git("checkout", "-q", "-f", "main")
        folder.write("alone.py", "1\n")
        folder.git("add", "alone.py")
        self.ids["octopus"] = folder.commit_tree(
            "Merge three\n", self.ids["conflict"], self.ids["second root"], self.ids["side"]
        )
        folder.git("rm", "-q", "with space.py")
        commit("delete", "Delete a file\n")
        folder.git("config", "i18n.commitEncoding", "ISO-8859-1")
        commit("latin", "Größe\n".encode("latin-1"))
        folder.git("config", "--unset", "i18n.commitEncoding")
        lines = folder.git("cat-file", "commit", self.ids["delete"]).split("\n")[:4]
        lines[1] = f"parent {self.ids['latin']}"
        raw = "\n".join(lines).encode() + b"\n\nUng\xfcltig\n"  # `git commit` would convert it
        self.ids["invalid"] = folder.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=raw)
        folder.git("reset", "-q", "--hard", self.ids["invalid"])

    def _commit(self, name: str, message: str | bytes, files: dict[str, str | bytes] | None = None) -> None:
        self.ids[name] = self.folder.commit(message, files)


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Kinds:
    return Kinds(GitFolder(tmp_path_factory.mktemp("kinds")))


@pytest.fixture(scope="module")
def entries(kinds: Kinds) -> dict[str, LogEntry]:
    by_id = {entry.id: entry for entry in read_log(GitHistory.open(kinds.folder.path), has_patches=True)}
    return {name: by_id[commit] for name, commit in kinds.ids.items() if commit in by_id}


def list_changes(entry: LogEntry) -> list[tuple[str, str]]:
    return sorted((change.change, change.path) for change in entry.changes)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("root", [("added", "a.py"), ("added", "bin"), ("added", "sub/b.py")]),
        ("modify", [("modified", "a.py")]),
        ("rename", [("renamed", "sub/c.py")]),
        ("mode", [("mode", "a.py")]),
        ("binary", [("modified", "bin")]),
        ("names", [("added", 'quo"te.py'), ("added", "tab\there.py"), ("added", "with space.py"), ("added", "ünï.py")]),
        ("bytes", [("added", os.fsdecode(b"inv\xff.py"))]),
        ("type", [("type", "bin")]),
        ("submodule", [("added", "module")]),
        ("merge", [("added", "side.py")]),
        ("conflict", [("modified", "a.py")]),
        ("octopus", [("added", "alone.py")]),
        ("delete", [("deleted", "with space.py")]),
    ],
)
def test_each_kind_of_change_is_read_against_the_first_parent(
    entries: dict[str, LogEntry], name: str, expected: list[tuple[str, str]]
) -> None:
    assert list_changes(entries[name]) == expected


def test_changed_lines_belong_to_their_files(entries: dict[str, LogEntry]) -> None:
    assert entries["modify"].hunks == [(Hunk(2, 1, 2, 1),)]
    assert entries["rename"].changes[0].old_path == "sub/b.py"
    assert entries["rename"].hunks == [()]
    assert entries["binary"].hunks == [None]
    assert entries["type"].hunks == [None]
    assert entries["mode"].hunks == [()]
    root = dict(zip((change.path for change in entries["root"].changes), entries["root"].hunks, strict=True))
    assert root == {"a.py": (Hunk(0, 0, 1, 3),), "sub/b.py": (Hunk(0, 0, 1, 20),), "bin": None}
    assert entries["submodule"].changes[0].is_submodule


def test_merges_list_all_parents_in_order(kinds: Kinds, entries: dict[str, LogEntry]) -> None:
    ids = kinds.ids
    assert entries["merge"].parents == (ids["submodule"], ids["side"])
    assert entries["octopus"].parents == (ids["conflict"], ids["second root"], ids["side"])
    assert entries["root"].parents == ()


def test_messages_are_decoded_in_their_encoding(entries: dict[str, LogEntry]) -> None:
    assert (entries["latin"].message, entries["latin"].encoding_note) == ("Größe", "")
    assert entries["invalid"].message == "Ungültig"
    assert "not valid UTF-8" in entries["invalid"].encoding_note
    assert entries["modify"].message == "Change a line\n\nBody of\nthe commit."


def test_times_keep_their_offset(entries: dict[str, LogEntry]) -> None:
    time = entries["root"].time.to_datetime()
    assert (time.timestamp(), time.utcoffset()) == (1_600_086_400, timedelta(hours=2))


def test_commit_count_is_that_of_git(kinds: Kinds) -> None:
    count = int(kinds.folder.git("rev-list", "--count", "HEAD"))
    assert len(list(read_log(GitHistory.open(kinds.folder.path)))) == count


def test_folder_below_the_top_sees_its_own_paths_and_all_commits(kinds: Kinds) -> None:
    history = GitHistory.open(kinds.folder.path / "sub")
    read = {entry.id: entry for entry in read_log(history)}
    assert len(read) == int(kinds.folder.git("rev-list", "--count", "HEAD"))
    assert list_changes(read[kinds.ids["root"]]) == [("added", "b.py")]
    assert list_changes(read[kinds.ids["modify"]]) == []
    assert [(change.old_path, change.path) for change in read[kinds.ids["rename"]].changes] == [("b.py", "c.py")]


def test_single_commits_are_read_in_the_order_asked(kinds: Kinds, entries: dict[str, LogEntry]) -> None:
    wanted = [kinds.ids[name] for name in ("modify", "delete", "root")]
    read = list(read_log(GitHistory.open(kinds.folder.path), commits=wanted, has_patches=True))
    assert [entry.id for entry in read] == wanted
    assert [entry.hunks for entry in read] == [entries[name].hunks for name in ("modify", "delete", "root")]


def test_worktree_has_the_history_of_its_branch(kinds: Kinds, tmp_path: Path) -> None:
    kinds.folder.git("worktree", "add", "-q", "--detach", str(tmp_path / "tree"), kinds.ids["rename"])
    try:
        read = list(read_log(GitHistory.open(tmp_path / "tree")))
        assert [entry.id for entry in read] == [kinds.ids[name] for name in ("rename", "modify", "root")]
    finally:
        kinds.folder.git("worktree", "remove", "--force", str(tmp_path / "tree"))


def test_submodule_has_its_own_history(kinds: Kinds, tmp_path: Path) -> None:
    outer = GitFolder(tmp_path / "outer")
    outer.commit("Outer\n", {"x": "1"})
    outer.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(kinds.folder.path), "inner")
    read = list(read_log(GitHistory.open(tmp_path / "outer" / "inner")))
    assert read[-1].id == kinds.ids["root"]
    assert len(read) == int(kinds.folder.git("rev-list", "--count", "HEAD"))


def test_shallow_boundary_has_unknown_changes(kinds: Kinds, tmp_path: Path) -> None:
    kinds.folder.git("clone", "-q", "--depth", "2", f"file://{kinds.folder.path}", str(tmp_path / "clone"))
    history = GitHistory.open(tmp_path / "clone")
    assert history.is_shallow
    read = list(read_log(history))
    assert [entry.are_changes_known for entry in read] == [True, False]
    assert read[1].changes == []


def test_partial_clone_is_read_without_fetching(kinds: Kinds, tmp_path: Path) -> None:
    kinds.folder.git("config", "uploadpack.allowFilter", "true")
    source = f"file://{kinds.folder.path}"
    kinds.folder.git("clone", "-q", "--filter=blob:none", "--no-checkout", source, str(tmp_path / "clone"))
    history = GitHistory.open(tmp_path / "clone")
    assert history.is_partial
    read = {entry.id: entry for entry in read_log(history)}
    assert list_changes(read[kinds.ids["modify"]]) == [("modified", "a.py")]
    assert list_changes(read[kinds.ids["rename"]]) == [("renamed", "sub/c.py")]
    with pytest.raises(HistoryError, match="git log failed"):
        list(read_log(history, has_patches=True))


def test_sha256_repository_is_read(tmp_path: Path) -> None:
    folder = GitFolder(tmp_path, "--object-format=sha256")
    commit = folder.commit("Begin\n", {"a.py": "1\n"})
    history = GitHistory.open(tmp_path)
    assert (history.id_bytes, len(commit)) == (32, 64)
    assert [(entry.id, list_changes(entry)) for entry in read_log(history)] == [(commit, [("added", "a.py")])]


def test_replacements_and_grafts_are_ignored(tmp_path: Path) -> None:
    folder = GitFolder(tmp_path)
    commits = [folder.commit(f"Commit {number}\n", {"a.py": f"{number}\n"}) for number in range(3)]
    folder.git("replace", commits[1], commits[0])
    (tmp_path / ".git" / "info" / "grafts").write_text(f"{commits[2]}\n")
    assert [entry.id for entry in read_log(GitHistory.open(tmp_path))] == commits[::-1]


def test_nothing_that_a_repository_names_is_run(tmp_path: Path) -> None:
    folder = GitFolder(tmp_path / "repository")
    folder.commit("Begin\n", {"a.py": "one\n", ".gitattributes": "*.py diff=evil filter=evil\n"})
    folder.commit("Change\n", {"a.py": "two\n"})
    plant_commands(folder.path, tmp_path / "canary")
    for setting in ("log.showSignature", "diff.renames", "diff.orderFile"):
        subprocess.run(["git", "config", setting, "true"], cwd=folder.path, check=True)
    history = GitHistory.open(folder.path)
    assert next(entry.hunks for entry in read_log(history, has_patches=True)) == [(Hunk(1, 1, 1, 1),)]
    assert history.run("blame", "--porcelain", "--no-textconv", "HEAD", "--", "a.py")
    assert not (tmp_path / "canary").exists()


def test_missing_git_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HistoryError, match="git is not installed") as raised:
        GitHistory.open(tmp_path)
    assert raised.value.state == "no_git"


def test_folder_outside_a_repository_is_named(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="is not in a git repository") as raised:
        GitHistory.open(tmp_path)
    assert raised.value.state == "no_repository"


def test_git_inside_the_repository_is_not_run(kinds: Kinds, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shutil.copy(shutil.which("true") or "/bin/true", tmp_path / "git")
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HistoryError, match="git is not installed"):
        GitHistory.open(tmp_path)
