"""Python: modules by their dotted names, from the roots that ``sys.path`` would have."""

import builtins
import sys
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

from coderag.codegraph.linking.queries import ResolutionQueries
from coderag.codegraph.linking.referents import Referent
from coderag.codegraph.linking.rules.base import LanguageRules
from coderag.codegraph.linking.rules.standard_names import read_names
from coderag.schema.facts import Definition, Import

_SUFFIXES = (".py", ".pyi", ".pyx", ".pyw", ".ipynb")
_PACKAGE_FILE = "__init__"
_SOURCE_FOLDERS = frozenset({"src", "source", "lib", "python", "Lib"})
_PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg")
"""Files beside the packages of a distribution."""


class PythonRules(LanguageRules):
    """Rules of Python, its stubs and notebooks."""

    languages = ("python", "cython", "notebook")
    self_names = ("self",)
    self_type_names = ("cls", "Self")
    super_names = ("super",)
    constructor_names = ("__init__", "__new__")
    builtins = frozenset(dir(builtins))
    wrapper_types = read_names("python", "wrapper_types")
    collection_types = read_names("python", "collection_types")  # fmt: skip
    metatypes = frozenset({"type", "Type"})
    has_implicit_receiver = False
    hides_class_scope = True
    calling_members = ("__call__",)
    common_methods: ClassVar[frozenset[str]] = frozenset(
        name for kind in (str, bytes, list, dict, set, tuple, int, float, object) for name in dir(kind)
    ) | {
        "close", "flush", "group", "match", "next", "open", "put", "read", "recv", "run", "search", "seek", "send", "start",
        "stop", "write",
    }  # fmt: skip

    def resolve_module(self, file: int, module: str) -> Referent | None:
        """Return the module of a dotted name, relative to a file's package if it starts with dots."""
        name = module.lstrip(".")
        dot_count = len(module) - len(name)
        for part in name.split("."):
            self.program.record_key(f"module:{part}")
        if dot_count:
            folder = self.program.rows[file].path.rpartition("/")[0].split("/")
            if dot_count - 1 > len([part for part in folder if part]):
                return None
            base = folder[: len(folder) - dot_count + 1]
            path = "/".join([*filter(None, base), *filter(None, name.split("."))])
            self.program.record_key(f"folder:{path}")  # it may become a package
            return self._find_module_at(path)
        return self._resolve_absolute(file, name) or Referent("external", name=name)

    def find_submodule(self, file: int, name: str) -> Referent | None:
        """Return a module of a package, given the package's ``__init__`` file."""
        self.program.record_key(f"module:{name}")
        path = self.program.rows[file].path
        folder, _, filename = path.rpartition("/")
        return (
            self._find_module_at(f"{folder}/{name}" if folder else name) if filename.startswith(_PACKAGE_FILE) else None
        )

    def find_package_member(self, resolver: ResolutionQueries, package: str, name: str) -> Referent | None:
        """Return a module of a namespace package."""
        self.program.record_key(f"module:{name}")
        return self._find_module_at(f"{package}/{name}")

    def resolve_import(self, resolver: ResolutionQueries, file: int, import_: Import) -> Referent | None:
        """Return the referent of an import; ``from . import x`` in an ``__init__`` file imports the submodule ``x``."""
        if import_.name and self.resolve_module(file, import_.module) == Referent("module", file):
            return self.find_submodule(file, import_.name)
        return super().resolve_import(resolver, file, import_)

    def is_property(self, definition: Definition) -> bool:
        """Return whether a method is a property."""
        return "property" in definition.modifiers

    def _resolve_absolute(self, file: int, name: str) -> Referent | None:
        """Return the module of a name below any root, the nearest to the importing file first."""
        tail = name.replace(".", "/")
        last_name = tail.rpartition("/")[2]
        modules = [
            candidate
            for candidate in self._files_by_name.get(last_name, ())
            if self._is_at_root(file, self._module_paths[candidate], tail)
        ]
        if modules:
            own_parts = self.program.rows[file].path.split("/")
            paths = {candidate: self.program.rows[candidate].path.split("/") for candidate in modules}
            return Referent(
                "module",
                max(modules, key=lambda candidate: (_count_shared_folders(own_parts, paths[candidate]), -candidate)),
            )
        folders = (
            candidate
            for candidate in self._folders_by_name.get(last_name, ())
            if self._is_at_root(file, candidate, tail)
        )
        folder = next(folders, None)
        return Referent("package", file, name=folder) if folder is not None else None

    def _is_at_root(self, file: int, path: str, tail: str) -> bool:
        """Return whether a path ends with a module's path, and the rest is a root for the imports of a file.

        A root is a folder that is not a package. A name of one part is common among external packages: it is searched only
        around the importing file and in usual source folders. A name of the standard library refers to the library.
        """
        if path != tail and not path.endswith(f"/{tail}"):
            return False
        root = path[: -len(tail)].rstrip("/")
        self.program.record_key(f"folder:{root}")
        prefix = f"{root}/" if root else ""
        if root and f"{prefix}{_PACKAGE_FILE}" in self._package_files:
            return False
        is_marked = any(f"{prefix}{file_name}" in self.program.file_by_path for file_name in _PROJECT_FILES)
        is_usual = is_marked or root.rpartition("/")[2] in _SOURCE_FOLDERS
        first_name, _, rest = tail.partition("/")
        if first_name in sys.stdlib_module_names:
            return f"{prefix}os" in self._files_by_module_path or (bool(rest) and (not root or is_usual))
        return bool(rest) or is_usual or self.program.rows[file].path.startswith(prefix)

    def _find_module_at(self, path: str) -> Referent | None:
        file = self._files_by_module_path.get(path)
        if file is not None:
            return Referent("module", file)
        return Referent("package", self._any_file, name=path) if path in self._folders else None

    @cached_property
    def _package_files(self) -> frozenset[str]:
        return frozenset(
            row.path.rpartition(".")[0]
            for row in self.program.rows
            if row.path.rpartition("/")[2].startswith(f"{_PACKAGE_FILE}.")
        )

    @cached_property
    def _files_by_module_path(self) -> dict[str, int]:
        """File of each module path without suffix; a package has the path of its folder. Sources win over stubs."""
        files: dict[str, int] = {}
        for file, path in self._module_paths.items():
            if path not in files or self.program.rows[files[path]].path.endswith(".pyi"):
                files[path] = file
        return files

    @cached_property
    def _module_paths(self) -> dict[int, str]:
        paths = {}
        for file, row in enumerate(self.program.rows):
            if row.language in self.languages and row.path.endswith(_SUFFIXES):
                stem = row.path.rpartition(".")[0]
                paths[file] = stem.removesuffix(f"/{_PACKAGE_FILE}")
        return paths

    @cached_property
    def _files_by_name(self) -> dict[str, list[int]]:
        files: dict[str, list[int]] = defaultdict(list)
        for file in self._files_by_module_path.values():
            files[self._module_paths[file].rpartition("/")[2]].append(file)
        return dict(files)

    @cached_property
    def _folders(self) -> frozenset[str]:
        """Folders with modules at any depth."""
        folders: set[str] = set()
        for path in self._files_by_module_path:
            parts = path.split("/")[:-1]
            folders.update("/".join(parts[:length]) for length in range(1, len(parts) + 1))
        return frozenset(folders)

    @cached_property
    def _folders_by_name(self) -> dict[str, list[str]]:
        """Folders by name, nearest to the root first."""
        folders: dict[str, list[str]] = defaultdict(list)
        for path in sorted(self._folders, key=lambda path: (path.count("/"), path)):
            folders[path.rpartition("/")[2]].append(path)
        return dict(folders)

    @cached_property
    def _any_file(self) -> int:
        return next(iter(self._module_paths), 0)


def _count_shared_folders(parts: Sequence[str], other_parts: Sequence[str]) -> int:
    """Return the number of leading folders that two paths share."""
    return next(
        (n for n, (a, b) in enumerate(zip(parts, other_parts, strict=False)) if a != b),
        min(len(parts), len(other_parts)),
    )
