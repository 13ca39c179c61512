"""Files that a scan found worth reading, with their status on disk."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileCandidate:
    """A file to be read.

    Attributes:
        path: Relative to the root, with ``/`` between the parts.
        inode: 0 where the file system has none (Windows).
        ctime_ns: When content or status last changed; it tells a file that was replaced by one of the same size and
            modification time. 0 where the system has no such time (Windows, where it would be that of creation).
    """

    path: str
    size: int
    mtime_ns: int
    inode: int
    ctime_ns: int = 0
