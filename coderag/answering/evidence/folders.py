"""Distance of files in the tree of folders."""

from itertools import takewhile


def count_shared_folders(path: str, other: str) -> int:
    """Count the folders that two paths share, from the root."""
    pairs = zip(path.split("/")[:-1], other.split("/")[:-1], strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def count_folders_apart(path: str, other: str) -> int:
    """Count the steps in the tree of folders from one file to another; 0 in the same folder."""
    return path.count("/") + other.count("/") - 2 * count_shared_folders(path, other)
