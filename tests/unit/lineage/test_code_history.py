"""Questions about a history: commits, lines, authors, co-change, tickets, over a small repository."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coderag.config.sections import LineageSettings, PrivacySettings
from coderag.errors import HistoryError, InvalidQueryError, UnknownNameError, UnknownRevisionError
from coderag.lineage.code_history import CodeHistory
from coderag.schema.lineage import SubjectHistory
from tests.support.histories import GitFolder

UTIL = """import os


def read(path, limit=10):
    with open(path) as file:
        return file.read(limit)


def unused():
    return None
"""
PARSE = """

def parse(text):
    # Splits the text.
    words = text.split()
    lines = []
    for word in words:
        lines.append(word.lower())
    return lines
"""


class Shop:
    """The repository, and the ids of its commits by name."""

    def __init__(self, folder: GitFolder) -> None:
        self.folder = folder
        ids = self.ids = {}
        ids["begin"] = folder.commit("Begin", {"util.py": UTIL, "test_util.py": "def test_read():\n    pass\n"})
        ids["limit"] = folder.commit(
            "Raise the limit\n\nThe old one cut files.\n\nRefs: PROJ-45\nCo-authored-by: Eve <eve@x.test>\n",
            {"util.py": UTIL.replace("limit=10", "limit=20")}, author="Bob",
        )  # fmt: skip
        folder.git("tag", "v1")
        ids["parse"] = folder.commit(
            "Add a parser (#7)", {"util.py": UTIL.replace("limit=10", "limit=20") + PARSE, "notes.md": "# Notes\n"}
        )
        folder.git("mv", "util.py", "tools.py")
        ids["rename"] = folder.commit("Rename util to tools")
        tools = (UTIL.replace("limit=10", "limit=20") + PARSE).replace("word.lower()", "word.upper()")
        ids["upper"] = folder.commit(
            "Use capitals", {"tools.py": tools, "test_util.py": "def test_read():\n    assert 1\n"}, author="Bob"
        )
        ids["move"] = folder.commit(
            "Move parse to its own file",
            {"tools.py": tools.partition("\n\ndef parse")[0] + "\n",
             "parsing.py": "def parse" + tools.partition("def parse")[2]},
        )  # fmt: skip
        ids["strip"] = folder.commit(
            "PROJ-46: strip words",
            {"parsing.py": self.read("parsing.py").replace("word.upper()", "word.upper().strip()")},
        )
        folder.git("checkout", "-q", "-b", "topic", "HEAD")
        ids["topic"] = folder.commit(
            "Test the parser", {"test_parse.py": "def test_parse():\n    assert 1\n"}, author="Eve"
        )
        folder.git("checkout", "-q", "main")
        folder.git("merge", "-q", "--no-commit", "--no-ff", "topic")
        ids["merge"] = folder.commit_tree("Merge pull request #9 from eve/topic\n", ids["strip"], ids["topic"])

    def read(self, path: str) -> str:
        return (self.folder.path / path).read_text()

    def find_lines(self, path: str, first: str) -> tuple[int, int]:
        """Lines of the function that begins with a text."""
        lines = self.read(path).split("\n")
        start = next(number for number, line in enumerate(lines, 1) if line.startswith(first))
        end = next((n for n in range(start, len(lines)) if lines[n] and not lines[n][0].isspace()), len(lines))
        while not lines[end - 1].strip():
            end -= 1
        return start, end


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return Shop(GitFolder(tmp_path_factory.mktemp("shop")))


@pytest.fixture(scope="module")
def history(shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> CodeHistory:
    return CodeHistory(shop.folder.path, LineageSettings(), PrivacySettings(), tmp_path_factory.mktemp("index"))


@pytest.fixture
def copy_shop(shop: Shop, tmp_path: Path) -> Callable[..., tuple[GitFolder, CodeHistory]]:
    def copy(**settings: Any) -> tuple[GitFolder, CodeHistory]:
        shutil.copytree(shop.folder.path, tmp_path / "copy")
        privacy = PrivacySettings(mask_people=bool(settings.pop("mask_people", False)))
        copied = CodeHistory(tmp_path / "copy", LineageSettings(**settings), privacy, tmp_path / "index")
        return GitFolder(tmp_path / "copy", existing=True), copied

    return copy


def name_commits(shop: Shop, result: SubjectHistory) -> list[str]:
    names = {commit: name for name, commit in shop.ids.items()}
    return [names[change.commit.id] for change in result.changes]


# --- files


def test_file_is_followed_through_its_rename(shop: Shop, history: CodeHistory) -> None:
    result = history.list_commits("tools.py")
    assert name_commits(shop, result) == ["move", "upper", "rename", "parse", "limit", "begin"]
    assert [change.note for change in result.changes if change.note] == ["renamed from util.py"]
    assert result.changes[-1].path == "util.py"


def test_deleted_path_and_folder_and_whole_repository_have_commits(shop: Shop, history: CodeHistory) -> None:
    assert name_commits(shop, history.list_commits("util.py")) == ["parse", "limit", "begin"]
    assert len(history.list_commits("", limit=100).changes) == len(shop.ids)
    assert history.list_commits("", limit=2).is_limited
    assert name_commits(shop, history.list_commits("test_parse.py")) == ["topic"]


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"since": "v1"}, ["move", "upper", "rename", "parse"]),
        ({"until": "v1"}, ["limit", "begin"]),
        ({"since": "2020-09-17"}, ["move", "upper", "rename"]),
        ({"since": "v1", "until": "2020-09-17"}, ["parse"]),
        ({"limit": 1}, ["move"]),
    ],
)
def test_range_is_given_by_dates_and_revisions(
    shop: Shop, history: CodeHistory, limits: dict[str, Any], expected: list[str]
) -> None:
    assert name_commits(shop, history.list_commits("tools.py", **limits)) == expected


# --- lines and declarations


def test_declaration_is_followed_through_rename_and_move(shop: Shop, history: CodeHistory) -> None:
    result = history.get_declaration_history("parsing.py", *shop.find_lines("parsing.py", "def parse"), "parse")
    assert name_commits(shop, result) == ["strip", "move", "upper", "parse"]
    assert result.changes[1].note == "moved from tools.py"
    assert [change.path for change in result.changes] == ["parsing.py", "parsing.py", "tools.py", "util.py"]
    assert result.is_exact


def test_lines_without_a_name_are_followed_into_another_file(shop: Shop, history: CodeHistory) -> None:
    result = history.get_declaration_history("parsing.py", *shop.find_lines("parsing.py", "def parse"))
    names = name_commits(shop, result)
    assert (names[:2], names[-1]) == (["strip", "move"], "parse")


def test_copied_lines_are_not_called_moved(copy_shop: Callable[..., tuple[GitFolder, CodeHistory]]) -> None:
    folder, history = copy_shop()
    parse = (folder.path / "parsing.py").read_text()
    folder.commit("Copy it", {"copied.py": parse, "parsing.py": parse + "\n# See copied.py.\n"})
    copied = history.get_declaration_history("copied.py", 1, 7)
    assert [(change.commit.subject, change.note) for change in copied.changes] == [("Copy it", "")]


def test_lines_moved_within_a_file_are_followed(copy_shop: Callable[..., tuple[GitFolder, CodeHistory]]) -> None:
    folder, history = copy_shop()
    text = (folder.path / "tools.py").read_text()
    unused = text[text.index("def unused") :]
    folder.commit("Reorder", {"tools.py": unused + "\n\n" + text.replace(unused, "") + "# 1\n# 2\n"})
    changes = history.get_declaration_history("tools.py", 1, 2, "unused").changes
    assert changes[-1].commit.subject == "Begin"


def test_commits_of_a_declaration_have_its_changed_lines(shop: Shop, history: CodeHistory) -> None:
    result = history.get_declaration_history("tools.py", *shop.find_lines("tools.py", "def read"), "read")
    assert name_commits(shop, result) == ["limit", "begin"]
    assert [(change.start_line, change.end_line) for change in result.changes] == [(4, 6), (4, 6)]
    assert [tuple(hunk) for hunk in result.changes[0].hunks] == [(4, 1, 4, 1)]


def test_uncommitted_lines_are_said_to_be_so(copy_shop: Callable[..., tuple[GitFolder, CodeHistory]]) -> None:
    folder, history = copy_shop()
    text = (folder.path / "tools.py").read_text().replace("import os\n", "import os\nimport sys\nimport re\n")
    folder.write("tools.py", text.replace("file.read(limit)", "file.read()"))
    blame = history.blame("tools.py")
    assert [(entry.start_line, entry.end_line) for entry in blame.lines if entry.commit is None] == [(2, 3), (8, 8)]
    assert history.get_declaration_history("tools.py", 2, 3).notes[0] == "Lines 2-3 of tools.py are not committed yet."
    moved = history.get_declaration_history("tools.py", 6, 8, "read")
    assert [change.commit.subject for change in moved.changes] == ["Raise the limit", "Begin"]


def test_lines_of_head_have_a_history_whatever_is_on_disk(
    copy_shop: Callable[..., tuple[GitFolder, CodeHistory]],
) -> None:
    folder, history = copy_shop()
    folder.write("tools.py", "")
    result = history.get_declaration_history("tools.py", 4, 6, "read", at_head=True)
    assert [change.commit.subject for change in result.changes] == ["Raise the limit", "Begin"]
    blame = history.blame("tools.py", 4, 6, at_head=True)
    assert sum(entry.end_line - entry.start_line + 1 for entry in blame.lines if entry.commit is not None) == 3


def test_folder_and_line_ends_of_windows_do_not_matter(copy_shop: Callable[..., tuple[GitFolder, CodeHistory]]) -> None:
    folder, history = copy_shop()
    folder.write("tools.py", (folder.path / "tools.py").read_bytes().replace(b"\n", b"\r\n"))
    assert all(entry.commit is not None for entry in history.blame("tools.py").lines)


def test_blame_equals_that_of_git(shop: Shop, history: CodeHistory) -> None:
    for path in shop.folder.git("ls-files").split("\n"):
        output = shop.folder.git("blame", "-M", "-C", "--porcelain", "HEAD", "--", path)
        expected = [
            (int(match[3]), match[1], int(match[2]))
            for match in re.finditer(r"^(\w{40}) (\d+) (\d+)", output, re.MULTILINE)
        ]
        actual = [
            (line, entry.commit.id, entry.original_line + line - entry.start_line)
            for entry in history.blame(path).lines
            for line in range(entry.start_line, entry.end_line + 1)
            if entry.commit is not None
        ]
        assert actual == sorted(expected)


def test_ignored_revisions_are_passed_over_and_bad_entries_noted(
    copy_shop: Callable[..., tuple[GitFolder, CodeHistory]], shop: Shop
) -> None:
    folder, history = copy_shop()
    folder.write(".git-blame-ignore-revs", f"# Formatting\n{shop.ids['strip']}\n\n{'0' * 40}\nmain\n")
    line = shop.find_lines("parsing.py", "def parse")[0] + 5
    entry = history.blame("parsing.py", line, line)
    assert entry.lines[0].commit is not None
    assert entry.lines[0].commit.subject != "PROJ-46: strip words"
    assert entry.notes == (
        ".git-blame-ignore-revs: 'main' is not a full commit id.",
        ".git-blame-ignore-revs: commit 000000000000 does not exist in this clone.",
    )


# --- people


def test_authors_are_ranked_by_their_lines(history: CodeHistory, shop: Shop) -> None:
    authors = history.find_authors("tools.py").authors
    assert [(share.author, share.commits) for share in authors] == [("Ann", 4), ("Bob", 2)]
    assert authors[0].lines > authors[1].lines == 1
    read = history.find_authors("tools.py", *shop.find_lines("tools.py", "def read")).authors
    assert [(share.author, share.lines, share.commits) for share in read] == [("Ann", 2, 1), ("Bob", 1, 1)]
    assert {share.author for share in history.find_authors("").authors} == {"Ann", "Bob", "Eve"}


def test_people_are_masked_everywhere(copy_shop: Callable[..., tuple[GitFolder, CodeHistory]], shop: Shop) -> None:
    _, history = copy_shop(mask_people=True)
    details = history.get_commit(shop.ids["limit"])
    texts = [repr(details), repr(history.find_authors("tools.py")), repr(history.list_commits("")),
             repr(history.find_commits("limit")), repr(history.blame("tools.py"))]  # fmt: skip
    assert not any(name in text for text in texts for name in ("Bob", "Ann", "Eve", "@x.test"))
    assert details.commit.author.startswith("person-")
    assert details.commit.subject == "Raise the limit"


# --- co-change


def test_co_changes_have_counts_of_both_sides(history: CodeHistory) -> None:
    result = history.find_co_changes("tools.py")
    assert [
        (change.path, change.together, change.subject_commits, change.other_commits) for change in result.changes
    ] == [("test_util.py", 2, 6, 2)]
    assert result.left_out == 0


def test_declarations_that_change_together_are_counted(
    copy_shop: Callable[..., tuple[GitFolder, CodeHistory]],
) -> None:
    folder, history = copy_shop()
    for number in range(3):
        folder.commit(
            f"Step {number}",
            {
                "one.py": f"def first():\n    return {number}\n\n\ndef other():\n    return 0\n",
                "two.py": f"def second():\n    return {number}\n",
            },
        )  # fmt: skip
    result = history.find_co_changes("one.py", "first")
    assert [
        (change.path, change.qualified_name, change.together, change.subject_commits) for change in result.changes
    ] == [("two.py", "second", 3, 3)]
    assert any("commits, those that are read" in note for note in result.notes)


def test_large_commits_do_not_count(copy_shop: Callable[..., tuple[GitFolder, CodeHistory]]) -> None:
    folder, history = copy_shop()
    folder.commit("Import", {f"lib/{number}.py": "1\n" for number in range(31)} | {"tools.py": "x = 1\n"})
    result = history.find_co_changes("tools.py")
    assert result.left_out == 1
    assert {change.path for change in result.changes} == {"test_util.py"}


# --- why


def test_introduction_of_a_text_is_found_across_a_rename(history: CodeHistory, shop: Shop) -> None:
    result = history.find_introduction("tools.py", "limit=20")
    assert [(item.commit.id, item.before, item.after, item.lines) for item in result.introductions] == [
        (shop.ids["limit"], 0, 1, (4,))
    ]
    removed = history.find_introduction("tools.py", "limit=10").introductions
    assert [(item.commit.subject, item.before, item.after) for item in removed] == [
        ("Raise the limit", 1, 0),
        ("Begin", 0, 1),
    ]


def test_ticket_leads_to_declarations(history: CodeHistory, shop: Shop) -> None:
    details = history.find_declarations_by_ticket("proj-45")
    assert [(item.commit.id, item.link) for item in details] == [
        (shop.ids["limit"], "references PROJ-45 (refs, in the trailer)")
    ]
    assert [(change.qualified_name, change.change) for change in details[0].declarations or ()] == [
        ("read", "signature")
    ]
    merged = history.find_declarations_by_ticket("9")
    assert [item.commit.id for item in merged] == [shop.ids["merge"], shop.ids["topic"]]
    assert merged[1].link.startswith(f"merged by {shop.ids['merge'][:12]}, which references #9")
    assert history.find_declarations_by_ticket("PROJ-99") == []


def test_commit_has_its_message_files_and_declarations(history: CodeHistory, shop: Shop) -> None:
    details = history.get_commit("v1")
    assert (details.commit.id, details.commit.body.split("\n")[0]) == (shop.ids["limit"], "The old one cut files.")
    assert details.commit.co_authors == ("Eve",)
    assert [(file.path, file.change, file.is_binary) for file in details.files] == [("util.py", "modified", False)]
    assert details.note == ""


def test_commits_are_found_by_words_and_by_ticket(history: CodeHistory, shop: Shop) -> None:
    assert history.find_commits("capitals")[0].commit.id == shop.ids["upper"]
    assert [match.score for match in history.find_commits("PROJ-46")][:1] == [0.0]
    assert history.find_commits("PROJ-46")[0].commit.id == shop.ids["strip"]
    assert history.find_commits("zyzzyva") == []
    assert history.score_commits("capitals")[0][0] == shop.ids["upper"]


# --- declarations of all commits


def test_reading_is_resumable_and_covered(copy_shop: Callable[..., tuple[GitFolder, CodeHistory]], shop: Shop) -> None:
    _, history = copy_shop()
    assert history.coverage().commits_with_declarations == 0
    assert list(history.read_declarations(3)) == [1, 2, 3]
    assert history.coverage().commits_with_declarations == 3
    assert list(history.read_declarations())[-1] == len(shop.ids) - 3
    coverage = history.coverage()
    assert coverage.commits_with_declarations == coverage.commits == len(shop.ids)
    assert list(history.read_declarations()) == []
    history.close()


def test_stored_declarations_are_had_without_reading(
    copy_shop: Callable[..., tuple[GitFolder, CodeHistory]], shop: Shop
) -> None:
    _, history = copy_shop()
    commits = [shop.ids["limit"], shop.ids["upper"]]
    assert history.get_declarations(commits, only_stored=True) == {}
    assert [change.qualified_name for change in history.get_declarations(commits)[shop.ids["limit"]]] == ["read"]
    assert list(history.get_declarations(commits, only_stored=True)) == commits
    assert history.get_current_path("util.py") == "tools.py"
    history.close()


def test_damaged_cache_of_declarations_is_replaced(
    copy_shop: Callable[..., tuple[GitFolder, CodeHistory]], shop: Shop, tmp_path: Path
) -> None:
    _, history = copy_shop()
    (tmp_path / "index" / "lineage").mkdir(parents=True)
    (tmp_path / "index" / "lineage" / "declarations-v1.sqlite").write_bytes(b"no database" * 100)
    assert [change.qualified_name for change in history.get_commit("v1").declarations or ()] == ["read"]
    assert history.coverage().commits_with_declarations == 1
    history.close()


# --- without a history


@pytest.mark.parametrize(
    ("path", "message"), [("nowhere.py", "no file and no commit"), ("new.py", "new.py was never committed")]
)
def test_unknown_path_is_named(
    copy_shop: Callable[..., tuple[GitFolder, CodeHistory]], path: str, message: str
) -> None:
    folder, history = copy_shop()
    folder.write("new.py", "1\n")
    for ask in (history.list_commits, history.blame, history.find_authors, history.find_co_changes):
        with pytest.raises(UnknownNameError, match=re.escape(message)):
            ask(path)


@pytest.mark.parametrize("revision", ["nothing", "-x", "", "a b", "deadbeef"])
def test_unknown_revision_is_named(history: CodeHistory, revision: str) -> None:
    with pytest.raises(UnknownRevisionError, match=re.escape(repr(revision))):
        history.get_commit(revision)
    if revision.strip():
        with pytest.raises(UnknownRevisionError, match="neither a date nor a revision"):
            history.list_commits("tools.py", since=revision)


def test_history_that_is_off_or_missing_says_so(tmp_path: Path, shop: Shop) -> None:
    off = CodeHistory(shop.folder.path, LineageSettings(enabled=False), PrivacySettings(), tmp_path / "a")
    assert off.coverage().state == "off"
    with pytest.raises(HistoryError, match="the history is off"):
        off.list_commits()
    outside = CodeHistory(tmp_path, LineageSettings(), PrivacySettings(), tmp_path / "b")
    assert outside.refresh().state == "no_repository"
    assert not (tmp_path / "a").exists()


def test_since_limits_the_history(copy_shop: Callable[..., tuple[GitFolder, CodeHistory]]) -> None:
    _, history = copy_shop(since="v1")
    assert len(history.list_commits("", limit=99).changes) == 7
    assert history.coverage().notes == ("Commits before v1 are left out (lineage.since).",)


def test_shallow_clone_says_where_its_history_ends(shop: Shop, tmp_path: Path) -> None:
    shop.folder.git("clone", "-q", "--depth", "3", f"file://{shop.folder.path}", str(tmp_path / "clone"))
    history = CodeHistory(tmp_path / "clone", LineageSettings(), PrivacySettings(), tmp_path / "index")
    result = history.get_declaration_history("parsing.py", 1, 5, "parse")
    assert "this clone is shallow" in result.notes[-1]
    assert history.coverage().is_shallow
    assert any(entry.is_boundary for entry in history.blame("tools.py").lines)
    with pytest.raises(UnknownRevisionError) as raised:
        history.get_commit(shop.ids["begin"])
    assert "shallow" in raised.value.hint


def test_partial_clone_lists_the_commits_of_the_file(shop: Shop, tmp_path: Path) -> None:
    shop.folder.git("config", "uploadpack.allowFilter", "true")
    source = f"file://{shop.folder.path}"
    shop.folder.git("clone", "-q", "--filter=blob:none", source, str(tmp_path / "clone"))
    history = CodeHistory(tmp_path / "clone", LineageSettings(), PrivacySettings(), tmp_path / "index")
    result = history.get_declaration_history("parsing.py", 1, 5, "parse")
    assert not result.is_exact
    assert name_commits(shop, result) == ["strip", "move"]
    assert "cannot be traced" in result.notes[0]
    assert "unknown" in history.get_commit(shop.ids["limit"]).note
    assert history.coverage().commits_with_declarations == 0


def test_every_changed_line_has_its_declaration(shop: Shop, history: CodeHistory) -> None:
    from coderag.ingestion.parsing.outline import read_outline

    for commit in shop.ids.values():
        details = history.get_commit(commit)
        listed = {(change.path, change.qualified_name) for change in details.declarations or ()}
        patch = shop.folder.git("show", "-U0", "--format=", "--no-renames", "-m", "--first-parent", commit)
        if len(details.commit.parents) > 1:
            continue
        path = ""
        for line in patch.split("\n"):
            if line.startswith("+++ "):
                path = line[4:].removeprefix("b/")
            if (match := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line)) and path != "/dev/null":
                outline = read_outline(path, shop.folder.git("show", f"{commit}:{path}").encode() + b"\n")
                assert outline is not None
                first, count = int(match[1]), int(match[2] or 1)
                renamed = any(file.path == path and file.change == "renamed" for file in details.files)
                for number in range(first, first + count) if not renamed else ():
                    inside = [e for e in outline.entries if e.start_line <= number <= e.end_line]
                    name = inside[-1].qualified_names[0] if inside else None
                    assert name is None or (path, name) in listed


@pytest.mark.parametrize("path", ["../shop/tools.py", "/etc/passwd", "a/../../x"])
def test_path_outside_of_the_folder_is_unknown(history: CodeHistory, path: str) -> None:
    with pytest.raises(UnknownNameError, match="no file and no commit"):
        history.list_commits(path)


def test_empty_text_is_refused(history: CodeHistory) -> None:
    with pytest.raises(InvalidQueryError, match="the text is empty"):
        history.find_introduction("tools.py", " ")


def test_removal_of_a_text_is_that_from_code_whatever_documents_lost_it_later(tmp_path: Path) -> None:
    folder = GitFolder(tmp_path / "shop")
    folder.commit(
        "Add the cache", {"a.py": "cache = {}\nfind_cached = cache.get\n", "NEWS.md": "find_cached is new.\n"}
    )
    removal = folder.commit("Drop the cache", {"a.py": "x = 1\n"})
    folder.commit("Shorten the news", {"NEWS.md": "Nothing.\n"})
    history = CodeHistory(folder.path, LineageSettings(), PrivacySettings(), tmp_path / "index")
    change = history.find_last_text_change("find_cached")
    assert change is not None
    assert (change.commit.id, change.path) == (removal, "a.py")
    assert history.find_last_text_change("x = 1") is None
