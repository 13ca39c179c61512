"""Renamed files among the removed and the added ones: equal content first, then the most similar lines, as git does."""

from collections import Counter
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final

_MIN_SIMILARITY: Final = 0.5  # git's default
_MAX_COMPARED_PAIRS: Final = 10_000
_MIN_BYTES: Final = 24  # of smaller files similarity says nothing


def pair_renames(removed: Mapping[str, bytes], added: Mapping[str, bytes]) -> dict[str, str]:
    """Return the old path of each renamed file by its new path; a file is paired once.

    Args:
        removed: Content of the removed files by path.
        added: Content of the added files by path.
    """
    candidates = [
        (similarity, PurePosixPath(old).name == PurePosixPath(new).name, old, new)
        for old, new, similarity in _compare_files(removed, added)
        if similarity >= _MIN_SIMILARITY
    ]
    candidates.sort(key=lambda candidate: (-candidate[0], not candidate[1], candidate[2:]))
    pairs: dict[str, str] = {}
    paired: set[str] = set()
    for _, _, old, new in candidates:
        if old not in paired and new not in pairs:
            pairs[new] = old
            paired.add(old)
    return pairs


def _compare_files(removed: Mapping[str, bytes], added: Mapping[str, bytes]) -> list[tuple[str, str, float]]:
    """Return pairs of paths with their similarity, 0 to 1; only equal files where there are many."""
    paths_by_content: dict[bytes, list[str]] = {}
    for path, content in removed.items():
        paths_by_content.setdefault(content, []).append(path)
    pairs = [(old, new, 1.0) for new, content in added.items() if content for old in paths_by_content.get(content, ())]
    matched = {path for old, new, _ in pairs for path in (old, new)}
    old_lines = _count_lines({path: content for path, content in removed.items() if path not in matched})
    new_lines = _count_lines({path: content for path, content in added.items() if path not in matched})
    if len(old_lines) * len(new_lines) <= _MAX_COMPARED_PAIRS:
        pairs += [
            (old, new, _compute_similarity(before, after))
            for old, before in old_lines.items()
            for new, after in new_lines.items()
        ]
    return pairs


def _count_lines(contents: Mapping[str, bytes]) -> dict[str, Counter[bytes]]:
    return {path: Counter(content.splitlines()) for path, content in contents.items() if len(content) >= _MIN_BYTES}


def _compute_similarity(before: Counter[bytes], after: Counter[bytes]) -> float:
    """Return the share of the longer file's characters that are in lines of both."""
    longer = max(_count_characters(before), _count_characters(after))
    return _count_characters(before & after) / longer if longer else 0.0


def _count_characters(lines: Counter[bytes]) -> int:
    return sum((len(line) + 1) * count for line, count in lines.items())
