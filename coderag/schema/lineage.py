"""Commits, changed declarations and authorship: the history of code."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, NamedTuple

MAX_CO_CHANGED_FILES: Final = 30
"""Files of a commit up to which it counts for co-change."""

ReferenceTarget = Literal["ticket", "pull_request", "commit"]
"""Target of a textual reference; ``#12`` may be either of the first two: it is a pull request only if the text says so."""

ReferencePlace = Literal["subject", "body", "trailer"]

PathChange = Literal["added", "modified", "deleted", "renamed", "copied", "mode", "type"]
"""Change of a file: ``mode`` its permissions only, ``type`` from or to a link or a submodule."""

DeclarationChangeKind = Literal["added", "removed", "signature", "body"]


class Hunk(NamedTuple):
    """A changed range of lines, as ``git diff -U0`` writes it: with a count of 0, the start is the line above.

    In JSON it is an array of these four numbers.
    """

    old_start: int
    old_count: int
    new_start: int
    new_count: int


@dataclass(frozen=True, slots=True)
class CommitReference:
    """A textual reference of a commit message.

    Attributes:
        text: Reference in its canonical form: ``PROJ-45``, ``#123``, ``owner/name#123``, or the id of a commit.
        relation: Word that introduces it, in lower case, such as ``fixes``, ``refs`` or ``reverts``; empty without one.
    """

    kind: ReferenceTarget
    text: str
    source: ReferencePlace
    relation: str = ""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit.

    Attributes:
        id: Object id in hexadecimal digits: 40, or 64 in a SHA-256 repository.
        parents: Ids of its parents, the first one first. Empty for a root, and for a boundary of a shallow clone.
        author, email: Author; empty strings if people are masked.
        time: Author's time with the author's UTC offset.
        commit_time: Time of the commit itself, which orders a history.
        co_authors: Names in ``Co-authored-by`` trailers; empty if people are masked.
        is_boundary: Whether its parents are missing in a shallow clone, so that its changes are unknown.
        encoding_note: Remark on a message that is not valid in its encoding; empty otherwise.
    """

    id: str
    parents: tuple[str, ...]
    author: str
    email: str
    time: datetime
    commit_time: datetime
    subject: str
    body: str
    references: tuple[CommitReference, ...] = ()
    co_authors: tuple[str, ...] = ()
    is_boundary: bool = False
    encoding_note: str = ""

    @property
    def short_id(self) -> str:
        """First twelve digits of its id."""
        return self.id[:12]


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that a commit changed against its first parent.

    Attributes:
        path: Path after the change (before it, if deleted), relative to the indexed folder.
        old_path: Path before a rename or copy; otherwise equal to `path`.
        is_binary: Whether git compares it as binary data, where that is known.
        is_submodule: Whether it is a submodule's commit rather than a file.
        old_blob, new_blob: Object ids; empty where the file is absent.
    """

    path: str
    old_path: str
    change: PathChange
    is_binary: bool | None = None
    is_submodule: bool = False
    old_blob: str = ""
    new_blob: str = ""


@dataclass(frozen=True, slots=True)
class DeclarationChange:
    """A declaration that differs between two versions of a file.

    Lines outside any declaration belong to the module: kind ``module``, with the name of the file. Line numbers are those
    of the declaration without the decorators and comments above it; 0 where it is absent. A change of those counts as its own.

    Attributes:
        path: Path of the file after the change (before it, if deleted).
        old_start_line, old_end_line: Lines before the change.
        new_start_line, new_end_line: Lines after it.
        old_signature, new_signature: Header as one line, without its body; empty where absent and for the module.
    """

    path: str
    qualified_name: str
    kind: str
    change: DeclarationChangeKind
    old_start_line: int = 0
    old_end_line: int = 0
    new_start_line: int = 0
    new_end_line: int = 0
    old_signature: str = ""
    new_signature: str = ""


@dataclass(frozen=True, slots=True)
class CommittedChange:
    """A commit together with what it changed of a subject.

    Attributes:
        path: Path of the subject after the commit.
        hunks: Changed lines of the subject, against the first parent.
        start_line, end_line: Lines of the subject after the commit; 0 if the subject is a whole file or was removed.
        note: Remark such as "renamed from a.py"; empty without one.
    """

    commit: Commit
    path: str
    hunks: tuple[Hunk, ...] = ()
    start_line: int = 0
    end_line: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class LineAuthorship:
    """Consecutive lines that one commit introduced.

    Attributes:
        commit: Their commit; None for lines that are not committed yet.
        start_line, end_line: Lines in the file as it is now.
        path: Path of the lines in their commit.
        original_line: First line in their commit.
        is_boundary: Whether the history ends there: an older commit may have written the lines.
        is_ignored_revision: Whether an ignored revision changed them and no older commit could be told.
    """

    commit: Commit | None
    start_line: int
    end_line: int
    path: str
    original_line: int
    is_boundary: bool = False
    is_ignored_revision: bool = False


@dataclass(frozen=True, slots=True)
class AuthorShare:
    """An author's part of a subject.

    Attributes:
        lines: Lines of the subject that the author's commits introduced.
        commits: Commits of the author that changed it.
        last_time: Time of the latest of them.
    """

    author: str
    email: str
    lines: int
    commits: int
    first_time: datetime
    last_time: datetime


@dataclass(frozen=True, slots=True)
class CoChange:
    """A file or declaration that changes in the same commits as a subject. Not a dependency: only counts.

    Attributes:
        path: The other file.
        qualified_name: The other declaration; empty for a file.
        together: Commits that changed both.
        subject_commits, other_commits: Commits that changed either.
        last_commit: Id of the latest commit that changed both.
    """

    path: str
    qualified_name: str
    together: int
    subject_commits: int
    other_commits: int
    last_commit: str


@dataclass(frozen=True, slots=True)
class LineageCoverage:
    """Extent of what is known about the history.

    Attributes:
        state: ``ready``, ``off`` by setting, ``no_git``, ``no_repository``, ``no_commits``, or ``failed``.
        commits: Commits read.
        commits_with_declarations: Commits whose changed declarations are read.
        tip: Id of the latest commit read; empty without commits.
        since: Setting that limits the history; empty without one.
        is_shallow, is_partial: Whether parts of the history or of its contents are missing in this clone.
        notes: Remarks for readers, one sentence each.
    """

    state: str
    commits: int = 0
    commits_with_declarations: int = 0
    tip: str = ""
    since: str = ""
    is_shallow: bool = False
    is_partial: bool = False
    bytes_on_disk: int = 0
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class SubjectHistory:
    """Commits that changed a path, lines or a declaration, newest first.

    Attributes:
        is_exact: Whether only commits that changed the lines are listed; otherwise all commits of the file.
        is_limited: Whether there may be more, because a limit was reached.
        notes: Remarks such as the end of the history of a shallow clone, one sentence each.
    """

    changes: Sequence[CommittedChange]
    is_exact: bool = True
    is_limited: bool = False
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Blame:
    """Authorship of lines, in their order; see `SubjectHistory` for `notes`."""

    path: str
    lines: Sequence[LineAuthorship]
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class SubjectAuthors:
    """Authors of a subject, those of most lines first; see `SubjectHistory` for `notes`."""

    authors: Sequence[AuthorShare]
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class SubjectCoChanges:
    """Co-changes of a subject, those of most common commits first; see `SubjectHistory` for `notes`.

    Attributes:
        commits: Commits of the subject that count.
        left_out: Commits of the subject that do not count, because they changed too many files.
    """

    changes: Sequence[CoChange]
    commits: int
    left_out: int
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class CommitDetails:
    """A commit with its changes.

    Attributes:
        declarations: Changed declarations; None if they are not read.
        note: Reason why the changes are incomplete; empty if they are complete.
        link: Chain from a ticket to the commit, such as "references #12 (fixes, in the body)"; empty without one.
    """

    commit: Commit
    files: Sequence[FileChange]
    declarations: Sequence[DeclarationChange] | None = None
    note: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class CommitMatch:
    """A commit that matches a search, with its BM25 score; 0 for an exact reference to a ticket."""

    commit: Commit
    score: float


@dataclass(frozen=True, slots=True)
class TextIntroduction:
    """A commit that changed how often a file contains a text.

    Attributes:
        before, after: Occurrences before and after the commit.
        lines: Lines of the file as it is now that contain the text and that the commit introduced.
    """

    commit: Commit
    path: str
    before: int
    after: int
    lines: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class TextIntroductions:
    """Commits that added or removed a text, newest first; the last one that added it is its first introduction.

    Attributes:
        notes: Remarks for readers, one sentence each.
    """

    introductions: Sequence[TextIntroduction]
    notes: Sequence[str] = ()
