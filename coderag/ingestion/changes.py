"""Find what changed since the last generation, reading no more files than needed."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from coderag.ingestion.languages import detect_language
from coderag.ingestion.roles import role_of
from coderag.ingestion.scanner import Candidate, Scan
from coderag.ingestion.source import Source, read_source
from coderag.schema import FileRecord

_RACY_NS = 2_000_000_000
"""A file written so shortly before the commit may change again within the same time stamp (FAT keeps two seconds), so its
time stamp proves nothing. Source: git's "racy git" problem, Documentation/technical/racy-git.txt."""


@dataclass(slots=True)
class Changes:
    """What differs between the files on disk and the last generation.

    Attributes:
        changed: Candidates that are new or may have changed: to be read.
        kept: Records of files whose stat data prove that they have not.
        removed: Paths that were indexed and are gone.
        known: The records of the last generation by path.
    """

    changed: list[Candidate] = field(default_factory=list)
    kept: list[FileRecord] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    known: Mapping[str, FileRecord] = field(default_factory=dict)

    def confirmed(self, root: Path, max_file_bytes: int) -> tuple[list[str], list[str], list[str]]:
        """Return the paths that were added, changed and removed, telling by their content where stat data do not."""
        added, changed, removed = [], [], list(self.removed)
        for file in read_files(root, self.changed, max_file_bytes):
            record, old = file.record, self.known.get(file.record.path)
            was_indexed = old is not None and old.outcome == "indexed"
            if record.outcome == "indexed" and not was_indexed:
                added.append(record.path)
            elif record.outcome == "indexed" and old is not None and old.hash != record.hash:
                changed.append(record.path)
            elif record.outcome != "indexed" and was_indexed:
                removed.append(record.path)
        return added, changed, removed


def find_changes(scan: Scan, records: Sequence[FileRecord], created: str) -> Changes:
    """Return what differs between a scan and the records of the last generation.

    Args:
        scan: What is on disk now.
        records: The last generation's; empty if there is none.
        created: When it was committed, ISO 8601; empty if there is none.
    """
    known = {record.path: record for record in records}
    trusted_before = int(datetime.fromisoformat(created).timestamp() * 1e9) - _RACY_NS if created else 0
    changes = Changes(known=known)
    for candidate in scan.candidates:
        record = known.get(candidate.path)
        same = record and record.hash and (record.size, record.mtime_ns) == (candidate.size, candidate.mtime_ns)
        if record and same and candidate.mtime_ns < trusted_before:
            changes.kept.append(record)
        else:
            changes.changed.append(candidate)
    present = {candidate.path for candidate in scan.candidates}
    changes.removed = [record.path for record in records if record.outcome == "indexed" and record.path not in present]
    return changes


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file that was read: its record so far, and its source if it is to be indexed."""

    record: FileRecord
    source: Source | None


def read_files(root: Path, candidates: Iterable[Candidate], max_file_bytes: int) -> Iterator[ReadFile]:
    """Yield every candidate with its content or the reason why there is none."""
    for candidate in candidates:
        base = FileRecord(
            path=candidate.path,
            outcome="indexed",
            size=candidate.size,
            mtime_ns=candidate.mtime_ns,
            role=role_of(candidate.path),
        )
        found = read_source(root, candidate, max_file_bytes=max_file_bytes)
        if isinstance(found, Source):
            first_line = found.text[:200].split("\n", 1)[0]
            language = detect_language(candidate.path, first_line)
            record = replace(
                base,
                language=language,
                encoding=found.encoding,
                hash=found.hash,
                size=found.size,
                mtime_ns=found.mtime_ns,
            )
            yield ReadFile(record, found)
        else:
            yield ReadFile(replace(base, outcome=found.outcome, reason=found.reason, hash=found.hash), None)


def count_renames(added: Iterable[FileRecord], removed: Iterable[FileRecord]) -> int:
    """Return how many added files have the content of a removed one."""
    gone: dict[str, int] = {}
    for record in removed:
        gone[record.hash] = gone.get(record.hash, 0) + 1
    renames = 0
    for record in added:
        if gone.get(record.hash, 0) > 0:
            gone[record.hash] -= 1
            renames += 1
    return renames


def tree_hash(records: Iterable[FileRecord]) -> str:
    """Return SHA-256 over every file's path and content hash."""
    digest = hashlib.sha256()
    for record in sorted(records, key=lambda record: record.path):
        digest.update(f"{record.path}\0{record.hash}\0{record.outcome}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()
