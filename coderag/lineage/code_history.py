"""Facade of the history of a repository: commits, blame, authors, co-change, tickets, of paths, lines and declarations.

Paths are relative to the indexed folder, with ``/``; lines are 1-based, inclusive, and those of the file on disk.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from coderag.errors import HistoryError, InvalidQueryError, StoreError, UnknownNameError
from coderag.ingestion.files.roles import classify_role
from coderag.lineage.authors import rank_authors
from coderag.lineage.blame import BlamedLine, blame_lines, read_ignored_revisions
from coderag.lineage.co_change import find_declaration_co_changes, find_file_co_changes, select_commits
from coderag.lineage.commit_declarations import CommitDeclarations
from coderag.lineage.git_log import read_log
from coderag.lineage.introduction import find_text_changes
from coderag.lineage.line_history import LineChange, trace_lines
from coderag.lineage.open_history import HistoryOpener, OpenHistory, count_by_declaration
from coderag.lineage.references import normalize_reference
from coderag.lineage.working_file import read_working_file
from coderag.schema.history_evidence import HistorySubject
from coderag.schema.lineage import (
    Blame,
    Commit,
    CommitDetails,
    CommitMatch,
    CommitReference,
    CommittedChange,
    DeclarationChange,
    FileChange,
    Hunk,
    LineageCoverage,
    LineAuthorship,
    SubjectAuthors,
    SubjectCoChanges,
    SubjectHistory,
    TextIntroduction,
    TextIntroductions,
)

if TYPE_CHECKING:
    from pathlib import Path

    from coderag.config.sections import LineageSettings, PrivacySettings

DEFAULT_LIMIT: Final = 50
_MAX_TICKET_COMMITS: Final = 300
_MAX_TEXT_CHANGES: Final = 10


class CodeHistory:
    """History of one repository. Every method first reads the commits that are new: 10 ms if there are none.

    Every method raises `HistoryError` if there is no history: it is off, or there is no git, no repository or no commit; and if
    git fails. Instances are safe for use by several threads.

    Args:
        root: The indexed folder.
        settings: Section ``lineage``.
        privacy: Section ``privacy``; people are masked as it says.
        index_folder: Folder of the index.
    """

    def __init__(
        self, root: "Path", settings: "LineageSettings", privacy: "PrivacySettings", index_folder: "Path"
    ) -> None:
        self._opener = HistoryOpener(root, settings, privacy, index_folder)

    # State

    def refresh(self) -> LineageCoverage:
        """Read the commits that are not stored yet: 0.1 ms each. Returns the coverage; never raises for lack of a history."""
        return self.coverage()

    def coverage(self) -> LineageCoverage:
        """Return the extent of what is known; the reason instead, if there is no history."""
        since = self._opener.settings.since
        try:
            opened = self._opener.open()
        except HistoryError as error:
            return LineageCoverage(error.state, since=since, notes=(str(error),))
        stored = opened.stored
        with_declarations = len(self._list_read_commits(opened))
        return LineageCoverage(
            "ready",
            len(stored.table),
            with_declarations,
            stored.tip,
            since,
            opened.git.is_shallow,
            opened.git.is_partial,
            stored.size + opened.declarations.size,
            opened.notes,
        )

    def read_declarations(self, limit: int | None = None) -> Iterator[int]:
        """Read the changed declarations of commits that lack them, newest first, and store them in batches of 20.

        What is stored stays, wherever the caller stops.

        Args:
            limit: Maximum number of commits.

        Yields:
            Number of commits read so far, after each; most of the time goes by before every twentieth.
        """
        opened = self._opener.open()
        table, known = opened.table, self._list_read_commits(opened)
        missing = [commit for commit in map(table.get_id, range(len(table) - 1, -1, -1)) if commit not in known]
        for count, _ in enumerate(opened.iterate_declarations(missing[:limit]), 1):
            yield count

    def close(self) -> None:
        """Close the files."""
        self._opener.close()

    # Commits

    def get_commit(self, revision: str) -> CommitDetails:
        """Return a commit with the files and declarations that it changed against its first parent.

        Raises:
            UnknownRevisionError: No commit has that name.
        """
        opened = self._opener.open()
        commit_id = opened.resolve(revision)
        return self._describe_commit(opened, commit_id)

    def has_path(self, path: str) -> bool:
        """Return whether any commit changed a file or folder of that path, which may be gone."""
        return _is_known(self._opener.open(), path)

    def list_commits(
        self, path: str = "", *, since: str = "", until: str = "", limit: int = DEFAULT_LIMIT
    ) -> SubjectHistory:
        """List the commits of a file, of the files below a folder, or all, newest first.

        Files are followed through renames. Merges are listed with a path only if none of their parents has their version.

        Args:
            path: A file or folder, also one that was deleted; empty for all commits.
            since: Date or revision; only commits after it.
            until: Date or revision; only commits up to it.
            limit: Maximum number of commits.

        Raises:
            UnknownNameError: No commit changed the path.
            UnknownRevisionError: A limit is neither a date nor a revision.
        """
        opened = self._opener.open()
        is_inside = opened.build_filter(since, until)
        if path in ("", "."):
            positions = (number for number in range(len(opened.table) - 1, -1, -1) if is_inside(number))
            changes = (CommittedChange(opened.table.build_commit(number), "") for number in positions)
        else:
            self._check_path(opened, path)
            rows = (row for row in opened.paths.find_changes(path) if is_inside(row.position))
            grouped = (next(group) for _, group in groupby(rows, key=lambda row: row.position))
            changes = (
                CommittedChange(opened.table.build_commit(row.position), row.path, note=row.note) for row in grouped
            )
        listed = list(islice(changes, limit + 1))
        return SubjectHistory(listed[:limit], is_limited=len(listed) > limit, notes=opened.notes)

    def find_commits(
        self, query: str, *, since: str = "", until: str = "", limit: int = DEFAULT_LIMIT
    ) -> list[CommitMatch]:
        """Find commits by the words of their message, paths and references, best first.

        Commits that reference a ticket, pull request or commit in the query exactly come first, with a score of 0.

        Args:
            query: Words, or a reference such as ``PROJ-45`` or ``#12``.
            since, until, limit: As in `list_commits`.
        """
        opened = self._opener.open()
        is_inside = opened.build_filter(since, until)
        matches: dict[int, float] = {}
        for word in query.split():
            reference = normalize_reference(word.strip(".,;:?!()[]\"'"))
            for position in reversed(opened.table.find_by_reference(reference) if _is_reference(reference) else []):
                if is_inside(position):
                    matches.setdefault(position, 0.0)
        scores = opened.search.score(query)
        for position in sorted(scores.nonzero()[0].tolist(), key=lambda number: (-scores[number], -number)):
            if len(matches) >= limit:
                break
            if is_inside(position):
                matches.setdefault(position, float(scores[position]))
        best = islice(matches.items(), limit)
        return [CommitMatch(opened.table.build_commit(position), score) for position, score in best]

    def score_commits(self, query: str) -> list[tuple[str, float]]:
        """Return the ids of the commits that match words, with their BM25 scores, best first, without their records."""
        opened = self._opener.open()
        scores = opened.search.score(query)
        positions = sorted(scores.nonzero()[0].tolist(), key=lambda number: (-scores[number], -number))
        return [(opened.table.get_id(position), float(scores[position])) for position in positions]

    def list_paths(self, commits: Iterable[str]) -> dict[str, list[str]]:
        """List the files of the indexed folder that commits changed against their first parent; unknown ones have none."""
        table = self._opener.open().table
        positions = {commit: table.find_position(commit) for commit in commits}
        return {
            commit: [change.path for change in table.get_changes(position)] if position is not None else []
            for commit, position in positions.items()
        }

    def get_declarations(
        self, commits: Sequence[str], *, only_stored: bool = False
    ) -> dict[str, Sequence[DeclarationChange]]:
        """Return the declarations that commits changed, by commit id, under the paths of that time.

        Args:
            commits: Complete ids of commits.
            only_stored: Whether commits that are not read yet are left out; otherwise they are read, 10 ms each.
        """
        opened = self._opener.open()
        try:
            records = opened.declarations.get(commits) if only_stored else opened.read_declarations(commits)
        except StoreError:  # only the cache is lost
            records = {}
        return {commit: record.changes for commit, record in records.items()}

    def get_current_path(self, path: str) -> str:
        """Return the path that a file of an earlier commit has now, after its renames; it may be deleted."""
        return self._opener.open().paths.get_current_name(path)

    def list_subject_commits(
        self, subject: HistorySubject, *, since: str = "", until: str = "", limit: int = DEFAULT_LIMIT
    ) -> SubjectHistory:
        """List the commits of a declaration, of lines, or of a path, newest first.

        Args:
            subject: What is asked about, as it is on disk.
            since, until, limit: As in `list_commits`.

        Raises:
            UnknownNameError: No commit changed the path.
            UnknownRevisionError: A limit is neither a date nor a revision.
        """
        if not subject.start_line:
            return self.list_commits(subject.path, since=since, until=until, limit=limit)
        lines = subject.start_line, subject.end_line
        return self.get_declaration_history(
            subject.path, *lines, subject.qualified_name, since=since, until=until, limit=limit
        )

    # Lines and declarations

    def get_declaration_history(  # noqa: PLR0913  # options with defaults
        self,
        path: str,
        start_line: int,
        end_line: int,
        name: str = "",
        *,
        since: str = "",
        until: str = "",
        limit: int = DEFAULT_LIMIT,
        at_head: bool = False,
    ) -> SubjectHistory:
        """List the commits that changed lines of a range, newest first, through renames and moves between files.

        If git cannot trace the lines, all commits of the file are listed, and `SubjectHistory.is_exact` is False.

        Args:
            path: The file.
            start_line, end_line: Lines of the file on disk, such as those of a declaration.
            name: Qualified name of the declaration, which helps to find where it was moved from.
            since, until, limit: As in `list_commits`.
            at_head: Whether the lines are those of the file in HEAD rather than on disk.

        Raises:
            UnknownNameError: No commit changed the path.
        """
        opened = self._opener.open()
        self._check_path(opened, path)
        is_inside = opened.build_filter(since, until)
        if at_head:
            lines = [start_line, end_line]
        else:
            working = read_working_file(opened.git, path)
            pairs = working.map_lines(start_line, min(end_line, working.lines))
            lines = [committed for _, committed in pairs if committed]
        notes = list(opened.notes)
        if not lines:
            notes.insert(0, f"Lines {start_line}-{end_line} of {path} are not committed yet.")
            return SubjectHistory((), notes=notes)
        try:
            traced = trace_lines(
                opened.git,
                path,
                min(lines),
                max(lines),
                name=name,
                read_declarations=lambda commit: opened.read_declarations([commit])[commit].changes,
                limit=limit + 1 if not (since or until) else None,
            )
        except HistoryError as error:
            commits = self.list_commits(path, since=since, until=until, limit=limit)
            notes.insert(0, f"All commits of the file are listed, because its lines cannot be traced: {error}.")
            return SubjectHistory(commits.changes, is_exact=False, is_limited=commits.is_limited, notes=notes)
        changes = [
            _build_change(opened, change)
            for change in traced
            if (position := opened.table.find_position(change.commit)) is not None and is_inside(position)
        ]
        return SubjectHistory(changes[:limit], is_limited=len(changes) > limit, notes=notes)

    def blame(self, path: str, start_line: int = 1, end_line: int = 0, *, at_head: bool = False) -> Blame:
        """Find the commits that introduced lines, as ``git blame -M -C`` does.

        Revisions in ``.git-blame-ignore-revs`` are passed over.

        Args:
            path: The file.
            start_line, end_line: Lines of the file on disk; 0 for the last line.
            at_head: Whether the lines are those of the file in HEAD; then the last one must be given.

        Raises:
            UnknownNameError: No commit changed the path.
        """
        opened = self._opener.open()
        self._check_path(opened, path)
        if at_head:
            pairs = [(line, line) for line in range(start_line, end_line + 1)]
        else:
            working = read_working_file(opened.git, path)
            end_line = min(end_line or working.lines, working.lines)
            pairs = working.map_lines(start_line, end_line)
        ignored = read_ignored_revisions(opened.git)
        ranges = _list_ranges([committed for _, committed in pairs if committed])
        blamed = blame_lines(opened.git, path, ranges, ignored=ignored.commits) if ranges else []
        by_line = {line.line: line for line in blamed}
        entries = [(line, by_line.get(committed)) for line, committed in pairs]
        return Blame(path, list(_group_lines(opened, entries, ignored.commits)), (*ignored.notes, *opened.notes))

    def find_authors(self, path: str, start_line: int = 0, end_line: int = 0) -> SubjectAuthors:
        """Find who knows a file, lines of it or a folder: by the lines that are theirs and by their commits.

        Args:
            path: A file or folder. Of a folder only commits count.
            start_line, end_line: Lines of the file on disk; 0 for the whole file.

        Raises:
            UnknownNameError: No commit changed the path.
        """
        opened = self._opener.open()
        self._check_path(opened, path)
        if start_line:
            changes = self.get_declaration_history(path, start_line, end_line or start_line, limit=1_000).changes
        else:
            changes = self.list_commits(path, limit=100_000).changes
        lines: list[tuple[Commit, int]] = []
        notes = list(opened.notes)
        if opened.git.find_kind(path) == "blob":
            try:
                blame = self.blame(path, start_line or 1, end_line)
                lines = [(entry.commit, entry.end_line - entry.start_line + 1) for entry in blame.lines if entry.commit]
                notes = list(blame.notes)
            except HistoryError as error:
                notes.insert(0, f"Only commits count, because lines cannot be blamed: {error}.")
        return SubjectAuthors(rank_authors((change.commit for change in changes), lines), notes)

    def find_co_changes(
        self, path: str, name: str = "", *, since: str = "", until: str = "", limit: int = DEFAULT_LIMIT
    ) -> SubjectCoChanges:
        """Find what changed in the same commits as a file or a declaration, by the number of common commits.

        A count of common commits is no dependency. Merges and commits with more than 30 files do not count.

        Args:
            path: The file.
            name: Qualified name of a declaration in it; empty for the file.
            since, until, limit: As in `list_commits`.

        Raises:
            UnknownNameError: No commit changed the path.
        """
        opened = self._opener.open()
        self._check_path(opened, path)
        is_inside = opened.build_filter(since, until)
        rows = opened.paths.find_changes(path)
        commits = select_commits(opened.table, (row.position for row in rows if is_inside(row.position)))
        notes = list(opened.notes)
        if not name:
            changes = find_file_co_changes(opened.table, opened.paths, path, commits)
            return SubjectCoChanges(changes[:limit], len(commits.positions), commits.left_out, notes)
        records = opened.read_declarations([opened.table.get_id(position) for position in commits.positions])
        names = set(opened.paths.list_names(path))
        own = {
            commit: record.changes
            for commit, record in records.items()
            if any(change.path in names and change.qualified_name == name for change in record.changes)
        }
        counts = count_by_declaration(self._list_read_records(opened), opened.paths)
        co_changes = find_declaration_co_changes(opened.table, opened.paths, (path, name), own, counts)
        read = len(self._list_read_commits(opened))
        if read < len(opened.table):
            notes.append(
                f"Counts of the other declarations rest on {read:,} of {len(opened.table):,} commits, those that are read."
            )
        return SubjectCoChanges(co_changes[:limit], len(own), commits.left_out, notes)

    def find_introduction(self, path: str, text: str) -> TextIntroductions:
        """Find the commits that introduced a text in a file, such as a default value, and those that removed it.

        Args:
            path: The file; its earlier names are searched, too.
            text: The text as it is in the file.

        Raises:
            InvalidQueryError: The text is empty.
            UnknownNameError: No commit changed the path.
        """
        if not text.strip():
            raise InvalidQueryError("the text is empty", hint="Give the text as it is in the file.")
        opened = self._opener.open()
        self._check_path(opened, path)
        changes = find_text_changes(opened.git, opened.paths.list_names(path), text)
        current = opened.git.read_working_text(path)
        lines = [number for number, line in enumerate(current.split("\n"), 1) if text in line]
        line_commits: dict[str, list[int]] = {}
        notes = list(opened.notes)
        for start, end in _list_ranges(lines):
            for entry in self.blame(path, start, end).lines:
                if entry.commit is not None:
                    line_commits.setdefault(entry.commit.id, []).extend(range(entry.start_line, entry.end_line + 1))
                else:
                    notes.insert(0, f"Line {entry.start_line} of {path} is not committed yet.")
        introductions = []
        for commit, group in groupby(changes, key=lambda change: change.commit):
            parts = list(group)
            before, after = sum(part.before for part in parts), sum(part.after for part in parts)
            if before != after and opened.table.find_position(commit) is not None:  # equal: only moved
                lines_now = tuple(sorted(line_commits.get(commit, ())))
                introductions.append(
                    TextIntroduction(opened.get_commit(commit), parts[-1].path, before, after, lines_now)
                )
        return TextIntroductions(introductions, notes)

    def find_last_text_change(self, text: str) -> CommittedChange | None:
        """Find the latest commit that removed a text from code, else from any file; None if none of the last ten did.

        Args:
            text: The text as it was in files.
        """
        opened = self._opener.open()
        changes = find_text_changes(opened.git, ["."], text, limit=_MAX_TEXT_CHANGES)
        removing = [change for change in changes if change.after < change.before]
        removing.sort(key=lambda change: classify_role(change.path) == "docs")  # stable: newest first
        if not removing or opened.table.find_position(removing[0].commit) is None:
            return None
        return CommittedChange(opened.get_commit(removing[0].commit), removing[0].path)

    # Tickets

    def find_declarations_by_ticket(self, ticket: str) -> list[CommitDetails]:
        """Find the commits that reference a ticket or pull request, with the declarations that they changed, newest first.

        A merge that references it stands for the commits that it merged. The chain rests on the text of the messages alone.

        Args:
            ticket: ``PROJ-45``, ``#12`` or ``12``.
        """
        opened = self._opener.open()
        reference = normalize_reference(ticket)
        links: dict[str, str] = {}
        for position in reversed(opened.table.find_by_reference(reference)):
            link = _describe_link(reference, list(opened.table.get_references(position)))
            links.setdefault(opened.table.get_id(position), link)
            if opened.table.is_merge(position):
                merge = opened.table.get_id(position)
                merged = opened.git.try_run("rev-list", f"{merge}^1..{merge}") or b""
                for commit in merged.decode("ascii").split():
                    links.setdefault(commit, f"merged by {merge[:12]}, which {link}")
        commits = [commit for commit in links if opened.table.find_position(commit) is not None]
        commits.sort(key=lambda commit: -(opened.table.find_position(commit) or 0))
        records = opened.read_declarations(commits[:_MAX_TICKET_COMMITS])
        return [
            CommitDetails(
                opened.get_commit(commit),
                self._list_files(opened, commit),
                record.changes if record is not None else None,
                record.note if record is not None else "not read",
                links[commit],
            )
            for commit in commits
            for record in [records.get(commit)]
        ]

    # Internals

    def _describe_commit(self, opened: OpenHistory, commit_id: str) -> CommitDetails:
        entry = next(read_log(opened.git, commits=[commit_id], has_patches=not opened.git.is_partial), None)
        files: Sequence[FileChange] = entry.changes if entry is not None else ()
        if entry is not None and entry.hunks:
            files = [_mark_binary(change, hunks) for change, hunks in zip(entry.changes, entry.hunks, strict=True)]
        record = opened.read_declarations([commit_id]).get(commit_id, CommitDeclarations(commit_id, [], "not read"))
        return CommitDetails(opened.get_commit(commit_id), files, record.changes, record.note)

    def _list_files(self, opened: OpenHistory, commit_id: str) -> Sequence[FileChange]:
        position = opened.table.find_position(commit_id)
        return opened.table.get_changes(position) if position is not None else ()

    def _list_read_commits(self, opened: OpenHistory) -> set[str]:
        try:
            known = opened.declarations.list_commits()
        except StoreError:
            return set()
        return {commit for commit in known if opened.table.find_position(commit) is not None}

    def _list_read_records(self, opened: OpenHistory) -> Iterator[CommitDeclarations]:
        yield from opened.declarations.get(list(self._list_read_commits(opened))).values()

    def _check_path(self, opened: OpenHistory, path: str) -> None:
        """Raise an error unless a commit changed a path."""
        if _is_known(opened, path):
            return
        parts = PurePosixPath(path).parts
        if ".." not in parts and parts[:1] != ("/",) and (opened.git.root / path).exists():
            message = f"{path} was never committed"
            hint = "Commit it first, or ask for a file that git tracks."
        else:
            message, hint = f"no file and no commit of this repository has the path {path!r}", "Check the spelling."
        notes = " ".join(opened.notes)
        raise UnknownNameError(message, hint=f"{hint} {notes}".strip())


def _is_known(opened: OpenHistory, path: str) -> bool:
    """Return whether a commit has a path; those that a shallow clone lacks may have changed it."""
    return opened.paths.is_known(path) or opened.git.find_kind(path) in ("blob", "tree")


def _mark_binary(change: FileChange, hunks: tuple[Hunk, ...] | None) -> FileChange:
    return FileChange(
        change.path,
        change.old_path,
        change.change,
        hunks is None and not change.is_submodule and change.change != "type",
        change.is_submodule,
        change.old_blob,
        change.new_blob,
    )


def _build_change(opened: OpenHistory, change: LineChange) -> CommittedChange:
    commit = opened.get_commit(change.commit)
    return CommittedChange(commit, change.path, change.hunks, change.start, change.end, change.note)


def _list_ranges(lines: Sequence[int]) -> list[tuple[int, int]]:
    """Return the runs of consecutive lines."""
    ranges: list[tuple[int, int]] = []
    for line in lines:
        if ranges and ranges[-1][1] == line - 1:
            ranges[-1] = (ranges[-1][0], line)
        else:
            ranges.append((line, line))
    return ranges


def _group_lines(
    opened: OpenHistory, entries: Sequence[tuple[int, BlamedLine | None]], ignored: frozenset[str]
) -> Iterator[LineAuthorship]:
    """Yield runs of lines of one commit and file that are consecutive in both versions."""

    def get_key(entry: tuple[int, BlamedLine | None]) -> tuple[object, ...]:
        line, blamed = entry
        return (blamed.commit, blamed.original_path, blamed.original_line - line) if blamed is not None else ()

    for _, group in groupby(entries, key=get_key):
        run = list(group)
        (first, blamed), (last, _) = run[0], run[-1]
        if blamed is None:
            yield LineAuthorship(None, first, last, "", 0)
        else:
            yield LineAuthorship(
                opened.get_commit(blamed.commit),
                first,
                last,
                blamed.original_path,
                blamed.original_line,
                blamed.is_boundary and opened.git.is_shallow,
                blamed.commit in ignored,
            )


def _is_reference(text: str) -> bool:
    return text.startswith("#") or "#" in text or ("-" in text and text.upper() == text)


def _describe_link(reference: str, references: Sequence[CommitReference]) -> str:
    for entry in references:
        if entry.text == reference or (reference.startswith("#") and entry.text.endswith(reference)):
            relation = f"{entry.relation}, " if entry.relation else ""
            return f"references {entry.text} ({relation}in the {entry.source})"
    return f"references {reference}"
