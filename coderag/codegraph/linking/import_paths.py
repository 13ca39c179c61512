"""Import resolution by path suffixes, for languages without rules of their own."""

import posixpath
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

_INDEX_STEMS: Final = frozenset({"index", "init", "mod"})
"""Stems of files that stand for their folder."""

_SOURCE_FOLDERS: Final = frozenset({"", "app", "include", "lib", "source", "spec", "src", "test"})
"""Folder names in which imports of a single word start; the empty name is the root."""

_ROOT_WORDS: Final = frozenset({"self", "super", "~", "@", ""})
_MAX_MEMBER_PARTS: Final = 2  # trailing parts of an import that may be names in the file


class ImportResolver:
    """Finds the files of import strings by the longest matching path suffix.

    Args:
        paths: Path of each file of the repository.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._module_paths: list[tuple[str, ...]] = [_split_module_path(path) for path in paths]
        self._folders = [posixpath.dirname(path) for path in paths]
        self._paths = paths
        self._by_path = {path: file for file, path in enumerate(paths)}
        self._by_file_name: dict[str, list[int]] = defaultdict(list)
        self._by_last_part: dict[str, list[int]] = defaultdict(list)
        for file, module in enumerate(self._module_paths):
            self._by_file_name[posixpath.basename(paths[file])].append(file)
            if module:
                self._by_last_part[module[-1]].append(file)

    def resolve(self, file: int, imported: str, *, by_name: bool = False) -> list[int]:
        """Return the files that an import in `file` may refer to: none if it is external, several if it is ambiguous.

        Args:
            file: Number of the importing file.
            imported: The import as written.
            by_name: Whether it is a file name with its extension, as in C.
        """
        imported = imported.strip("\"'<>` ;")
        if imported.startswith(("./", "../")) or imported in (".", ".."):
            return self._find_exact(_join_path(self._folders[file], imported))
        if by_name:
            return self._resolve_include(file, imported)
        parts = tuple(part for part in re.split(r"::|[./\\]", imported) if part not in _ROOT_WORDS)
        is_file_name = "/" in imported and posixpath.splitext(imported)[1] != ""
        module_parts = _split_module_path(imported) if is_file_name else parts
        return self._find_by_suffix(file, module_parts, is_complete=is_file_name) if module_parts else []

    def _resolve_include(self, file: int, imported: str) -> list[int]:
        """Return the file of a C include: the one beside the including file, else the nearest one with that path suffix."""
        sibling_path = _join_path(self._folders[file], imported)
        if sibling_path in self._by_path:
            return [self._by_path[sibling_path]]
        same_name = self._by_file_name.get(posixpath.basename(imported), ())
        return self._select_nearest(
            file, [other for other in same_name if f"/{self._paths[other]}".endswith(f"/{imported}")]
        )

    def _find_exact(self, path: str) -> list[int]:
        """Return the file at a path that may lack its extension, or the index file of the folder there."""
        if path in self._by_path:
            return [self._by_path[path]]
        module = _split_module_path(path) if path else ()
        candidates = self._by_last_part.get(module[-1], ()) if module else ()
        return [file for file in candidates if self._module_paths[file] == module][:1]

    def _find_by_suffix(self, file: int, parts: tuple[str, ...], *, is_complete: bool) -> list[int]:
        """Return the files with the import as path suffix; its last parts may be members unless it `is_complete`."""
        min_length = len(parts) if is_complete else max(min(2, len(parts)), len(parts) - _MAX_MEMBER_PARTS)
        for length in range(len(parts), min_length - 1, -1):
            suffix = parts[:length]
            matches = [
                other
                for other in self._by_last_part.get(suffix[-1], ())
                if _has_suffix(self._module_paths[other], suffix) and (length > 1 or self._is_importable(file, other))
            ]
            if matches:
                return self._select_nearest(file, matches)
        return []

    def _is_importable(self, file: int, other: int) -> bool:
        """Return whether an import of a single word may refer to a file: in an enclosing folder or a source folder."""
        folder = self._folders[other]
        return posixpath.basename(folder) in _SOURCE_FOLDERS or f"{self._folders[file]}/".startswith(f"{folder}/")

    def _select_nearest(self, file: int, files: Sequence[int]) -> list[int]:
        """Return the files with the most folders in common with the importing one; a single sibling comes first."""
        if len(files) <= 1:
            return list(files)
        siblings = [other for other in files if self._folders[other] == self._folders[file]]
        own_folders = self._folders[file].split("/")
        shared_counts = [len(posixpath.commonprefix([own_folders, self._folders[other].split("/")])) for other in files]
        max_count = max(shared_counts)
        nearest = [other for other, count in zip(files, shared_counts, strict=True) if count == max_count]
        return siblings if len(siblings) == 1 else nearest


def _split_module_path(path: str) -> tuple[str, ...]:
    """Return the parts of a path without extension; an index file stands for its folder."""
    pure = PurePosixPath(path)
    parts = (*pure.parts[:-1], pure.name.split(".", 1)[0] or pure.name)
    return parts[:-1] if parts[-1] in _INDEX_STEMS else parts


def _has_suffix(module: Sequence[str], suffix: Sequence[str]) -> bool:
    """Return whether a module's path ends with a suffix, as far as it has that many parts.

    A path shorter than the import (``src/a.kt`` for ``org.src.a``) must match in more than its last part.
    """
    common = min(len(module), len(suffix))
    return tuple(module[-common:]) == tuple(suffix[-common:]) and (common == len(suffix) or common > 1)


def _join_path(folder: str, relative: str) -> str:
    path = posixpath.normpath(posixpath.join(folder, relative))
    return "" if path == "." else path
