"""History of the changed code: its earlier commits with their tickets, who knows it, and what usually changes with it."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from coderag.engine.changes.indexed_declarations import MODULE_KIND
from coderag.engine.changes.revision_pair import RevisionPair
from coderag.errors import HistoryError, UnknownNameError
from coderag.schema.change_review import (
    BREAKING_CHANGES,
    ChangeHistory,
    MissingCoChange,
    RelatedCommit,
    RelatedPerson,
    RelatedTicket,
    ReviewedDeclaration,
)
from coderag.schema.lineage import Blame, Commit, SubjectHistory

if TYPE_CHECKING:
    from coderag.lineage.code_history import CodeHistory

_MAX_TRACED: Final = 10  # declarations whose lines are traced: one run of git each
_MAX_THREADS: Final = 4
_MAX_FILES: Final = 40
_MAX_COMMITS: Final = 15  # of one declaration or file
_MAX_LISTED: Final = 30
_MIN_TOGETHER: Final = 3
_MIN_SHARE: Final = 0.4  # of the commits of a file that changed the other one, too
_TICKET_KINDS: Final = frozenset({"ticket", "pull_request"})

_ResultT = TypeVar("_ResultT")


@dataclass(slots=True)
class _Person:
    name: str
    lines: int = 0
    commits: set[str] = field(default_factory=set)
    last_date: str = ""


@dataclass(slots=True)
class _Collection:
    """Facts collected from the history."""

    commits: dict[str, Commit] = field(default_factory=dict)
    names: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    people: dict[str, _Person] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)

    def add_history(self, history: SubjectHistory, name: str) -> None:
        """Add the commits of a declaration or file."""
        for change in history.changes:
            self.commits[change.commit.id] = change.commit
            if name not in self.names[change.commit.id]:
                self.names[change.commit.id].append(name)
            self._add_person(change.commit)
        self.notes.update(dict.fromkeys(history.notes))

    def add_blame(self, blame: Blame) -> None:
        """Add the authors of lines."""
        for lines in blame.lines:
            if lines.commit is not None:
                self._add_person(lines.commit).lines += lines.end_line - lines.start_line + 1
        self.notes.update(dict.fromkeys(blame.notes))

    def _add_person(self, commit: Commit) -> _Person:
        person = self.people.setdefault(commit.author, _Person(commit.author))
        person.commits.add(commit.id)
        person.last_date = max(person.last_date, commit.time.date().isoformat())
        return person


def review_history(
    history: "CodeHistory | None",
    pair: RevisionPair,
    declarations: Sequence[ReviewedDeclaration],
    is_present: Callable[[str], bool],
) -> ChangeHistory:
    """Return the history of the changed code before the change.

    Args:
        history: The source; None for none.
        pair: The change.
        declarations: Changed declarations with their places in the index, whose lines are those on disk.
        is_present: Returns whether a path is still in the repository.
    """
    if history is None:
        return ChangeHistory()
    until = pair.base if pair.is_committed else ""
    collection = _Collection()
    old_paths = {file.path: file.old_path for file in pair.files}
    traced = [
        lines
        for declaration in sorted(declarations, key=lambda entry: entry.change.change not in BREAKING_CHANGES)
        if (lines := _locate_lines(declaration, old_paths, pair)) is not None
    ]
    try:
        with ThreadPoolExecutor(_MAX_THREADS) as threads:
            answers = list(threads.map(lambda lines: _read_lines(history, lines, until), traced[:_MAX_TRACED]))
        for lines, (commits, blame) in zip(traced, answers, strict=False):
            if commits is not None:
                collection.add_history(commits, lines.name)
            if blame is not None:
                collection.add_blame(blame)
        traced_paths = {lines.path for lines in traced[:_MAX_TRACED]}
        paths = [path for path in old_paths.values() if path]
        for path in [path for path in paths if path not in traced_paths][:_MAX_FILES]:
            commits = _query(lambda path=path: history.list_commits(path, until=until, limit=_MAX_COMMITS))  # type: ignore[misc]
            if commits is not None:
                collection.add_history(commits, path)
        missing = list(_find_missing(history, paths[:_MAX_FILES], pair, until, is_present))
    except HistoryError as error:
        return ChangeHistory(notes=[f"The history is unknown: {error}."])
    if len(traced) > _MAX_TRACED:
        collection.notes[f"The lines of {_MAX_TRACED} of {len(traced):,} declarations are traced."] = None
    return ChangeHistory(
        _list_tickets(collection),
        _list_commits(collection),
        _list_people(collection),
        sorted(missing, key=lambda entry: (-entry.together / entry.subject_commits, -entry.together))[:_MAX_LISTED],
        list(collection.notes),
    )


class _Lines(NamedTuple):
    """Lines of a declaration whose history is read."""

    path: str
    start: int
    end: int
    name: str
    at_head: bool


def _locate_lines(declaration: ReviewedDeclaration, old_paths: Mapping[str, str], pair: RevisionPair) -> _Lines | None:
    """Return the lines of a declaration before the change, in HEAD; of older revisions, its lines on disk."""
    change = declaration.change
    old_path = old_paths.get(change.path, "")
    if pair.is_at_head and old_path and change.old_start_line and change.kind != MODULE_KIND:
        return _Lines(old_path, change.old_start_line, change.old_end_line, change.qualified_name, at_head=True)
    if pair.is_at_head or change.change == "added" or change.kind == MODULE_KIND or not declaration.indexed_end_line:
        return None
    place = (declaration.indexed_path, declaration.indexed_line, declaration.indexed_end_line)
    return _Lines(*place, change.qualified_name, at_head=False)


def _read_lines(history: "CodeHistory", lines: _Lines, until: str) -> tuple[SubjectHistory | None, Blame | None]:
    """Return the commits and the authors of lines; each waits for git."""
    path, start, end, name, at_head = lines
    commits = _query(
        lambda: history.get_declaration_history(
            path, start, end, name, until=until, limit=_MAX_COMMITS, at_head=at_head
        )
    )
    return commits, _query(lambda: history.blame(path, start, end, at_head=at_head))


def _find_missing(
    history: "CodeHistory",
    paths: Sequence[str],
    pair: RevisionPair,
    until: str,
    is_present: Callable[[str], bool],
) -> Iterator[MissingCoChange]:
    """Yield the files that usually change with a changed one and did not, each once with the best subject."""
    changed = {path for file in pair.files for path in (file.path, file.old_path)}
    best: dict[str, MissingCoChange] = {}
    for path in paths:
        co_changes = _query(lambda path=path: history.find_co_changes(path, until=until))  # type: ignore[misc]
        for other in co_changes.changes if co_changes is not None else ():
            share = other.together / max(other.subject_commits, 1)
            if (
                other.path in changed
                or other.together < _MIN_TOGETHER
                or share < _MIN_SHARE
                or not is_present(other.path)
            ):
                continue
            known = best.get(other.path)
            if known is None or share > known.together / known.subject_commits:
                best[other.path] = MissingCoChange(other.path, "", path, other.together, other.subject_commits)
    yield from best.values()


def _query(query: Callable[[], _ResultT]) -> _ResultT | None:
    """Return the result of a query; None for a path that no commit changed, such as a new file."""
    try:
        return query()
    except UnknownNameError:
        return None


def _list_tickets(collection: _Collection) -> list[RelatedTicket]:
    commits_by_reference: dict[str, list[Commit]] = defaultdict(list)
    for commit in _sort_commits(collection):
        for reference in dict.fromkeys(entry.text for entry in commit.references if entry.kind in _TICKET_KINDS):
            commits_by_reference[reference].append(commit)
    ranked = sorted(commits_by_reference.items(), key=lambda entry: -len(entry[1]))
    return [
        RelatedTicket(reference, [commit.short_id for commit in commits]) for reference, commits in ranked[:_MAX_LISTED]
    ]


def _list_commits(collection: _Collection) -> list[RelatedCommit]:
    return [
        RelatedCommit(
            commit.short_id, commit.subject, commit.author, commit.time.date().isoformat(), collection.names[commit.id]
        )
        for commit in _sort_commits(collection)[:_MAX_LISTED]
    ]


def _list_people(collection: _Collection) -> list[RelatedPerson]:
    people = sorted(collection.people.values(), key=lambda person: (-person.lines, -len(person.commits), person.name))
    return [
        RelatedPerson(person.name, person.lines, len(person.commits), person.last_date)
        for person in people[:_MAX_LISTED]
    ]


def _sort_commits(collection: _Collection) -> list[Commit]:
    """Return the commits of most changed declarations first, then the newest."""
    commits = sorted(collection.commits.values(), key=lambda commit: commit.commit_time, reverse=True)
    return sorted(commits, key=lambda commit: -len(collection.names[commit.id]))
