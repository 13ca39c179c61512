"""Review of a change: what changed, what depends on it, which tests exercise it, and its history."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from coderag.schema.graph import GraphNeighbour
from coderag.schema.lineage import DeclarationChange
from coderag.schema.mentions import NameMention
from coderag.schema.vocabulary import MIN_RESOLVED_CONFIDENCE, Role

FileStatus = Literal["added", "removed", "modified", "renamed", "mode"]
"""Change of a file; ``mode``: only its permissions."""

IndexMatch = Literal["same", "moved", "missing"]
"""Whether the index has a changed declaration: in its file, in another one, or not at all."""

TestFramework = Literal["pytest", "jest", "vitest", "go", "maven", "gradle", "cargo", "dotnet", ""]
"""Framework that runs a test; empty for others, whose tests are only located."""

DEFAULT_MAX_TESTS: Final = 50
DEFAULT_MAX_DEPENDENTS: Final = 20
"""Listed dependents and mentions of a declaration; all are counted."""

BREAKING_CHANGES: Final = frozenset({"signature", "removed"})
"""Changes of a declaration that may break the code that uses it."""


@dataclass(frozen=True, slots=True)
class ChangeTarget:
    """The change to review; by default the working tree against HEAD.

    Attributes:
        revisions: ``A..B``; ``A...B`` for what B changed since it left A; or ``A`` for the working tree against it.
        staged: Whether to compare the staging area with HEAD.
        patch: A unified diff to apply to HEAD.
    """

    revisions: str = ""
    staged: bool = False
    patch: bytes | None = None


@dataclass(frozen=True, slots=True)
class ReviewedFile:
    """A changed file.

    Attributes:
        path: Path after the change; of a removed file, before it.
        old_path: Path before the change; empty for an added file.
        added_lines, removed_lines: Numbers of lines; 0 if it is not compared as text.
        note: Reason why its declarations are not compared, or a remark.
    """

    path: str
    old_path: str
    status: FileStatus
    role: Role
    added_lines: int = 0
    removed_lines: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Dependent:
    """Code that depends on a changed declaration.

    Attributes:
        neighbour: The code, with its evidence and confidence.
        is_changed: Whether the same change edits it, too.
    """

    neighbour: GraphNeighbour
    is_changed: bool

    @property
    def is_resolved(self) -> bool:
        """True if the edge is more than one of several candidates."""
        return self.neighbour.confidence >= MIN_RESOLVED_CONFIDENCE


@dataclass(frozen=True, slots=True)
class ReviewedDeclaration:
    """A changed declaration with the code that depends on it.

    Attributes:
        change: The change.
        match: Whether the index has the declaration.
        indexed_path, indexed_line, indexed_end_line: Its lines in the index; empty and 0 if it is missing there.
        dependents: Callers, derived types, overrides, users, importers without tests, the most certain first.
        n_dependents: Number of all of them.
        mentions: Lines of code that name it without a known edge.
        n_mentions: Number of all of them.
        reason: Why the code graph may lack edges to it; empty if nothing hints at that.
    """

    change: DeclarationChange
    match: IndexMatch = "missing"
    indexed_path: str = ""
    indexed_line: int = 0
    indexed_end_line: int = 0
    dependents: Sequence[Dependent] = ()
    n_dependents: int = 0
    mentions: Sequence[NameMention] = ()
    n_mentions: int = 0
    reason: str = ""

    @property
    def line(self) -> int:
        """First line after the change; of a removed declaration, before it."""
        return self.change.new_start_line or self.change.old_start_line


@dataclass(frozen=True, slots=True)
class SelectedTest:
    """A test that may exercise the change.

    Attributes:
        name: Qualified name of the test.
        selector: Argument by which its framework runs it alone; its place if the framework is unknown.
        score: Likelihood that the change affects it, 0 to 1; only its order is calibrated.
        reasons: Reasons for its selection, the strongest first.
        is_changed: Whether the change edits the test itself.
    """

    framework: TestFramework
    path: str
    line: int
    name: str
    selector: str
    score: float
    reasons: Sequence[str]
    is_changed: bool = False


@dataclass(frozen=True, slots=True)
class SuiteSelection:
    """Tests for a change, the likeliest first.

    Attributes:
        tests: First tests.
        n_selected: Number of all selected ones.
        n_known: Number of tests in the index.
        commands: Commands that run the listed tests, one a framework and folder.
    """

    tests: Sequence[SelectedTest] = ()
    n_selected: int = 0
    n_known: int = 0
    commands: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class NamingLine:
    """A line of a document or a settings file that names something changed."""

    path: str
    line: int
    text: str
    name: str


@dataclass(frozen=True, slots=True)
class RelatedTicket:
    """A ticket or pull request that earlier commits of the changed code refer to.

    Attributes:
        reference: As the commits write it: ``PROJ-45``, ``#123``.
        commits: Short ids of these commits, newest first.
    """

    reference: str
    commits: Sequence[str]


@dataclass(frozen=True, slots=True)
class RelatedCommit:
    """An earlier commit of the changed code.

    Attributes:
        author: Its author; empty if people are masked.
        date: Date of the commit, ISO 8601.
        names: Changed declarations or files that it changed, too.
    """

    id: str
    subject: str
    author: str
    date: str
    names: Sequence[str]


@dataclass(frozen=True, slots=True)
class RelatedPerson:
    """An author of the changed code.

    Attributes:
        lines: Lines of the changed declarations that the author's commits introduced.
        commits: Commits of the author to them.
        last_date: Date of the latest one, ISO 8601.
    """

    name: str
    lines: int
    commits: int
    last_date: str


@dataclass(frozen=True, slots=True)
class MissingCoChange:
    """A file or declaration that usually changes with something changed, and did not this time.

    Attributes:
        path: The file.
        qualified_name: The declaration; empty for a file.
        subject: Changed file or declaration.
        together: Commits that changed both.
        subject_commits: Commits that changed the subject.
    """

    path: str
    qualified_name: str
    subject: str
    together: int
    subject_commits: int


@dataclass(frozen=True, slots=True)
class ChangeHistory:
    """History of the changed code.

    Attributes:
        tickets, commits: The most frequent and the newest first.
        people: Authors of most lines first.
        missing: What usually changes with it, most frequent first.
        notes: Limits of what is known, one sentence each.
    """

    tickets: Sequence[RelatedTicket] = ()
    commits: Sequence[RelatedCommit] = ()
    people: Sequence[RelatedPerson] = ()
    missing: Sequence[MissingCoChange] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ChangeReview:
    """A change and what it touches.

    Attributes:
        base: Commit of the old side; empty before the first commit.
        target: New side: a commit, ``staged``, ``working tree`` or ``patch``.
        files: Changed files by path.
        declarations: Changed declarations: those that may break other code first.
        tests: Tests for the change.
        documents: Lines of documents that name changed declarations or files.
        settings: Lines of settings that name them.
        history: History of the changed code.
        notes: Limits of the review, one sentence each.
    """

    base: str
    target: str
    files: Sequence[ReviewedFile]
    declarations: Sequence[ReviewedDeclaration]
    tests: SuiteSelection
    documents: Sequence[NamingLine] = ()
    settings: Sequence[NamingLine] = ()
    history: ChangeHistory = ChangeHistory()
    notes: Sequence[str] = ()
