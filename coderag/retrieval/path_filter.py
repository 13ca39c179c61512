"""Filter by path: typed paths as patterns of the index, and their matching."""

import os
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from coderag.errors import InvalidQueryError
from coderag.retrieval.unmatched_filters import build_unmatched_path_error
from coderag.schema.chunks import FileRecord
from coderag.text.path_globs import PathGlobs

_EXCLUDE_PREFIX: Final = "!"
_ESCAPED_EXCLUDE_PREFIX: Final = "\\!"  # escapes a leading "!" of a file name, as in git


class PathMatcher:
    """Predicate over paths.

    Args:
        patterns: A plain one is a file, a folder or a bare file name, the others are globs; those after ``!`` exclude. With
            only such patterns, everything else matches.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self._included_patterns = list_included(patterns)
        self._included = _build_globs(self._included_patterns or ["."])
        self._excluded = _build_globs([pattern[1:] for pattern in patterns if is_exclusion(pattern)])

    def __call__(self, path: str) -> bool:
        """Return whether a path passes."""
        return self._included.matches(path) and not self._excluded.matches(path)

    def check_matches(self, paths: Sequence[str], read_records: Callable[[], Iterable[FileRecord]]) -> None:
        """Reject a pattern that matches none of the indexed paths.

        Args:
            paths: Paths of the indexed files.
            read_records: Returns the records of all candidate files, to name those that are not indexed.

        Raises:
            InvalidQueryError: A pattern matches nothing; the hint names what is near.
        """
        for pattern in self._included_patterns:
            globs = _build_globs([pattern])
            if not any(map(globs.matches, paths)):
                matching = [record for record in read_records() if globs.matches(record.path)]
                if all(record.outcome != "indexed" for record in matching):  # an empty file has no chunks
                    raise build_unmatched_path_error(pattern, paths, matching)


@lru_cache(64)
def build_path_matcher(patterns: tuple[str, ...]) -> PathMatcher:
    """Build the predicate of some patterns."""
    return PathMatcher(patterns)


def is_exclusion(pattern: str) -> bool:
    """Return whether a pattern excludes."""
    return pattern.startswith(_EXCLUDE_PREFIX)


def list_included(patterns: Sequence[str]) -> list[str]:
    """List the patterns that do not exclude."""
    return [pattern for pattern in patterns if not is_exclusion(pattern)]


def to_index_pattern(typed: str, root: Path) -> str:
    r"""Convert a typed path to a pattern relative to the root, with ``/`` between folders.

    Takes backslashes (``src\gen``), absolute paths in the repository, ``~`` and ``./src/``. Another path that begins with a
    slash is relative to the root, as in git.

    Raises:
        InvalidQueryError: The path is outside the repository.
    """
    prefix = _EXCLUDE_PREFIX if is_exclusion(typed) else ""
    pattern = typed[len(prefix) :]
    if pattern.startswith(_ESCAPED_EXCLUDE_PREFIX):
        return typed
    if pattern.startswith("~"):
        pattern = os.path.expanduser(pattern)  # noqa: PTH111  # leaves an unknown user as it is
    if Path(pattern).is_absolute():
        pattern = _to_relative(pattern, root)
    pattern = pattern.replace("\\", "/")
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    if ".." in parts:
        normalized = os.path.normpath("/".join(parts)).replace(os.sep, "/")
        if normalized.startswith(".."):
            raise _build_outside_error(typed, root)
        parts = [part for part in normalized.split("/") if part != "."]
    escape = "./" if pattern.startswith("./!") and not prefix else "/" if pattern.startswith("/") and parts else ""
    return f"{prefix}{escape}{'/'.join(parts) or '.'}"


def _to_relative(pattern: str, root: Path) -> str:
    """Return an absolute path relative to the root, which may be a symbolic link."""
    for base in (root.absolute(), root.resolve()):
        for path in (Path(pattern), Path(os.path.realpath(pattern))):
            if path.is_relative_to(base):
                return path.relative_to(base).as_posix()
    return pattern


def _build_outside_error(pattern: str, root: Path) -> InvalidQueryError:
    return InvalidQueryError(
        f"the path {pattern!r} is outside the repository {root}",
        hint="Give a path relative to the root of the repository, or choose another repository with --repo.",
    )


def _build_globs(patterns: Sequence[str]) -> PathGlobs:
    return PathGlobs([pattern[1:] if pattern.startswith(_ESCAPED_EXCLUDE_PREFIX) else pattern for pattern in patterns])
