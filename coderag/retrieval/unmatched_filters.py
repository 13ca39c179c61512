"""Errors of filters that match nothing, with the nearest value that exists."""

from collections.abc import Collection, Sequence
from difflib import get_close_matches
from typing import Final

from coderag.errors import InvalidQueryError
from coderag.schema.chunks import FileRecord

_MAX_SUGGESTIONS: Final = 3
_MIN_SIMILARITY: Final = 0.75
_MAX_LISTED: Final = 20


def build_absent_error(
    name: str, value: str, present: Collection[str], known: Collection[str] = ()
) -> InvalidQueryError:
    """Build the error for a value that nothing in the index has.

    Args:
        name: Name of the filter: language, kind or role.
        value: The value as given.
        present: Values that the index has.
        known: Further names of values, which may be meant; empty if the value is one of them.
    """
    similar = _find_near(value, present, _MAX_SUGGESTIONS) or _find_near(value, known, 1)
    suggestion = f"Did you mean {' or '.join(similar)}? " if similar else ""
    listed = sorted(present)
    more = f" and {len(listed) - _MAX_LISTED} more" if len(listed) > _MAX_LISTED else ""
    return InvalidQueryError(
        f"nothing in the index has the {name} {value!r}",
        hint=f"{suggestion}Available: {', '.join(listed[:_MAX_LISTED])}{more}.",
    )


def _find_near(value: str, names: Collection[str], limit: int) -> list[str]:
    return get_close_matches(value.lower(), sorted(names), limit, _MIN_SIMILARITY)


def build_unmatched_path_error(
    pattern: str, paths: Sequence[str], unindexed: Sequence[FileRecord]
) -> InvalidQueryError:
    """Build the error for a path or glob that matches no indexed file.

    Args:
        pattern: The path as given.
        paths: Paths of the indexed files.
        unindexed: Records of files that match but are not indexed.
    """
    message = f"no indexed file matches the path {pattern!r}"
    if unindexed:
        first = unindexed[0]
        more = f" and {len(unindexed) - 1} more" if len(unindexed) > 1 else ""
        return InvalidQueryError(message, hint=f"Not indexed: {first.path} ({first.reason}){more}.")
    similar = _find_near_paths(pattern, paths) if not pattern.startswith("/") else []
    if similar:
        return InvalidQueryError(message, hint=f"Did you mean {' or '.join(similar)}?")
    folders = sorted({path.partition("/")[0] for path in paths})
    listed = ", ".join(folders[:_MAX_LISTED]) + (" and more" if len(folders) > _MAX_LISTED else "")
    hint = (
        f"Paths are relative to the root of the repository, which has {listed}." if folders else "Nothing is indexed."
    )
    return InvalidQueryError(message, hint=hint)


def _find_near_paths(pattern: str, paths: Sequence[str]) -> list[str]:
    """Find the folders and files that are called nearly so, those with the same last part first."""
    wanted = "/".join(part for part in pattern.strip("/").split("/") if "*" not in part and part not in (".", ".."))
    if not wanted:
        return []
    folders = {path[:end] for path in paths for end, sign in enumerate(path) if sign == "/"}
    candidates = sorted({*folders, *paths}, key=lambda path: (path.count("/"), path))
    last = wanted.rpartition("/")[2].lower()
    same = [path for path in candidates if path.rpartition("/")[2].lower() == last]
    if same:
        return same[:_MAX_SUGGESTIONS]
    by_lower = {path.lower(): path for path in reversed(candidates)}
    similar = _find_near(wanted, by_lower, _MAX_SUGGESTIONS)
    if not similar:
        by_last = {path.rpartition("/")[2].lower(): path for path in reversed(candidates)}
        return [by_last[name] for name in _find_near(last, by_last, _MAX_SUGGESTIONS)]
    return [by_lower[name] for name in similar]
