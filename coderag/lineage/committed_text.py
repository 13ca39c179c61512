"""Text of a file in a commit, decoded as the index would decode it."""

from typing import Final

from coderag.lineage.blobs import BlobReader
from coderag.text.encodings import decode

_MAX_BYTES: Final = 4_000_000


def read_committed_lines(blobs: BlobReader, commit: str, path: str) -> list[str] | None:
    """Read the lines of a file in a commit.

    Args:
        blobs: Reader of the repository.
        commit: Id of the commit.
        path: Path relative to the indexed folder.

    Returns:
        The lines without their ends; None if the commit has no such file, it is binary or very large, or its contents are
        not in this clone.
    """
    data = blobs.read(f"{commit}:./{path}", max_bytes=_MAX_BYTES)
    decoded = decode(data) if data is not None else None
    return None if decoded is None else decoded.text.splitlines()
