"""Rust: which file is which module, and which folder is which crate."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

from coderag.codegraph.linking.meanings import Meaning
from coderag.codegraph.linking.program import MODULE, Program

_ROOTS: Final = ("lib", "main")
_FOLDERS_OF_ROOTS: Final = frozenset({"tests", "examples", "benches", "bin"})
_DEEPEST: Final = 12  # imports that lead from one to the next


class Modules:
    """The modules of a program's Rust files.

    Args:
        program: All files.
    """

    def __init__(self, program: Program) -> None:
        self._program = program

    def find(self, file: int, path: Sequence[str], depth: int = _DEEPEST) -> Meaning | None:
        """Return the module, or the type, that a path means in a file; external if it is that of a crate outside."""
        found = self._first(file, path[0], depth)
        if found is None:
            return Meaning("external", name=".".join(path))
        for part in path[1:]:
            found = self._inside(found, part, depth) if found is not None else None
        return found

    def parent(self, file: int) -> int | None:
        """Return the file of the module around a file's; None for the root of a crate."""
        return self._program.remembered("rust parent", file, lambda: self._parent(file))

    def _parent(self, file: int) -> int | None:
        folder, stem = self._place(file)
        if stem in _ROOTS and folder.rpartition("/")[2] not in _FOLDERS_OF_ROOTS:
            return None
        if stem == "mod":
            folder, _, stem = folder.rpartition("/")
        candidates = [f"{folder}/{name}".lstrip("/") for name in ("mod", *_ROOTS)]
        for candidate in [*candidates, folder]:
            other = self._at(candidate)
            if other is not None and other != file and self._declares(other, stem):
                return other
        return None

    def root(self, file: int) -> int:
        """Return the file in which a file's crate begins."""
        seen = {file}
        while (above := self.parent(file)) is not None and above not in seen:
            seen.add(above)
            file = above
        return file

    def crate(self, file: int, name: str) -> int | None:
        """Return the first file of a library in the repository, by the name that a file's crate has for it."""
        folder = self.crate_folder(file)
        renamed = self._dependencies.get(folder, {}).get(name)
        if renamed is not None:
            return self._library(renamed)
        folders = self._crates.get(name, ())
        near = sorted(folders, key=lambda one: (-_shared(one, self._program.rows[file].path), one))
        return next((found for one in near if (found := self._library(one)) is not None), None)

    def crate_folder(self, file: int) -> str:
        """Return the folder of the nearest ``Cargo.toml`` above a file; the repository's own without one."""
        folder = self._program.rows[file].path.rpartition("/")[0]
        while folder and folder not in self._packages:
            folder = folder.rpartition("/")[0]
        return folder

    def _first(self, file: int, name: str, depth: int) -> Meaning | None:
        if name == "crate":
            return Meaning("module", self.root(file))
        if name == "self":
            return Meaning("module", file)
        if name == "super":
            above = self.parent(file)
            return None if above is None else Meaning("module", above)
        inside = self._inside(Meaning("module", file), name, depth)
        if inside is not None:
            return inside
        library = self.crate(file, name)
        return None if library is None else Meaning("module", library)

    def _inside(self, found: Meaning, name: str, depth: int) -> Meaning | None:
        """Return a module or type in a module."""
        if found.kind not in ("module", "definition"):
            return found if found.kind == "external" else None
        if name == "super" and found.kind == "module":
            above = self.parent(found.file)
            return None if above is None else Meaning("module", above)
        interface = self._program.interface(found.file)
        scope = MODULE if found.kind == "module" else found.index
        if declared := interface.children.get(scope, {}).get(name):
            return Meaning("definition", found.file, declared[0])
        for one in interface.imports.get((scope, name), ()):
            if one.module == f"self.{name}" and not one.name:
                return self._child(found.file, name)
            if depth:
                return self.find(found.file, [*one.module.split("."), *([one.name] if one.name else [])], depth - 1)
        return None

    def _child(self, file: int, name: str) -> Meaning | None:
        """Return the module of a name whose text is another file."""
        folder, stem = self._place(file)
        beside = stem in ("mod", *_ROOTS) or folder.rpartition("/")[2] in _FOLDERS_OF_ROOTS
        for place in [f"{folder}/{stem}", *([folder] if beside else [])]:
            for path in (f"{place}/{name}", f"{place}/{name}/mod"):
                if (other := self._at(path.lstrip("/"))) is not None:
                    return Meaning("module", other)
        return None

    def _declares(self, file: int, name: str) -> bool:
        return any(
            one.module == f"self.{name}" for one in self._program.interface(file).imports.get((MODULE, name), ())
        )

    def _place(self, file: int) -> tuple[str, str]:
        folder, _, filename = self._program.rows[file].path.rpartition("/")
        return folder, filename.removesuffix(".rs")

    def _at(self, path: str) -> int | None:
        """Return the file of a path without its ending."""
        self._program.note(f"path:{path}.rs")
        return self._program.file_of.get(f"{path}.rs")

    def _library(self, folder: str) -> int | None:
        path = self._packages.get(folder, {}).get("lib", {}).get("path", "src/lib.rs")
        return self._at(f"{folder}/{path}".lstrip("/").removesuffix(".rs"))

    @cached_property
    def _packages(self) -> dict[str, dict[str, Any]]:
        """What the ``Cargo.toml`` of a package says, by folder."""
        return {
            path.rpartition("/")[0]: values
            for path, values in self._program.settings.items()
            if path.endswith("Cargo.toml") and "package" in values
        }

    @cached_property
    def _crates(self) -> dict[str, list[str]]:
        """The folders of the libraries by name."""
        found: dict[str, list[str]] = {}
        for folder, values in self._packages.items():
            name = values.get("lib", {}).get("name") or values["package"].get("name", "")
            found.setdefault(str(name).replace("-", "_"), []).append(folder)
        return found

    @cached_property
    def _dependencies(self) -> dict[str, dict[str, str]]:
        """For each package, the folders of its dependencies that are in the repository, by the name they have in it."""
        found: dict[str, dict[str, str]] = {}
        for folder, values in self._packages.items():
            for name, one in values.get("dependencies", {}).items():
                if isinstance(one, dict) and isinstance(one.get("path"), str):
                    target = _joined(folder, one["path"])
                    if target in self._packages:
                        found.setdefault(folder, {})[name.replace("-", "_")] = target
        return found


def _joined(folder: str, relative: str) -> str:
    parts = [part for part in folder.split("/") if part]
    for part in relative.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _shared(folder: str, path: str) -> int:
    """Return how many folders two paths have in common."""
    pairs = zip(folder.split("/"), path.split("/"), strict=False)
    return next((n for n, (one, other) in enumerate(pairs) if one != other), 99)
