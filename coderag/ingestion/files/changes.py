"""Detection of changes since the last generation, reading as few files as possible.

The status of each file (size, times, inode) is compared with its record. A file whose status is inconclusive is read in any
case.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from coderag.ingestion.files.candidates import FileCandidate
from coderag.ingestion.files.file_text import FileText, read_file_text
from coderag.ingestion.files.git_attributes import ATTRIBUTES_FILE, GitAttributes
from coderag.ingestion.files.scanner import Scan
from coderag.schema.chunks import FileRecord
from coderag.stores.manifest import Manifest

_COARSE_GRAIN_NS = 2_000_000_000
_FINE_GRAIN_NS = 100_000_000
"""A file written this shortly before the scan may change again within the same time stamp, so its
status is inconclusive. Time stamps have a resolution of 1 to 10 ms if they
have fractions of a second; otherwise of one second, or two (FAT).
Source: git's "racy git" problem, Documentation/technical/racy-git.txt."""

_DIGEST_BYTES = 16


@dataclass(slots=True)
class Changes:
    """Differences between the files on disk and the last generation.

    Attributes:
        changed: Candidates that are new or may have changed, and must be read.
        unchanged: Records of files whose status proves that they have not changed.
        removed: Indexed paths that no longer exist.
        previous_records: Records of the last generation by path.
    """

    changed: list[FileCandidate] = field(default_factory=list)
    unchanged: list[FileRecord] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    previous_records: Mapping[str, FileRecord] = field(default_factory=dict)

    @property
    def has_certain_changes(self) -> bool:
        """True if something has certainly changed: files were added, removed or resized. Otherwise only times may differ."""
        sizes = ((candidate.size, self.previous_records.get(candidate.path)) for candidate in self.changed)
        return bool(self.removed) or any(previous is None or previous.size != size for size, previous in sizes)

    def get_indexed(self, path: str) -> FileRecord | None:
        """Return the record of an indexed file; None if it is not indexed."""
        record = self.previous_records.get(path)
        return record if record and record.outcome == "indexed" else None

    def confirm(
        self, root: Path, max_file_bytes: int, *, include_generated: bool = True
    ) -> tuple[list[str], list[str], list[str]]:
        """Return the added, changed and removed paths; contents are compared where the status is inconclusive.

        Args:
            root: Folder of the repository.
            max_file_bytes: Larger files are not indexed.
            include_generated: Whether generated code is indexed.
        """
        added, changed, removed = [], [], list(self.removed)
        attributes = GitAttributes(root)
        for candidate in self.changed:
            path = candidate.path
            content = read_file_text(
                root,
                candidate,
                max_file_bytes=max_file_bytes,
                include_generated=include_generated,
                attributes=attributes.find(path),
            )
            indexed = self.get_indexed(path)
            indexed_hash = indexed.hash if indexed else ""
            if isinstance(content, FileText) and not indexed_hash:
                added.append(path)
            elif isinstance(content, FileText) and content.hash != indexed_hash:
                changed.append(path)
            elif not isinstance(content, FileText) and indexed_hash:
                removed.append(path)
        return added, changed, removed


def find_changes(scan: Scan, manifest: Manifest | None) -> Changes:
    """Find the differences between a scan and the last generation.

    Args:
        scan: Scan of the files on disk.
        manifest: Manifest of the last generation; None if there is none.
    """
    if manifest is None:
        return Changes(changed=scan.candidates)
    changes = Changes(previous_records={record.path: record for record in manifest.records})
    if _has_changed_attributes(scan, changes.previous_records, manifest.checked_ns):
        changes.changed = scan.candidates
        return _note_removed(changes, scan)
    for candidate in scan.candidates:
        record = changes.previous_records.get(candidate.path)
        if record is None or not _has_same_status(candidate, record) or needs_reading(record, manifest.checked_ns):
            changes.changed.append(candidate)
        else:
            changes.unchanged.append(record)
    return _note_removed(changes, scan)


def _note_removed(changes: Changes, scan: Scan) -> Changes:
    present_paths = {candidate.path for candidate in scan.candidates}
    changes.removed = [
        path
        for path, previous_record in changes.previous_records.items()
        if previous_record.outcome == "indexed" and path not in present_paths
    ]
    return changes


def _has_changed_attributes(scan: Scan, records: Mapping[str, FileRecord], checked_ns: int) -> bool:
    """Return whether a file of attributes may have changed, so that the role or language of any file may have."""
    present = {candidate.path: candidate for candidate in scan.candidates if _is_attributes_file(candidate.path)}
    recorded = {
        path: record for path, record in records.items() if _is_attributes_file(path) and record.outcome == "indexed"
    }
    return present.keys() != recorded.keys() or any(
        not _has_same_status(candidate, recorded[path]) or needs_reading(recorded[path], checked_ns)
        for path, candidate in present.items()
    )


def _is_attributes_file(path: str) -> bool:
    return path.rpartition("/")[2] == ATTRIBUTES_FILE


def _has_same_status(file: FileCandidate, record: FileRecord) -> bool:
    return (
        file.mtime_ns == record.mtime_ns
        and file.size == record.size
        and file.ctime_ns == record.ctime_ns
        and file.inode == record.inode
    )


def needs_reading(record: FileRecord, checked_ns: int) -> bool:
    """Return whether a file must be read to detect a change: it failed, or was written just before the check."""
    newest = max(record.mtime_ns, record.ctime_ns)
    grain = _FINE_GRAIN_NS if newest % 1_000_000_000 else _COARSE_GRAIN_NS
    return record.outcome == "failed" or newest >= checked_ns - grain


def count_renames(added: Iterable[FileRecord], removed: Iterable[FileRecord]) -> int:
    """Count the added files that have the content of a removed one."""
    return (Counter(record.hash for record in added) & Counter(record.hash for record in removed)).total()


def compute_content_digest(records: Sequence[FileRecord]) -> str:
    """Compute a hexadecimal digest of the contents and outcomes of all files, regardless of their order."""
    lines = sorted(f"{record.path}\0{record.hash} {record.outcome}" for record in records)
    return blake2b("\n\0".join(lines).encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()


def split_batches(candidates: Iterable[FileCandidate], batch_bytes: int) -> Iterator[list[FileCandidate]]:
    """Yield candidates in order, in batches of about ``batch_bytes``."""
    batch: list[FileCandidate] = []
    size = 0
    for candidate in candidates:
        batch.append(candidate)
        size += candidate.size
        if size >= batch_bytes:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
