"""Resolve what a file imports, as written, to files of the repository. What cannot be decided stays unresolved."""

import posixpath
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import PurePosixPath

_INDEX_STEMS = frozenset({"__init__", "index", "mod", "lib", "main"})
"""A folder is imported by such a file in it: Python, JavaScript, Rust."""

_DOT_RELATIVE = re.compile(r"^(\.+)(?!/)(.*)$")  # Python: ``.sessions``, ``..pkg.mod``
_ROOT_WORDS = frozenset({"crate", "self", "super", "~", "@", ""})
_PACKAGE_LANGUAGES = frozenset({"go"})
_MOST_PACKAGE_FILES = 20
_MOST_AMBIGUOUS = 3


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
        self._by_folder: dict[str, list[int]] = defaultdict(list)
        for file, module in enumerate(self._modules):
            self._by_name[posixpath.basename(paths[file])].append(file)
            if module:
                self._by_last[module[-1]].append(file)
            self._by_folder[self._folders[file]].append(file)

    def resolve(self, file: int, imported: str, language: str) -> list[int]:
        """Return the files that an import in `file` means: none, one, or all files of an imported package."""
        imported = imported.strip("\"'<>` ;")
        if imported.startswith(("./", "../")) or (imported in (".", "..") and language != "python"):
            return self._exact(_normalised(self._folders[file], imported))
        if language == "python" and (relative := _DOT_RELATIVE.match(imported)):
            dots, rest = relative.groups()
            up = "../" * (len(dots) - 1)
            return self._longest_prefix(_normalised(self._folders[file], up + rest.replace(".", "/")))
        parts = [part for part in re.split(r"::|[./\\]", imported) if part not in _ROOT_WORDS]
        if language in _PACKAGE_LANGUAGES:
            return self._package(parts)
        if language in ("c", "cpp"):
            return self._included(file, imported)
        names_a_file = "/" in imported and posixpath.splitext(imported)[1] != ""
        wanted = _module(imported) if names_a_file else tuple(parts)
        return self._by_suffix(file, wanted, whole=names_a_file) if wanted else []

    def _included(self, file: int, imported: str) -> list[int]:
        """Return the file that a C include means: beside the including one, or the only one whose path ends so."""
        beside = _normalised(self._folders[file], imported)
        if beside in self._by_path:
            return [self._by_path[beside]]
        named = self._by_name.get(posixpath.basename(imported), ())
        return self._nearest(file, [other for other in named if f"/{self._paths[other]}".endswith(f"/{imported}")])

    def _exact(self, path: str) -> list[int]:
        """Return the file at a path that may lack its extension, or the index file of the folder there."""
        if path in self._by_path:
            return [self._by_path[path]]
        if not path:  # ``require("../")`` from a folder below the root
            at_root = (file for stem in _INDEX_STEMS for file in self._by_last.get(stem, ()) if not self._folders[file])
            return sorted(at_root)[:1]
        module = _module(path)
        trimmed = tuple(PurePosixPath(path).with_suffix("").parts)  # ``./x.js`` in TypeScript means ``x.ts``
        last = {name for candidate in (module, trimmed) for name in candidate[-1:]}
        return [
            file for name in last for file in self._by_last.get(name, ()) if self._modules[file] in (module, trimmed)
        ][:1]

    def _longest_prefix(self, path: str) -> list[int]:
        """Return the module at a path, dropping names of members from its end."""
        while path:
            if found := self._exact(path):
                return found
            path = posixpath.dirname(path)
        return []

    def _by_suffix(self, file: int, parts: tuple[str, ...], *, whole: bool = False) -> list[int]:
        """Return the file whose path ends like the import; the last parts may be members of it unless `whole`."""
        shortest = len(parts) if whole else max(1, len(parts) - 2)
        for length in range(len(parts), shortest - 1, -1):
            wanted = parts[:length]
            found = [
                other
                for other in self._by_last.get(wanted[-1], ())
                if _ends_alike(self._modules[other], wanted, len(parts))
            ]
            if found:
                return self._nearest(file, found)
        return []

    def _nearest(self, file: int, found: Sequence[int]) -> list[int]:
        """Return the only file, or the one nearest to the importing one; nothing if several are equally near."""
        if len(found) <= 1:
            return list(found)
        beside = [other for other in found if self._folders[other] == self._folders[file]]
        if len(beside) == 1:
            return beside
        if len(found) > _MOST_AMBIGUOUS:
            return []
        own = self._folders[file].split("/")
        shared = [len(posixpath.commonprefix([own, self._folders[other].split("/")])) for other in found]
        best = max(shared)
        return (
            [other for other, common in zip(found, shared, strict=True) if common == best]
            if shared.count(best) == 1
            else []
        )

    def _package(self, parts: Sequence[str]) -> list[int]:
        """Return the files of the folder that an import path ends with (Go)."""
        for start in range(len(parts)):
            folder = "/".join(parts[start:])
            if folder in self._by_folder:
                return self._by_folder[folder][:_MOST_PACKAGE_FILES]
        return []


def _module(path: str) -> tuple[str, ...]:
    """Return a path's parts without extension; a folder's index file stands for the folder."""
    pure = PurePosixPath(path)
    parts = (*pure.parts[:-1], pure.name.split(".", 1)[0] or pure.name)
    return parts[:-1] if parts[-1] in _INDEX_STEMS and len(parts) > 1 else parts


def _ends_alike(module: Sequence[str], wanted: Sequence[str], n_parts: int) -> bool:
    """Whether a module's path ends with the wanted parts, as far as it has that many.

    A file nearer to the root than the import is long (``src/a.py`` for ``package.a``) must match in more than its name.
    """
    common = min(len(module), len(wanted))
    if tuple(module[-common:]) != tuple(wanted[-common:]):
        return False
    return common == len(wanted) or (common >= 2 and n_parts > 1)


def _normalised(folder: str, relative: str) -> str:
    path = posixpath.normpath(posixpath.join(folder, relative))
    return "" if path == "." else path
