"""Golden questions from commits: the message is the question, the changed declarations are the answers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from coderag.ingestion.files.file_text import MAX_FILE_BYTES
from coderag.ingestion.files.regular_files import read_regular_file
from coderag.ingestion.files.roles import classify_role
from coderag.ingestion.files.skip_reasons import find_skip_reason
from coderag.text.encodings import decode

from ..golden import Question, Target  # noqa: TID252  # installed, it has another name
from .history import History, MinedCommit, MinedHunk
from .mined import DEFAULT_LIMIT, NAMES_ANSWER, MiningResult, Progress
from .outline import FileDeclaration, extract_declarations, find_innermost, select_specific
from .wording import extract_question, find_message_fault, has_answer_name

MAX_FILES: Final = 5
_MAX_DECLARATIONS = 8
_MIN_KEPT_SHARE = 0.5  # share of the changed declarations that must still exist


def mine_commits(
    root: Path, *, limit: int = DEFAULT_LIMIT, since: str = "", progress: Progress | None = None
) -> MiningResult:
    """Mine questions from the history of the repository at `root`, the newest commits first.

    The declarations that a commit changed are parsed from the files of its parent. The answers are the same declarations
    in the working tree, so that one index serves all questions. Removed and renamed declarations are left out.

    Args:
        root: The repository, or a folder in it.
        limit: Maximum number of questions.
        since: Mine only commits after this revision, or since this date.
        progress: Called with the number of examined commits.

    Raises:
        InvalidQueryError: There is no history, or the revision is unknown.
    """
    history = History(root)
    mined = MiningResult("commits")
    if history.is_shallow:
        mined.notes.append("the clone is shallow, so older commits are missing (run git fetch --unshallow)")
    tree = _Tree(history.root)
    mined.take((_build_question(commit, history, tree) for commit in history.iter_commits(since)), limit, progress)
    return mined


class _Tree:
    """Declarations of the working tree; each file is parsed once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known: dict[str, Mapping[str, list[FileDeclaration]] | None] = {}

    def get_declarations(self, path: str) -> Mapping[str, list[FileDeclaration]] | None:
        """Return the declarations of a file by qualified name; None if it is missing or generated."""
        if path not in self._known:
            self._known[path] = self._read(path)
        return self._known[path]

    def _read(self, path: str) -> Mapping[str, list[FileDeclaration]] | None:
        try:
            data, _ = read_regular_file(self._root / path, MAX_FILE_BYTES)
        except OSError:
            return None
        decoded = decode(data)
        if decoded is None or find_skip_reason(path, decoded.text):
            return None
        declarations: dict[str, list[FileDeclaration]] = {}
        for declaration in extract_declarations(path, decoded.text):
            declarations.setdefault(declaration.qualified_name, []).append(declaration)
        return declarations


def _build_question(commit: MinedCommit, history: History, tree: _Tree) -> Question | str:
    """Return the question of a commit, or the reason why it has none."""
    is_merge = len(commit.parents) > 1
    text = extract_question(commit.message, is_merge=is_merge)
    if fault := find_message_fault(commit.message, commit.author, text, is_merge=is_merge):
        return fault
    changes = history.read_changes(commit)
    if changes is None:
        return "the first commit there is"
    sources = {path: hunks for path, hunks in changes.items() if classify_role(path) == "source"}
    if not sources:
        return "no source code changed" if changes else "white space only"
    if len(sources) > MAX_FILES:
        return f"more than {MAX_FILES} files of source code changed"
    edit = _Edit(commit, history, tree, sources)
    if fault := edit.fault:
        return fault
    names = [str(target.symbol).replace("::", ".").rpartition(".")[2] for target in edit.answers]
    tags = ["pull request" if is_merge else "commit"]
    if has_answer_name(text, names, [target.path for target in edit.answers]):
        tags.append(NAMES_ANSWER)
    return Question(
        id=f"commit-{commit.revision[:12]}",
        question=text,
        answers=edit.answers,
        tags=tuple(tags),
        origin=f"commit {commit.revision[:12]} of {commit.date}, declarations changed",
    )


@dataclass(frozen=True)
class _Edit:
    """Changes of a commit to source code."""

    commit: MinedCommit
    history: History
    tree: _Tree
    sources: Mapping[str, list[MinedHunk]]

    @cached_property
    def changed(self) -> list[tuple[str, FileDeclaration]]:
        """Changed declarations as of the parent commit, with their paths."""
        return [
            (path, declaration)
            for path, hunks in self.sources.items()
            for declaration in self._find_changed(path, hunks)
        ]

    @cached_property
    def answers(self) -> tuple[Target, ...]:
        """Changed declarations that still exist, with their current lines."""
        return tuple(target for path, old in self.changed for target in self._find_current(path, old))

    @property
    def fault(self) -> str:
        """Reason why the commit has no question; empty if it has one."""
        if not self.changed:
            return "no declaration changed, or only a long one"
        if len(self.changed) > _MAX_DECLARATIONS:
            return f"more than {_MAX_DECLARATIONS} declarations changed"
        if len(self.answers) < max(1.0, _MIN_KEPT_SHARE * len(self.changed)):
            return "its declarations are gone by now"
        return ""

    def _find_changed(self, path: str, hunks: list[MinedHunk]) -> list[FileDeclaration]:
        before = self.history.read_text(self.commit.parents[0], path) if hunks else None
        if before is None:
            return []
        declared = extract_declarations(path, before)
        return select_specific(
            list(dict.fromkeys(declaration for hunk in hunks for declaration in find_innermost(declared, hunk)))
        )

    def _find_current(self, path: str, old: FileDeclaration) -> Iterator[Target]:
        """Yield the declaration in the working tree; among overloads, the one nearest to its old line."""
        same = [
            declaration
            for declaration in (self.tree.get_declarations(path) or {}).get(old.qualified_name, ())
            if declaration.kind == old.kind
        ]
        if same:
            now = min(same, key=lambda declaration: abs(declaration.start_line - old.start_line))
            yield Target(path=path, start_line=now.start_line, end_line=now.end_line, symbol=now.qualified_name)
