"""Parameters and replies of the routes for the history of code."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import Query

from coderag.interfaces.rest.bodies import MAX_NAME_CHARS, MAX_PATH_CHARS, NO_NUL_PATTERN
from coderag.schema.lineage import AuthorShare, CoChange, CommitReference, DeclarationChange, FileChange

if TYPE_CHECKING:
    from coderag.schema.history_evidence import HistorySubject
    from coderag.schema.lineage import Blame, Commit, CommitDetails, SubjectAuthors, SubjectCoChanges, SubjectHistory

MAX_COMMITS: Final = 200
MAX_BLAMED_LINES: Final = 5_000
_MAX_BODY_CHARS: Final = 2_000  # of each message, so that a page of commits stays below 2 MB
_MAX_REFERENCES: Final = 20
_MAX_FILES: Final = 500
_MAX_DECLARATIONS: Final = 1_000

SubjectParameter = Annotated[
    str,
    Query(
        max_length=MAX_PATH_CHARS + MAX_NAME_CHARS,
        pattern=NO_NUL_PATTERN,
        description="A path, `path:10-42`, or the name of a declaration; empty for the whole repository.",
    ),
]
SinceParameter = Annotated[
    str, Query(max_length=200, pattern=NO_NUL_PATTERN, description="Date or revision; only commits after it.")
]
UntilParameter = Annotated[
    str, Query(max_length=200, pattern=NO_NUL_PATTERN, description="Date or revision; only commits up to it.")
]
CommitLimitParameter = Annotated[int, Query(ge=1, le=MAX_COMMITS, description="Maximum number of commits.")]
ChangeLimitParameter = Annotated[int, Query(ge=1, le=100, description="Maximum number of entries.")]
RevisionParameter = Annotated[
    str, Query(min_length=1, max_length=200, pattern=NO_NUL_PATTERN, description="A commit, branch or tag.")
]


@dataclass(frozen=True, slots=True)
class CommitEntry:
    """A commit.

    Attributes:
        author: Its author; empty if people are masked.
        time: Author's time, ISO 8601.
        body: Message below the subject, its first 2,000 characters.
        references: Tickets, pull requests and commits that the message names.
        parent_count: Number of its parents: 0 for a first commit, several for a merge.
    """

    id: str
    author: str
    time: str
    subject: str
    body: str
    references: Sequence[CommitReference]
    co_authors: Sequence[str]
    parent_count: int

    @classmethod
    def from_commit(cls, commit: "Commit") -> "CommitEntry":
        """Convert from a commit."""
        return cls(
            commit.id,
            commit.author,
            commit.time.isoformat(),
            commit.subject,
            commit.body[:_MAX_BODY_CHARS],
            commit.references[:_MAX_REFERENCES],
            commit.co_authors[:_MAX_REFERENCES],
            parent_count=len(commit.parents),
        )


@dataclass(frozen=True, slots=True)
class SubjectEntry:
    """Subject of a history.

    Attributes:
        path: File or folder; empty for the whole repository.
        start_line, end_line: Lines of the file on disk; 0 for all of it.
        name, kind: The declaration; empty without one.
    """

    path: str
    start_line: int
    end_line: int
    name: str
    kind: str

    @classmethod
    def from_subject(cls, subject: "HistorySubject") -> "SubjectEntry":
        """Convert from the subject of the engine."""
        return cls(subject.path, subject.start_line, subject.end_line, subject.qualified_name, subject.kind)


@dataclass(frozen=True, slots=True)
class CommittedEntry:
    """A commit with its effect on the subject.

    Attributes:
        path: Path of the subject after the commit.
        start_line, end_line: Lines of the subject after it; 0 for a whole file.
        note: Remark such as "renamed from a.py"; empty without one.
    """

    commit: CommitEntry
    path: str
    start_line: int
    end_line: int
    note: str


@dataclass(frozen=True, slots=True)
class HistoryReply:
    """Commits that changed a subject, newest first.

    Attributes:
        is_exact: Whether only commits that changed the lines are listed; otherwise all commits of the file.
        is_limited: Whether there may be more.
        notes: Remarks, one sentence each.
    """

    root: str
    subject: SubjectEntry
    changes: Sequence[CommittedEntry]
    is_exact: bool
    is_limited: bool
    notes: Sequence[str]

    @classmethod
    def build(cls, root: str, subject: "HistorySubject", history: "SubjectHistory") -> "HistoryReply":
        """Build the reply."""
        changes = [
            CommittedEntry(
                CommitEntry.from_commit(change.commit), change.path, change.start_line, change.end_line, change.note
            )
            for change in history.changes
        ]
        entry = SubjectEntry.from_subject(subject)
        return cls(root, entry, changes, history.is_exact, history.is_limited, history.notes)


@dataclass(frozen=True, slots=True)
class BlamedSpan:
    """Consecutive lines that one commit introduced.

    Attributes:
        commit: Position of their commit in the reply; -1 for lines that are not committed yet.
        path: Path of the lines in their commit.
        original_line: First line in their commit.
        is_boundary: Whether the history ends there: an older commit may have written the lines.
    """

    start_line: int
    end_line: int
    commit: int
    path: str
    original_line: int
    is_boundary: bool


@dataclass(frozen=True, slots=True)
class BlameReply:
    """Authorship of lines of a file as it is on disk.

    Attributes:
        spans: The lines in their order.
        commits: Their commits.
        next_line: Line at which the next part begins; None at the end of the file.
        notes: Remarks, one sentence each.
    """

    root: str
    path: str
    spans: Sequence[BlamedSpan]
    commits: Sequence[CommitEntry]
    next_line: int | None
    notes: Sequence[str]

    @classmethod
    def build(cls, root: str, blame: "Blame", end_line: int, total_lines: int) -> "BlameReply":
        """Build the reply for lines up to one."""
        positions: dict[str, int] = {}
        commits: list[CommitEntry] = []
        spans = []
        for line in blame.lines:
            position = -1
            if line.commit is not None:
                if line.commit.id not in positions:
                    positions[line.commit.id] = len(commits)
                    commits.append(CommitEntry.from_commit(line.commit))
                position = positions[line.commit.id]
            spans.append(
                BlamedSpan(line.start_line, line.end_line, position, line.path, line.original_line, line.is_boundary)
            )
        next_line = end_line + 1 if end_line < total_lines else None
        return cls(root, blame.path, spans, commits, next_line, blame.notes)


@dataclass(frozen=True, slots=True)
class AuthorsReply:
    """Authors of a subject, those of most lines first."""

    root: str
    subject: SubjectEntry
    authors: Sequence[AuthorShare]
    notes: Sequence[str]

    @classmethod
    def build(cls, root: str, subject: "HistorySubject", authors: "SubjectAuthors", limit: int) -> "AuthorsReply":
        """Build the reply."""
        return cls(root, SubjectEntry.from_subject(subject), authors.authors[:limit], authors.notes)


@dataclass(frozen=True, slots=True)
class CoChangesReply:
    """Files or declarations that changed in the same commits as a subject, most often first. Only counts, no dependency.

    Attributes:
        commits: Commits of the subject that count.
        left_out: Commits of the subject that do not, because they changed too many files.
    """

    root: str
    subject: SubjectEntry
    changes: Sequence[CoChange]
    commits: int
    left_out: int
    notes: Sequence[str]

    @classmethod
    def build(cls, root: str, subject: "HistorySubject", co_changes: "SubjectCoChanges") -> "CoChangesReply":
        """Build the reply."""
        entry = SubjectEntry.from_subject(subject)
        return cls(root, entry, co_changes.changes, co_changes.commits, co_changes.left_out, co_changes.notes)


@dataclass(frozen=True, slots=True)
class CommitReply:
    """A commit with the files and declarations that it changed against its first parent.

    Attributes:
        declarations: None if they are not known.
        file_count, declaration_count: Numbers of all; the first 500 and 1,000 are listed.
        note: Reason why they are incomplete; empty if they are complete.
    """

    root: str
    commit: CommitEntry
    files: Sequence[FileChange]
    file_count: int
    declarations: Sequence[DeclarationChange] | None
    declaration_count: int
    note: str

    @classmethod
    def build(cls, root: str, details: "CommitDetails") -> "CommitReply":
        """Build the reply."""
        declarations = details.declarations
        return cls(
            root,
            CommitEntry.from_commit(details.commit),
            details.files[:_MAX_FILES],
            len(details.files),
            None if declarations is None else declarations[:_MAX_DECLARATIONS],
            len(declarations or ()),
            details.note,
        )
