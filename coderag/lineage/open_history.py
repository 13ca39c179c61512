"""Open state of a history: the repository, its commits, their paths and changed declarations."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Final

from coderag.config.sections import LineageSettings, PrivacySettings
from coderag.errors import HistoryError, StoreError, UnknownRevisionError
from coderag.lineage.blobs import BlobReader
from coderag.lineage.commit_declarations import CommitDeclarationReader, CommitDeclarations
from coderag.lineage.commit_search import CommitSearch
from coderag.lineage.commit_segment import split_message
from coderag.lineage.commit_store import CommitStore, StoredHistory
from coderag.lineage.commit_table import CommitTable
from coderag.lineage.declaration_store import DeclarationStore
from coderag.lineage.git_history import GitHistory
from coderag.lineage.git_log import LogEntry, read_log
from coderag.lineage.path_history import PathHistory
from coderag.lineage.people import KEEP_PEOPLE, PeopleMask
from coderag.lineage.references import find_co_authors, find_references
from coderag.lineage.revision_range import Limit, parse_limit
from coderag.schema.lineage import Commit
from coderag.stores.path_key import load_privacy_key

_MAX_LIMITS: Final = 4
_BATCH: Final = 20
"""Commits whose declarations are stored at once: half a second of work."""


@dataclass(frozen=True)
class OpenHistory:
    """One state of a history: `HEAD` as it was when it was opened.

    Attributes:
        git: The repository.
        stored: Its commits.
        declarations: Cache of changed declarations.
        notes: Remarks that hold for every answer: a shallow clone, a limit by setting.
    """

    git: GitHistory
    stored: StoredHistory
    declarations: DeclarationStore
    folder: Path
    mask: PeopleMask
    notes: tuple[str, ...] = ()
    _details: dict[str, Commit] = field(default_factory=dict)
    _ancestors: dict[str, set[int]] = field(default_factory=dict)

    @property
    def table(self) -> CommitTable:
        """The commits."""
        return self.stored.table

    @cached_property
    def paths(self) -> PathHistory:
        """Histories of paths."""
        return PathHistory(self.table)

    @cached_property
    def search(self) -> CommitSearch:
        """Search of commits by words."""
        return CommitSearch(self.table, self.folder, self.stored.segments, is_masked=self.mask.key is not None)

    def get_commit(self, commit_id: str) -> Commit:
        """Return the record of a commit, also of one that is not reachable from ``HEAD``.

        Raises:
            HistoryError: It cannot be read.
        """
        position = self.table.find_position(commit_id)
        if position is not None:
            return self.table.build_commit(position)
        if commit_id not in self._details:
            for entry in read_log(self.git, commits=[commit_id], has_changes=False):
                self._details[entry.id] = _build_commit(entry, self.mask)
        if commit_id not in self._details:
            raise HistoryError(f"commit {commit_id} cannot be read")
        return self._details[commit_id]

    def resolve(self, revision: str) -> str:
        """Return the id of the commit that a revision names.

        Raises:
            UnknownRevisionError: There is none.
        """
        commit = self.git.find_commit(revision)
        if commit is None:
            hint = "Give a commit, a tag or a branch of this repository."
            if self.git.is_shallow:
                hint += " This clone is shallow and may lack it."
            raise UnknownRevisionError(f"no commit is named {revision!r}", hint=hint)
        return commit

    def read_declarations(self, commits: Sequence[str]) -> dict[str, CommitDeclarations]:
        """Return the declarations that commits changed; those that are not cached are read and cached."""
        commits = list(dict.fromkeys(commits))
        records: dict[str, CommitDeclarations] = {}
        with suppress(StoreError):
            records = self.declarations.get(commits)
        missing = [commit for commit in commits if commit not in records]
        for record in self.iterate_declarations(missing):
            records[record.commit] = record
        return records

    def iterate_declarations(self, commits: Sequence[str]) -> Iterator[CommitDeclarations]:
        """Read the declarations that commits changed, and cache them in batches."""
        if not commits:
            return
        with BlobReader.open(self.git) as blobs:
            reader = CommitDeclarationReader(self.git, blobs, self._is_own_change)
            for start in range(0, len(commits), _BATCH):
                batch, failures = _read_batch(reader, commits[start : start + _BATCH])
                with suppress(StoreError):  # a cache that cannot be written costs time only
                    self.declarations.put(batch)
                yield from batch
                yield from failures

    def build_filter(self, since: str, until: str) -> Callable[[int], bool]:
        """Build the predicate of the commits after one limit and up to another.

        Raises:
            UnknownRevisionError: A limit is neither a date nor a revision.
        """
        first, last = parse_limit(self.git, since), parse_limit(self.git, until)
        excluded = self._list_ancestors(first) if first is not None and first.commit else set()
        included = self._list_ancestors(last) if last is not None and last.commit else None
        earliest = first.time.timestamp() if first is not None and first.time is not None else None
        latest = last.time.timestamp() if last is not None and last.time is not None else None
        times = self.table.commit_times

        def is_inside(position: int) -> bool:
            return (
                position not in excluded
                and (included is None or position in included)
                and (earliest is None or times[position] >= earliest)
                and (latest is None or times[position] <= latest)
            )

        return is_inside

    def _list_ancestors(self, limit: Limit) -> set[int]:
        """Return the positions of a commit and its ancestors."""
        if limit.commit not in self._ancestors:  # a review asks for the same limit again and again
            output = self.git.run("rev-list", limit.commit)
            positions = map(self.table.find_position, output.decode("ascii").split())
            if len(self._ancestors) >= _MAX_LIMITS:
                self._ancestors.clear()
            self._ancestors[limit.commit] = {position for position in positions if position is not None}
        return self._ancestors[limit.commit]

    def _is_own_change(self, commit_id: str, path: str) -> bool:
        position = self.table.find_position(commit_id)
        return position is None or path in self._list_own_paths(position)

    def _list_own_paths(self, position: int) -> set[str]:
        table = self.table
        rows = range(*table.change_ends[position : position + 2])
        return {table.paths[table.change_paths[row]] for row in rows if table.is_own_change(row)}


class HistoryOpener:
    """Opens the current state of one repository's history.

    Args:
        root: The indexed folder.
        settings: Section ``lineage``.
        privacy: Section ``privacy``.
        index_folder: Folder of the index.
    """

    def __init__(self, root: Path, settings: LineageSettings, privacy: PrivacySettings, index_folder: Path) -> None:
        self._root = root
        self._settings = settings
        self._privacy = privacy
        self._index_folder = index_folder
        self._lock = Lock()
        self._store: CommitStore | None = None
        self._declarations: DeclarationStore | None = None
        self._opened: OpenHistory | None = None

    @property
    def settings(self) -> LineageSettings:
        """Section ``lineage``."""
        return self._settings

    def open(self) -> OpenHistory:
        """Open the history as of now; the commits that are not stored yet are read first.

        Raises:
            HistoryError: It is off, or there is no git, no repository or no commit.
            UnknownRevisionError: ``lineage.since`` is neither a date nor a revision.
        """
        if not self._settings.enabled:
            raise HistoryError("the history is off", hint="Set lineage.enabled to true.", state="off")
        git = GitHistory.open(self._root)
        with self._lock:
            if self._store is None or self._declarations is None:
                mask = self._load_mask()
                self._store = CommitStore(self._index_folder, mask)
                self._declarations = DeclarationStore(self._index_folder, self._store.folder)
            since = self._resolve_since(git)
            stored = self._store.refresh(git, since)
            if self._opened is None or self._opened.stored is not stored or self._opened.git != git:
                notes = tuple(_list_notes(git, stored, self._settings.since))
                self._opened = OpenHistory(git, stored, self._declarations, self._store.folder, self._store.mask, notes)
            return self._opened

    def close(self) -> None:
        """Close the files."""
        with self._lock:
            if self._declarations is not None:
                self._declarations.close()

    def _load_mask(self) -> PeopleMask:
        if not self._privacy.mask_people:
            return KEEP_PEOPLE
        return PeopleMask(load_privacy_key(self._privacy, self._index_folder))

    def _resolve_since(self, git: GitHistory) -> str:
        limit = parse_limit(git, self._settings.since)
        if limit is None:
            return ""
        # A whole day, so that "3 months ago" does not differ at each call.
        return f"^{limit.commit}" if limit.time is None else f"--since={limit.time:%Y-%m-%dT00:00:00+00:00}"


def _read_batch(
    reader: CommitDeclarationReader, commits: Sequence[str]
) -> tuple[list[CommitDeclarations], list[CommitDeclarations]]:
    """Read the declarations of commits; return those that are read, and a note for each that git cannot read."""
    try:
        return list(reader.read(commits)), []
    except HistoryError:  # one by one, so that a missing object costs one commit only
        batch: list[CommitDeclarations] = []
        failures = []
        for commit in commits:
            try:
                batch += reader.read([commit])
            except HistoryError as error:
                failures.append(CommitDeclarations(commit, [], f"unknown: {error}"))
        return batch, failures


def _list_notes(git: GitHistory, stored: StoredHistory, since: str) -> Iterator[str]:
    if git.is_shallow:
        table = stored.table
        ends = [position for position in range(len(table)) if table.is_boundary(position)]
        if ends:
            date = table.get_time(ends[-1]).to_datetime().date()
            where = f"{table.get_id(ends[-1])[:12]} of {date}"
            more = f" and {len(ends) - 1:,} further commits" if len(ends) > 1 else ""
            yield f"History ends at {where}{more}: this clone is shallow."
    if git.is_partial:
        yield "This clone is partial: renames with changes and lines of missing files are unknown."
    if since:
        yield f"Commits before {since} are left out (lineage.since)."
    if stored.note:
        yield stored.note


def _build_commit(entry: LogEntry, mask: PeopleMask) -> Commit:
    subject, body = split_message(mask.mask_message(entry.message))
    author, email = mask.mask_person(entry.author, entry.email)
    plain_subject, plain_body = split_message(entry.message)
    return Commit(
        entry.id,
        entry.parents,
        author,
        email,
        entry.time.to_datetime(),
        entry.commit_time.to_datetime(),
        subject,
        body,
        find_references(plain_subject, plain_body),
        tuple(mask.mask_person(name, "")[0] for name in find_co_authors(plain_body)),
        not entry.are_changes_known,
        entry.encoding_note,
    )


def count_by_declaration(records: Iterable[CommitDeclarations], paths: PathHistory) -> Mapping[tuple[str, str], int]:
    """Count the commits that changed each declaration, by the current name of its file."""
    counts: dict[tuple[str, str], int] = {}
    for record in records:
        for key in {(paths.get_current_name(change.path), change.qualified_name) for change in record.changes}:
            counts[key] = counts.get(key, 0) + 1
    return counts
