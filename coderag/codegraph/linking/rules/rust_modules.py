"""Rust modules and crates: the file of a module and the folder of a crate."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

from coderag.codegraph.linking.program import MODULE, Program
from coderag.codegraph.linking.referents import Referent

_CRATE_ROOT_STEMS: Final = ("lib", "main")
_CRATE_ROOT_FOLDERS: Final = frozenset({"tests", "examples", "benches", "bin"})
_MAX_IMPORT_DEPTH: Final = 12  # length of a chain of imports


class RustModules:
    """Resolves the modules of a program's Rust files.

    Args:
        program: All files.
    """

    def __init__(self, program: Program) -> None:
        self._program = program

    def resolve_path(self, file: int, path: Sequence[str], depth: int = _MAX_IMPORT_DEPTH) -> Referent | None:
        """Return the module or type of a path in a file; external if it is in an external crate."""
        referent = self._resolve_first(file, path[0], depth)
        if referent is None:
            return Referent("external", name=".".join(path))
        for part in path[1:]:
            referent = self._resolve_nested(referent, part, depth) if referent is not None else None
        return referent

    def find_parent(self, file: int) -> int | None:
        """Return the file of the parent module; None for a crate root."""
        return self._program.memoize("rust parent", file, lambda: self._find_parent(file))

    def _find_parent(self, file: int) -> int | None:
        folder, stem = self._split_path(file)
        if stem in _CRATE_ROOT_STEMS and folder.rpartition("/")[2] not in _CRATE_ROOT_FOLDERS:
            return None
        if stem == "mod":
            folder, _, stem = folder.rpartition("/")
        candidates = [f"{folder}/{name}".lstrip("/") for name in ("mod", *_CRATE_ROOT_STEMS)]
        for candidate in [*candidates, folder]:
            parent_file = self._find_file(candidate)
            if parent_file is not None and parent_file != file and self._has_module(parent_file, stem):
                return parent_file
        return None

    def find_crate_root(self, file: int) -> int:
        """Return the root file of a file's crate."""
        visited = {file}
        while (parent := self.find_parent(file)) is not None and parent not in visited:
            visited.add(parent)
            file = parent
        return file

    def find_crate(self, file: int, name: str) -> int | None:
        """Return the root file of a library of the repository, by its name in a file's crate."""
        folder = self.find_crate_folder(file)
        dependency_folder = self._dependencies.get(folder, {}).get(name)
        if dependency_folder is not None:
            return self._find_library(dependency_folder)
        folders = self._folders_by_crate.get(name, ())
        nearest_folders = sorted(
            folders, key=lambda candidate: (-_count_shared_folders(candidate, self._program.rows[file].path), candidate)
        )
        return next(
            (library for candidate in nearest_folders if (library := self._find_library(candidate)) is not None), None
        )

    def find_crate_folder(self, file: int) -> str:
        """Return the folder of the nearest ``Cargo.toml`` above a file, or the repository root."""
        folder = self._program.rows[file].path.rpartition("/")[0]
        while folder and folder not in self._packages:
            folder = folder.rpartition("/")[0]
        return folder

    def _resolve_first(self, file: int, name: str, depth: int) -> Referent | None:
        if name == "crate":
            return Referent("module", self.find_crate_root(file))
        if name == "self":
            return Referent("module", file)
        if name == "super":
            parent = self.find_parent(file)
            return None if parent is None else Referent("module", parent)
        nested = self._resolve_nested(Referent("module", file), name, depth)
        if nested is not None:
            return nested
        library = self.find_crate(file, name)
        return None if library is None else Referent("module", library)

    def _resolve_nested(self, container: Referent, name: str, depth: int) -> Referent | None:
        """Return a module or type in a module."""
        if container.kind not in ("module", "definition"):
            return container if container.kind == "external" else None
        if name == "super" and container.kind == "module":
            parent = self.find_parent(container.file)
            return None if parent is None else Referent("module", parent)
        interface = self._program.read_interface(container.file)
        scope = MODULE if container.kind == "module" else container.index
        if indices := interface.children.get(scope, {}).get(name):
            return Referent("definition", container.file, indices[0])
        for import_ in interface.imports.get((scope, name), ()):
            if import_.module == f"self.{name}" and not import_.name:
                return self._find_child(container.file, name)
            if depth:
                return self.resolve_path(
                    container.file, [*import_.module.split("."), *([import_.name] if import_.name else [])], depth - 1
                )
        return None

    def _find_child(self, file: int, name: str) -> Referent | None:
        """Return the child module of a name that is in a file of its own."""
        folder, stem = self._split_path(file)
        owns_folder = stem in ("mod", *_CRATE_ROOT_STEMS) or folder.rpartition("/")[2] in _CRATE_ROOT_FOLDERS
        for child_folder in [f"{folder}/{stem}", *([folder] if owns_folder else [])]:
            for path in (f"{child_folder}/{name}", f"{child_folder}/{name}/mod"):
                if (child_file := self._find_file(path.lstrip("/"))) is not None:
                    return Referent("module", child_file)
        return None

    def _has_module(self, file: int, name: str) -> bool:
        return any(
            import_.module == f"self.{name}"
            for import_ in self._program.read_interface(file).imports.get((MODULE, name), ())
        )

    def _split_path(self, file: int) -> tuple[str, str]:
        folder, _, filename = self._program.rows[file].path.rpartition("/")
        return folder, filename.removesuffix(".rs")

    def _find_file(self, path: str) -> int | None:
        """Return the file of a path without extension."""
        self._program.record_key(f"path:{path}.rs")
        return self._program.file_by_path.get(f"{path}.rs")

    def _find_library(self, folder: str) -> int | None:
        path = self._packages.get(folder, {}).get("lib", {}).get("path", "src/lib.rs")
        return self._find_file(f"{folder}/{path}".lstrip("/").removesuffix(".rs"))

    @cached_property
    def _packages(self) -> dict[str, dict[str, Any]]:
        """Settings of each package's ``Cargo.toml``, by folder."""
        return {
            path.rpartition("/")[0]: values
            for path, values in self._program.settings.items()
            if path.endswith("Cargo.toml") and "package" in values
        }

    @cached_property
    def _folders_by_crate(self) -> dict[str, list[str]]:
        """Folders of libraries by name."""
        folders_by_crate: dict[str, list[str]] = {}
        for folder, values in self._packages.items():
            name = values.get("lib", {}).get("name") or values["package"].get("name", "")
            folders_by_crate.setdefault(str(name).replace("-", "_"), []).append(folder)
        return folders_by_crate

    @cached_property
    def _dependencies(self) -> dict[str, dict[str, str]]:
        """Folders of each package's dependencies in the repository, by their name in the package."""
        folders_by_name: dict[str, dict[str, str]] = {}
        for folder, values in self._packages.items():
            for name, dependency in values.get("dependencies", {}).items():
                if isinstance(dependency, dict) and isinstance(dependency.get("path"), str):
                    target = _join_path(folder, dependency["path"])
                    if target in self._packages:
                        folders_by_name.setdefault(folder, {})[name.replace("-", "_")] = target
        return folders_by_name


def _join_path(folder: str, relative: str) -> str:
    parts = [part for part in folder.split("/") if part]
    for part in relative.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _count_shared_folders(folder: str, path: str) -> int:
    """Return the number of leading folders that two paths share."""
    pairs = zip(folder.split("/"), path.split("/"), strict=False)
    return next((n for n, (part, other_part) in enumerate(pairs) if part != other_part), 99)
