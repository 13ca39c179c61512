"""Find what changed since the last generation, reading no more files than needed.

The status of each file (size, times, number on disk) is compared with that of its record. A file whose status proves
nothing is read whatever it says.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from coderag.ingestion.files.candidates import Candidate
from coderag.ingestion.files.scanner import Scan
from coderag.ingestion.files.source import Source, read_source
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

    changed: list[Candidate] = field(default_factory=list)
    kept: list[FileRecord] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    known: Mapping[str, FileRecord] = field(default_factory=dict)

    @property
    def are_sure(self) -> bool:
        """Whether something differs in any case: files that are gone, new or of another size. Else only times may."""
        sizes = ((candidate.size, self.known.get(candidate.path)) for candidate in self.changed)
        return bool(self.removed) or any(known is None or known.size != size for size, known in sizes)

    def known_hash(self, path: str) -> str:
        """Return the hash of a file's content as indexed; empty if it is not."""
        record = self.known.get(path)
        return record.hash if record and record.outcome == "indexed" else ""

    def confirmed(
        self, root: Path, max_file_bytes: int, *, generated: bool = True
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
            found = read_source(root, candidate, max_file_bytes=max_file_bytes, generated=generated)
            old = self.known_hash(path)
            if isinstance(found, Source) and not old:
                added.append(path)
            elif isinstance(found, Source) and found.hash != old:
                changed.append(path)
            elif not isinstance(found, Source) and old:
                removed.append(path)
        return added, changed, removed


def find_changes(scan: Scan, last: Manifest | None) -> Changes:
    """Return what differs between a scan and the last generation.

    Args:
        scan: What is on disk now.
        last: The last generation; None if there is none.
    """
    if last is None:
        return Changes(changed=scan.candidates)
    changes = Changes(known={record.path: record for record in last.records})
    for candidate in scan.candidates:
        record = changes.known.get(candidate.path)
        if record is None or not _has_status(candidate, record) or proves_nothing(record, last.checked_ns):
            changes.changed.append(candidate)
        else:
            changes.kept.append(record)
    there = {candidate.path for candidate in scan.candidates}
    changes.removed = [path for path, one in changes.known.items() if one.outcome == "indexed" and path not in there]
    return changes


def _has_status(file: Candidate, record: FileRecord) -> bool:
    return (
        file.mtime_ns == record.mtime_ns
        and file.size == record.size
        and file.ctime_ns == record.ctime_ns
        and file.inode == record.inode
    )


def proves_nothing(record: FileRecord, checked_ns: int) -> bool:
    """Return whether a file must be read to know that it is what it was: it failed, or was written just then."""
    newest = max(record.mtime_ns, record.ctime_ns)
    grain = _FINE_GRAIN_NS if newest % 1_000_000_000 else _COARSE_GRAIN_NS
    return record.outcome == "failed" or newest >= checked_ns - grain


def count_renames(added: Iterable[FileRecord], removed: Iterable[FileRecord]) -> int:
    """Return how many added files have the content of a removed one."""
    return (Counter(record.hash for record in added) & Counter(record.hash for record in removed)).total()


def content_digest(records: Sequence[FileRecord]) -> str:
    """Return a digest of the contents of all files and of what became of them, whatever their order, in hexadecimal."""
    lines = sorted(f"{record.path}\0{record.hash} {record.outcome}" for record in records)
    return blake2b("\n\0".join(lines).encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()


def batched(candidates: Iterable[Candidate], most_bytes: int) -> Iterator[list[Candidate]]:
    """Yield candidates in their order, in batches of about so many bytes."""
    batch: list[Candidate] = []
    size = 0
    for candidate in candidates:
        batch.append(candidate)
        size += candidate.size
        if size >= most_bytes:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
