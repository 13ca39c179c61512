"""Checks of citations against the bytes on disk, and of those of a commit against its objects."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from coderag.answering.evidence.cited_lines import CitedLines
from coderag.errors import HistoryError
from coderag.schema.answers import Citation
from coderag.schema.chunks import FileRecord
from coderag.schema.query import FoundItem
from coderag.text.indexed_text import decode_indexed_text

if TYPE_CHECKING:
    from coderag.lineage.git_history import GitHistory

_MIN_DISTINCTIVE_CHARS = 12
"""Minimum characters, without white space, to locate a single line elsewhere: a ``}`` is everywhere."""


class CitationChecker:
    """Checker of cited lines against the files on disk, each read once.

    Args:
        root: Folder of the repository.
        records: Records of the indexed files.
        items: Mirrored items by the path of their file, which is relative to the root or absolute.
    """

    def __init__(
        self,
        root: Path,
        records: Sequence[FileRecord],
        items: Mapping[str, FoundItem] = MappingProxyType({}),
    ) -> None:
        self._root = root
        self._items = items
        mirrored = (_build_item_record(item) for item in items.values())
        self._records = {record.path: record for record in (*records, *mirrored)}
        self._files: dict[str, _DiskFile] = {}

    def check(self, lines: CitedLines) -> Citation:
        """Check cited lines; lines that moved within their file are cited at their new location."""
        if lines.kind == "commit":
            return _build_citation(lines, self._check_commit(lines))
        citation = self._check_file(lines)
        item = self._items.get(lines.path)
        if item is None:
            return citation
        return replace(citation, kind="item", item=item["id"], url=item["url"], revision=item["revision"])

    def _check_file(self, lines: CitedLines) -> Citation:
        record = self._records.get(lines.path)
        if record is None:
            return _build_citation(lines, "the file is not in the index")
        if lines.path not in self._files:
            self._files[lines.path] = _DiskFile(self._root / lines.path, record)
        file = self._files[lines.path]
        if file.error:
            return _build_citation(lines, file.error)
        if file.is_unchanged:
            return _build_citation(lines, "")
        cited = lines.text.rstrip("\n").split("\n")
        if file.lines[lines.start_line - 1 : lines.start_line - 1 + len(cited)] == cited:
            return _build_citation(lines, "")
        moved_to = file.find_block(cited)
        if moved_to is None:
            return _build_citation(lines, "the lines have changed since they were indexed")
        end = moved_to + lines.end_line - lines.start_line
        digest = _hash_text(lines.text)
        return Citation(lines.path, moved_to, end, digest, verified=True, moved_from=lines.start_line)

    def _check_commit(self, lines: CitedLines) -> str:
        """Return why the lines are not those of the file in its commit; empty if they are."""
        from coderag.lineage.blobs import BlobReader  # noqa: PLC0415  # few answers cite commits
        from coderag.lineage.committed_text import read_committed_lines  # noqa: PLC0415  # as above

        try:
            with BlobReader.open(self._git) as blobs:
                stored = read_committed_lines(blobs, lines.revision, lines.path)
        except HistoryError as error:
            return str(error)
        if stored is None:
            return "the commit has no such file, or its contents are not in this clone"
        cited = lines.text.removesuffix("\n").split("\n")
        is_equal = stored[lines.start_line - 1 : lines.start_line - 1 + len(cited)] == cited
        return "" if is_equal else "the lines of the commit differ"

    @cached_property
    def _git(self) -> "GitHistory":
        from coderag.lineage.git_history import GitHistory  # noqa: PLC0415  # as above

        return GitHistory.open(self._root)


def _build_item_record(item: FoundItem) -> FileRecord:
    return FileRecord(item["path"], "indexed", hash=item["content_hash"], language="markdown", encoding="utf-8")


class _DiskFile:
    def __init__(self, path: Path, record: FileRecord) -> None:
        self._record = record
        self.error = ""
        self._data = b""
        try:
            self._data = path.read_bytes()
        except FileNotFoundError:
            self.error = "the file is gone"
        except OSError as error:
            self.error = f"the file cannot be read: {error.strerror}"

    @cached_property
    def is_unchanged(self) -> bool:
        """True if the bytes are those that were indexed."""
        return hashlib.sha256(self._data).hexdigest() == self._record.hash

    @cached_property
    def lines(self) -> list[str]:
        """Lines of the file as they would be indexed now."""
        return decode_indexed_text(self._record, self._data).split("\n")

    def find_block(self, block: list[str]) -> int | None:
        """Return the 1-based line of a block of lines if it occurs exactly once."""
        if len(block) == 1 and len("".join(block[0].split())) < _MIN_DISTINCTIVE_CHARS:
            return None
        last = len(self.lines) - len(block)
        positions = [line for line in range(last + 1) if self.lines[line : line + len(block)] == block]
        return positions[0] + 1 if len(positions) == 1 else None


def _build_citation(lines: CitedLines, reason: str) -> Citation:
    return Citation(
        lines.path,
        lines.start_line,
        lines.end_line,
        _hash_text(lines.text),
        verified=not reason,
        reason=reason,
        kind=lines.kind,
        revision=lines.revision,
        url=lines.url,
    )


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
