"""Find what changed since the last generation, reading no more files than needed.

The status of each file (size, times, number on disk) is compared with that of its record. A file whose status proves
nothing is read whatever it says.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from coderag.ingestion.files.candidates import FileCandidate
from coderag.ingestion.files.file_text import FileText, read_file_text
from coderag.ingestion.files.scanner import Scan
from coderag.schema.chunks import FileRecord
from coderag.stores.manifest import Manifest

_COARSE_GRAIN_NS = 2_000_000_000
_FINE_GRAIN_NS = 100_000_000
"""A file written so shortly before it was looked at may change again within the same time stamp, so its status proves
nothing. Time stamps tick at 1 to 10 ms where they have fractions of a second; else at one second, or two (FAT).
Source: git's "racy git" problem, Documentation/technical/racy-git.txt."""

_DIGEST_BYTES = 16


@dataclass(slots=True)
class Changes:
    """What differs between the files on disk and the last generation.

    Attributes:
        changed: Candidates that are new or may have changed: to be read.
        kept: Records of files whose status proves that they have not.
        removed: Paths that were indexed and are gone.
        known: The records of the last generation by path.
    """

    changed: list[FileCandidate] = field(default_factory=list)
    unchanged: list[FileRecord] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    previous_records: Mapping[str, FileRecord] = field(default_factory=dict)

    @property
    def has_certain_changes(self) -> bool:
        """Whether something differs in any case: files that are gone, new or of another size. Else only times may."""
        sizes = ((candidate.size, self.previous_records.get(candidate.path)) for candidate in self.changed)
        return bool(self.removed) or any(previous is None or previous.size != size for size, previous in sizes)

    def get_indexed_hash(self, path: str) -> str:
        """Return the hash of a file's content as indexed; empty if it is not."""
        record = self.previous_records.get(path)
        return record.hash if record and record.outcome == "indexed" else ""

    def confirm(
        self, root: Path, max_file_bytes: int, *, include_generated: bool = True
    ) -> tuple[list[str], list[str], list[str]]:
        """Return the paths that were added, changed and removed, telling by their content where their status does not.

        Args:
            root: Folder of the repository.
            max_file_bytes: Larger files are not indexed.
            generated: Whether code that a program wrote is.
        """
        added, changed, removed = [], [], list(self.removed)
        for candidate in self.changed:
            path = candidate.path
            content = read_file_text(
                root, candidate, max_file_bytes=max_file_bytes, include_generated=include_generated
            )
            indexed_hash = self.get_indexed_hash(path)
            if isinstance(content, FileText) and not indexed_hash:
                added.append(path)
            elif isinstance(content, FileText) and content.hash != indexed_hash:
                changed.append(path)
            elif not isinstance(content, FileText) and indexed_hash:
                removed.append(path)
        return added, changed, removed


def find_changes(scan: Scan, manifest: Manifest | None) -> Changes:
    """Return what differs between a scan and the last generation.

    Args:
        scan: What is on disk now.
        last: The last generation; None if there is none.
    """
    if manifest is None:
        return Changes(changed=scan.candidates)
    changes = Changes(previous_records={record.path: record for record in manifest.records})
    for candidate in scan.candidates:
        record = changes.previous_records.get(candidate.path)
        if record is None or not _has_same_status(candidate, record) or needs_reading(record, manifest.checked_ns):
            changes.changed.append(candidate)
        else:
            changes.unchanged.append(record)
    present_paths = {candidate.path for candidate in scan.candidates}
    changes.removed = [
        path
        for path, previous_record in changes.previous_records.items()
        if previous_record.outcome == "indexed" and path not in present_paths
    ]
    return changes


def _has_same_status(file: FileCandidate, record: FileRecord) -> bool:
    return (
        file.mtime_ns == record.mtime_ns
        and file.size == record.size
        and file.ctime_ns == record.ctime_ns
        and file.inode == record.inode
    )


def needs_reading(record: FileRecord, checked_ns: int) -> bool:
    """Return whether a file must be read to know that it is what it was: it failed, or was written just then."""
    newest = max(record.mtime_ns, record.ctime_ns)
    grain = _FINE_GRAIN_NS if newest % 1_000_000_000 else _COARSE_GRAIN_NS
    return record.outcome == "failed" or newest >= checked_ns - grain


def count_renames(added: Iterable[FileRecord], removed: Iterable[FileRecord]) -> int:
    """Return how many added files have the content of a removed one."""
    return (Counter(record.hash for record in added) & Counter(record.hash for record in removed)).total()


def compute_content_digest(records: Sequence[FileRecord]) -> str:
    """Return a digest of the contents of all files and of what became of them, whatever their order, in hexadecimal."""
    lines = sorted(f"{record.path}\0{record.hash} {record.outcome}" for record in records)
    return blake2b("\n\0".join(lines).encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()


def split_batches(candidates: Iterable[FileCandidate], batch_bytes: int) -> Iterator[list[FileCandidate]]:
    """Yield candidates in their order, in batches of about so many bytes."""
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
