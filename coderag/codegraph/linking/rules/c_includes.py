"""Includes of C-like files: the file of each, and everything that a file sees through them."""

import re
from collections.abc import Sequence, Set
from functools import cached_property
from pathlib import PurePosixPath
from typing import Final

from coderag.codegraph.linking.import_paths import ImportResolver
from coderag.codegraph.linking.program import Program
from coderag.codegraph.linking.rules.standard_names import read_names

_LEADING_DOTS: Final = re.compile(r"^(?:\.\.?/)+")
C_FAMILY: Final = ("c", "cpp")
"""Languages that share headers and whose names refer to one another."""

_STANDARD_HEADERS: Final = read_names("c_family", "headers")
_SOURCE_SUFFIXES: Final = frozenset({".c", ".cc", ".cpp", ".cxx", ".c++", ".cu", ".cppm", ".ixx"})
_MAX_VISIBLE_FILES: Final = 2000


class Includes:
    """Resolves includes.

    Args:
        program: All files.
    """

    def __init__(self, program: Program) -> None:
        self._program = program

    def resolve(self, file: int, header: str) -> int | None:
        """Return the file of an include; None if it is outside the repository, or ambiguous."""
        return self._program.memoize("include", (file, header), lambda: self._resolve(file, header))

    def _resolve(self, file: int, header: str) -> int | None:
        for part in header.split("/"):
            self._program.record_key(f"module:{part.partition('.')[0]}")
        if header in _STANDARD_HEADERS:
            return None
        files = self._resolver.resolve(file, header, by_name=True)
        if not files and header.startswith("."):  # relative to a folder of the build, not to the file
            files = self._resolver.resolve(file, _LEADING_DOTS.sub("", header), by_name=True)
        return files[0] if len(files) == 1 else None

    def find_visible_files(self, file: int) -> Set[int]:
        """Return a file and all files that it includes, directly or not."""
        return self._program.memoize("visible", file, lambda: self._collect_files(file))

    def find_visible_folders(self, file: int) -> Set[str]:
        """Return the folders of the files that a file sees, its own included."""
        return self._program.memoize(
            "visible folders", file, lambda: {self.get_folder(other) for other in self.find_visible_files(file)}
        )

    def get_folder(self, file: int) -> str:
        """Return the folder of a file."""
        return self._program.rows[file].path.rpartition("/")[0]

    def is_header(self, file: int) -> bool:
        """Return whether a file is made to be included."""
        return PurePosixPath(self._program.rows[file].path).suffix not in _SOURCE_SUFFIXES

    def _collect_files(self, file: int) -> Set[int]:
        files, pending = {file}, [file]
        while pending and len(files) < _MAX_VISIBLE_FILES:
            current = pending.pop()
            included = {self.resolve(current, header) for header in self._list_headers(current)}
            new_files = {other for other in included if other is not None} - files
            files |= new_files
            pending += new_files
        return frozenset(files)

    def _list_headers(self, file: int) -> Sequence[str]:
        """Return the headers that a file includes, as written."""
        return [import_.module for import_ in self._program.read_interface(file).facts.imports if not import_.name]

    @cached_property
    def _resolver(self) -> ImportResolver:
        return ImportResolver([row.path for row in self._program.rows])
