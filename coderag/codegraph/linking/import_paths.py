"""Which files an import may mean by the ends of their paths, in languages without rules of their own."""

import posixpath
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

_INDEX_STEMS: Final = frozenset({"index", "init", "mod"})
"""A folder is imported by such a file in it."""

_SOURCE_FOLDERS: Final = frozenset({"", "app", "include", "lib", "source", "spec", "src", "test"})
"""Names of folders in which imports in one word begin; without a name, the root."""

_ROOT_WORDS: Final = frozenset({"self", "super", "~", "@", ""})
_MOST_MEMBERS: Final = 2  # last parts of an import that may be names in the file


class ImportResolver:
    """Finds the files behind import strings by the longest matching end of a path.

    Args:
        paths: Path of each file of the repository.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._modules: list[tuple[str, ...]] = [_module(path) for path in paths]
        self._folders = [posixpath.dirname(path) for path in paths]
        self._paths = paths
        self._by_path = {path: file for file, path in enumerate(paths)}
        self._by_name: dict[str, list[int]] = defaultdict(list)
        self._by_last: dict[str, list[int]] = defaultdict(list)
        for file, module in enumerate(self._modules):
            self._by_name[posixpath.basename(paths[file])].append(file)
            if module:
                self._by_last[module[-1]].append(file)

    def resolve(self, file: int, imported: str, *, by_name: bool = False) -> list[int]:
        """Return the files that an import in `file` may mean: none if it is outside, several if that cannot be told.

        Args:
            by_name: Whether it is the name of a file, as in C, with its extension.
        """
        imported = imported.strip("\"'<>` ;")
        if imported.startswith(("./", "../")) or imported in (".", ".."):
            return self._exact(_normalised(self._folders[file], imported))
        if by_name:
            return self._included(file, imported)
        parts = tuple(part for part in re.split(r"::|[./\\]", imported) if part not in _ROOT_WORDS)
        names_a_file = "/" in imported and posixpath.splitext(imported)[1] != ""
        wanted = _module(imported) if names_a_file else parts
        return self._by_suffix(file, wanted, whole=names_a_file) if wanted else []

    def _included(self, file: int, imported: str) -> list[int]:
        """Return the file that a C include means: beside the including one, or one whose path ends so."""
        beside = _normalised(self._folders[file], imported)
        if beside in self._by_path:
            return [self._by_path[beside]]
        named = self._by_name.get(posixpath.basename(imported), ())
        return self._nearest(file, [other for other in named if f"/{self._paths[other]}".endswith(f"/{imported}")])

    def _exact(self, path: str) -> list[int]:
        """Return the file at a path that may lack its extension, or the index file of the folder there."""
        if path in self._by_path:
            return [self._by_path[path]]
        module = _module(path) if path else ()
        found = self._by_last.get(module[-1], ()) if module else ()
        return [file for file in found if self._modules[file] == module][:1]

    def _by_suffix(self, file: int, parts: tuple[str, ...], *, whole: bool) -> list[int]:
        """Return the files whose path ends like the import; the last parts may be members of it unless `whole`."""
        shortest = len(parts) if whole else max(min(2, len(parts)), len(parts) - _MOST_MEMBERS)
        for length in range(len(parts), shortest - 1, -1):
            wanted = parts[:length]
            found = [
                other
                for other in self._by_last.get(wanted[-1], ())
                if _ends_alike(self._modules[other], wanted) and (length > 1 or self._is_around(file, other))
            ]
            if found:
                return self._nearest(file, found)
        return []

    def _is_around(self, file: int, other: int) -> bool:
        """Return whether a file is where an import in one word leads: in a folder around, or where sources are."""
        folder = self._folders[other]
        return posixpath.basename(folder) in _SOURCE_FOLDERS or f"{self._folders[file]}/".startswith(f"{folder}/")

    def _nearest(self, file: int, found: Sequence[int]) -> list[int]:
        """Return those of some files that have most folders in common with the importing one; one beside it comes first."""
        if len(found) <= 1:
            return list(found)
        beside = [other for other in found if self._folders[other] == self._folders[file]]
        own = self._folders[file].split("/")
        shared = [len(posixpath.commonprefix([own, self._folders[other].split("/")])) for other in found]
        best = max(shared)
        nearest = [other for other, common in zip(found, shared, strict=True) if common == best]
        return beside if len(beside) == 1 else nearest


def _module(path: str) -> tuple[str, ...]:
    """Return a path's parts without extension; a folder's index file stands for the folder."""
    pure = PurePosixPath(path)
    parts = (*pure.parts[:-1], pure.name.split(".", 1)[0] or pure.name)
    return parts[:-1] if parts[-1] in _INDEX_STEMS else parts


def _ends_alike(module: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether a module's path ends with the wanted parts, as far as it has that many.

    A file nearer to the root than the import is long (``src/a.kt`` for ``org.src.a``) must match in more than its name.
    """
    common = min(len(module), len(wanted))
    return tuple(module[-common:]) == tuple(wanted[-common:]) and (common == len(wanted) or common > 1)


def _normalised(folder: str, relative: str) -> str:
    path = posixpath.normpath(posixpath.join(folder, relative))
    return "" if path == "." else path
