"""Questions from commits: what a message says was changed, and the declarations that were changed for it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from coderag.ingestion.files.file_text import MAX_FILE_BYTES, decode, find_skip_reason, read_regular_file
from coderag.ingestion.files.roles import classify_role

from ..golden import Question, Target  # noqa: TID252  # installed, it has another name
from .history import Commit, History, Hunk
from .mined import LIMIT, NAMES_ANSWER, Mined, Progress
from .outline import Declared, innermost, most_exact, outline
from .wording import fault_of, names_answer, question_of

MOST_FILES: Final = 5
_MOST_DECLARATIONS = 8
_LEAST_KEPT = 0.5  # share of the changed declarations that must still be there


def mine_commits(root: Path, *, limit: int = LIMIT, since: str = "", progress: Progress | None = None) -> Mined:
    """Return questions from the history of the repository at `root`, the newest commits first.

    Which declarations a commit changed is told by the lines of its parent, read there by CodeRAG's parser. The answers are
    the same declarations as they are in the working tree, so that one index serves all questions; those that are gone
    or have another name now are left out.

    Args:
        root: The repository, or a folder in one.
        limit: Number of questions, at most.
        since: Only commits after a revision, or from a date on.
        progress: Told how many commits were looked at.

    Raises:
        InvalidQueryError: There is no history, or no such revision.
    """
    history = History(root)
    mined = Mined("commits")
    if history.is_shallow:
        mined.notes.append("the clone is shallow: older commits are not there (git fetch --unshallow gets them)")
    tree = _Tree(history.root)
    mined.take((_question(commit, history, tree) for commit in history.commits(since)), limit, progress)
    return mined


class _Tree:
    """The working tree's declarations, each file read once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known: dict[str, Mapping[str, list[Declared]] | None] = {}

    def declared(self, path: str) -> Mapping[str, list[Declared]] | None:
        """Return what a file declares, by qualified name; None if it is not there, or its code was generated."""
        if path not in self._known:
            self._known[path] = self._read(path)
        return self._known[path]

    def _read(self, path: str) -> Mapping[str, list[Declared]] | None:
        try:
            data, _ = read_regular_file(self._root / path, MAX_FILE_BYTES)
        except OSError:
            return None
        decoded = decode(data)
        if decoded is None or find_skip_reason(path, decoded.text):
            return None
        found: dict[str, list[Declared]] = {}
        for one in outline(path, decoded.text):
            found.setdefault(one.qualified_name, []).append(one)
        return found


def _question(commit: Commit, history: History, tree: _Tree) -> Question | str:
    """Return the question that a commit makes, or why it makes none."""
    is_merge = len(commit.parents) > 1
    text = question_of(commit.message, is_merge=is_merge)
    if fault := fault_of(commit.message, commit.author, text, is_merge=is_merge):
        return fault
    changes = history.changes(commit)
    if changes is None:
        return "the first commit there is"
    sources = {path: hunks for path, hunks in changes.items() if classify_role(path) == "source"}
    if not sources:
        return "no source code changed" if changes else "white space only"
    if len(sources) > MOST_FILES:
        return f"more than {MOST_FILES} files of source code changed"
    edit = _Edit(commit, history, tree, sources)
    if fault := edit.fault:
        return fault
    names = [str(target.symbol).replace("::", ".").rpartition(".")[2] for target in edit.answers]
    tags = ["pull request" if is_merge else "commit"]
    if names_answer(text, names, [target.path for target in edit.answers]):
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
    """What a commit changed in source code."""

    commit: Commit
    history: History
    tree: _Tree
    sources: Mapping[str, list[Hunk]]

    @cached_property
    def changed(self) -> list[tuple[str, Declared]]:
        """The changed declarations as they were before, with their files."""
        return [(path, one) for path, hunks in self.sources.items() for one in self._changed_in(path, hunks)]

    @cached_property
    def answers(self) -> tuple[Target, ...]:
        """Those that are still there, as they are now."""
        return tuple(target for path, old in self.changed for target in self._now(path, old))

    @property
    def fault(self) -> str:
        """Why it makes no question; empty if it does."""
        if not self.changed:
            return "no declaration changed, or only a long one"
        if len(self.changed) > _MOST_DECLARATIONS:
            return f"more than {_MOST_DECLARATIONS} declarations changed"
        if len(self.answers) < max(1.0, _LEAST_KEPT * len(self.changed)):
            return "its declarations are gone by now"
        return ""

    def _changed_in(self, path: str, hunks: list[Hunk]) -> list[Declared]:
        before = self.history.text(self.commit.parents[0], path) if hunks else None
        if before is None:
            return []
        declared = outline(path, before)
        return most_exact(list(dict.fromkeys(one for hunk in hunks for one in innermost(declared, hunk))))

    def _now(self, path: str, old: Declared) -> Iterator[Target]:
        """Yield the declaration in the working tree: of several with its name, the one nearest to where it was."""
        same = [one for one in (self.tree.declared(path) or {}).get(old.qualified_name, ()) if one.kind == old.kind]
        if same:
            now = min(same, key=lambda one: abs(one.start_line - old.start_line))
            yield Target(path=path, start_line=now.start_line, end_line=now.end_line, symbol=now.qualified_name)
