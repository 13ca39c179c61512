"""Folders and files of a repository, one level at a time, and files by a part of their path."""

from collections import Counter
from collections.abc import Iterable, Sequence

from coderag.errors import UnknownNameError
from coderag.schema.browse import FileEntry, FolderEntry, FolderListing, FolderTotals, PathMatches
from coderag.schema.chunks import FileRecord


def list_folder(root: str, records: Sequence[FileRecord], path: str, offset: int, limit: int) -> FolderListing:
    """List one level of the tree.

    Args:
        root: Folder of the repository.
        records: Records of all files.
        path: Path of the folder; empty for the root.
        offset: Entries to skip.
        limit: Maximum number of entries.

    Raises:
        UnknownNameError: No file is in the folder.
    """
    folder = path.strip("/")
    prefix = f"{folder}/" if folder else ""
    inside = [record for record in records if record.path.startswith(prefix)]
    if not inside and folder:
        raise UnknownNameError(f"no folder {folder!r} in the index", hint="It may be ignored, or new and empty.")
    files: list[FileRecord] = []
    folders: dict[str, list[FileRecord]] = {}
    for record in inside:
        name, slash, _ = record.path[len(prefix) :].partition("/")
        if slash:
            folders.setdefault(name, []).append(record)
        else:
            files.append(record)
    names = sorted(folders, key=_sort_key)
    files.sort(key=lambda record: _sort_key(record.path))
    end = offset + limit
    total = len(names) + len(files)
    return FolderListing(
        root=root,
        path=folder,
        totals=count_files(inside),
        folders=[FolderEntry(name, prefix + name, count_files(folders[name])) for name in names[offset:end]],
        files=[to_entry(record) for record in files[max(offset - len(names), 0) : max(end - len(names), 0)]],
        total=total,
        next_offset=end if end < total else None,
    )


def match_files(root: str, records: Sequence[FileRecord], query: str, limit: int) -> PathMatches:
    """Find files by words that their paths contain, in any order: those whose name matches first, then the shortest.

    Args:
        root: Folder of the repository.
        records: Records of all files.
        query: Words, separated by spaces; empty for all files.
        limit: Maximum number of files.
    """
    words = query.lower().split()
    last = words[-1].rpartition("/")[2] if words else ""
    ranked = []
    for record in records:
        path = record.path.lower()
        if all(word in path for word in words):
            name = path.rpartition("/")[2]
            rank = (not path.endswith(f"/{last}") and path != last, not name.startswith(last), last not in name)
            ranked.append((rank, len(path), path, record))
    ranked.sort(key=lambda row: row[:3])
    return PathMatches(root, query, [to_entry(record) for *_, record in ranked[:limit]], len(ranked))


def count_files(records: Iterable[FileRecord]) -> FolderTotals:
    """Count files, lines, outcomes and languages."""
    outcomes: Counter[str] = Counter()
    languages: Counter[str] = Counter()
    lines = 0
    for record in records:
        outcomes[record.outcome] += 1
        if record.outcome == "indexed":
            languages[record.language] += 1
            lines += record.lines
    return FolderTotals(outcomes.total(), lines, outcomes["skipped"], outcomes["failed"], dict(languages.most_common()))


def to_entry(record: FileRecord) -> FileEntry:
    """Convert the record of a file."""
    return FileEntry(
        name=record.path.rpartition("/")[2],
        path=record.path,
        outcome=record.outcome,
        reason=record.reason,
        language=record.language,
        role=record.role,
        lines=record.lines,
        size=record.size,
    )


def _sort_key(path: str) -> tuple[str, str]:
    return path.lower(), path
