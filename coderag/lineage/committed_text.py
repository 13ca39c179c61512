"""Text of a file in a commit, decoded as the index would decode it."""

from coderag.lineage.git_history import GitHistory
from coderag.text.encodings import decode

_MAX_BYTES = 4_000_000


def read_committed_lines(git: GitHistory, commit: str, path: str) -> list[str] | None:
    """Read the lines of a file in a commit.

    Args:
        git: The repository.
        commit: Id of the commit.
        path: Path relative to the indexed folder.

    Returns:
        The lines without their ends; None if the commit has no such file, it is binary or very large, or its contents are
        not in this clone.
    """
    name = f"{commit}:./{path}"
    size = git.try_run("cat-file", "-s", name)
    if size is None or int(size) > _MAX_BYTES:
        return None
    data = git.try_run("cat-file", "blob", name)
    decoded = decode(data) if data is not None else None
    return None if decoded is None else decoded.text.splitlines()
