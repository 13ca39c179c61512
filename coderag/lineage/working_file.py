"""Lines of a file on disk and their places in the latest commit; git's filters, which may run programs, are not used."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from coderag.ingestion.files.file_text import MAX_FILE_BYTES
from coderag.ingestion.files.regular_files import read_regular_file
from coderag.lineage.git_history import GitHistory
from coderag.lineage.line_diff import diff_lines
from coderag.schema.lineage import Hunk


@dataclass(frozen=True, slots=True)
class WorkingFile:
    """A file on disk, compared with the latest commit.

    Attributes:
        lines: Number of lines on disk.
        committed_lines: Number of lines in the commit; None if it does not have the file.
        hunks: Differences, the commit first.
    """

    lines: int
    committed_lines: int | None
    hunks: Sequence[Hunk]

    def map_lines(self, start: int, end: int) -> list[tuple[int, int]]:
        """Map lines on disk to those of the commit; 0 for lines that are not committed.

        Returns:
            A pair for each line from `start` to `end`: line on disk, line in the commit.
        """
        if self.committed_lines is None:
            return [(line, 0) for line in range(start, end + 1)]
        pairs = []
        hunks = list(self.hunks)
        shift, index = 0, 0
        for line in range(1, end + 1):
            while index < len(hunks) and _get_end(hunks[index]) < line:
                shift += hunks[index].old_count - hunks[index].new_count
                index += 1
            is_new = index < len(hunks) and hunks[index].new_count and hunks[index].new_start <= line
            if line >= start:
                pairs.append((line, 0 if is_new else line + shift))
        return pairs


def _get_end(hunk: Hunk) -> int:
    """Return the last line of a hunk; for a deletion the line above it."""
    return hunk.new_start + hunk.new_count - 1 if hunk.new_count else hunk.new_start


def read_working_file(history: GitHistory, path: str) -> WorkingFile:
    """Compare a file on disk with the latest commit; a file that is missing on disk counts as unchanged.

    Args:
        history: The repository.
        path: Path of the file, relative to the indexed folder.
    """
    committed = history.try_run("cat-file", "blob", f"HEAD:./{path}")
    try:
        current: bytes | None = read_regular_file(Path(history.root) / path, MAX_FILE_BYTES * 16)[0]
    except OSError:
        current = committed
    old, new = _split(committed or b""), _split(current or b"")
    hunks = diff_lines(old, new) if committed is not None and committed != current else []
    return WorkingFile(len(new), len(old) if committed is not None else None, hunks)


def _split(data: bytes) -> list[bytes]:
    """Split into lines, without the carriage returns that git may add on checkout."""
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [line.rstrip(b"\r") for line in lines]
