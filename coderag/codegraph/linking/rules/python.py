"""Python: modules by their dotted names, from the roots that ``sys.path`` would have."""

import builtins
import sys
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from coderag.codegraph.linking.meanings import Meaning
from coderag.codegraph.linking.rules.base import Rules
from coderag.schema.facts import Definition, Import

if TYPE_CHECKING:
    from coderag.codegraph.linking.resolver import Resolver

_SUFFIXES = (".py", ".pyi", ".pyx", ".pyw", ".ipynb")
_PACKAGE_FILE = "__init__"
_SOURCE_FOLDERS = frozenset({"src", "source", "lib", "python", "Lib"})
_MARKERS = ("pyproject.toml", "setup.py", "setup.cfg")
"""What lies beside the packages of a distribution."""


class PythonRules(Rules):
    """Python, its stubs and notebooks."""

    languages = ("python", "cython", "notebook")
    instance_names = ("self",)
    type_names = ("cls", "Self")
    base_names = ("super",)
    constructors = ("__init__", "__new__")
    builtins = frozenset(dir(builtins))
    wrappers = frozenset(
        {"Optional", "Annotated", "Final", "ClassVar", "Required", "NotRequired", "Awaitable", "Coroutine", "Union"}
    )
    collections = frozenset(
        {
            "list", "List", "set", "Set", "frozenset", "FrozenSet", "tuple", "Tuple", "Sequence", "MutableSequence", "Iterable",
            "Iterator", "AsyncIterator", "AsyncIterable", "Generator", "AsyncGenerator", "Collection", "deque", "Deque", "dict",
            "Dict", "Mapping", "MutableMapping", "defaultdict", "DefaultDict", "OrderedDict",
        }
    )  # fmt: skip
    type_of = frozenset({"type", "Type"})
    members_in_scope = False
    scope_hides_types = True
    common_methods: ClassVar[frozenset[str]] = frozenset(
        name for kind in (str, bytes, list, dict, set, tuple, int, float, object) for name in dir(kind)
    ) | {
        "close", "flush", "group", "match", "next", "open", "put", "read", "recv", "run", "search", "seek", "send", "start",
        "stop", "write",
    }  # fmt: skip

    def module(self, file: int, module: str) -> Meaning | None:
        """Return the module of a dotted name, relative to a file's package if it begins with dots."""
        name = module.lstrip(".")
        dots = len(module) - len(name)
        for part in name.split("."):
            self.program.note(f"module:{part}")
        if dots:
            folder = self.program.rows[file].path.rpartition("/")[0].split("/")
            if dots - 1 > len([part for part in folder if part]):
                return None
            base = folder[: len(folder) - dots + 1]
            path = "/".join([*filter(None, base), *filter(None, name.split("."))])
            self.program.note(f"folder:{path}")  # it may become a package
            return self._at(path)
        return self._absolute(file, name) or Meaning("external", name=name)

    def submodule(self, file: int, name: str) -> Meaning | None:
        """Return a module of a package, given the package's own file."""
        self.program.note(f"module:{name}")
        path = self.program.rows[file].path
        folder, _, filename = path.rpartition("/")
        return self._at(f"{folder}/{name}" if folder else name) if filename.startswith(_PACKAGE_FILE) else None

    def member_of_package(self, resolver: "Resolver", package: str, name: str) -> Meaning | None:
        """Return a module of a folder without a file of its own."""
        self.program.note(f"module:{name}")
        return self._at(f"{package}/{name}")

    def imported(self, resolver: "Resolver", file: int, one: Import) -> Meaning | None:
        """Return what an import brings; ``from . import x`` in a package's own file brings its module ``x``."""
        if one.name and self.module(file, one.module) == Meaning("module", file):
            return self.submodule(file, one.name)
        return super().imported(resolver, file, one)

    def is_property(self, definition: Definition) -> bool:
        """Return whether a method is a property."""
        return "property" in definition.modifiers

    def _absolute(self, file: int, name: str) -> Meaning | None:
        """Return the module that a name means from any root, the one nearest to the importing file first."""
        tail = name.replace(".", "/")
        last = tail.rpartition("/")[2]
        modules = [
            one for one in self._by_tail.get(last, ()) if self._begins_at_root(file, self._module_paths[one], tail)
        ]
        if modules:
            own = self.program.rows[file].path.split("/")
            paths = {one: self.program.rows[one].path.split("/") for one in modules}
            return Meaning("module", max(modules, key=lambda one: (_shared(own, paths[one]), -one)))
        folders = (one for one in self._folders_by_tail.get(last, ()) if self._begins_at_root(file, one, tail))
        folder = next(folders, None)
        return Meaning("package", file, name=folder) if folder is not None else None

    def _begins_at_root(self, file: int, path: str, tail: str) -> bool:
        """Return whether a path ends with a module's, and what is before it is where a file's imports may begin.

        That is a folder which is no package itself. A name in one part is that of many a package outside: it is looked for
        around the importing file and where sources usually are. A name of the standard library is the library's.
        """
        if path != tail and not path.endswith(f"/{tail}"):
            return False
        root = path[: -len(tail)].rstrip("/")
        self.program.note(f"folder:{root}")
        inside = f"{root}/" if root else ""
        if root and f"{inside}{_PACKAGE_FILE}" in self._package_files:
            return False
        is_marked = any(f"{inside}{one}" in self.program.file_of for one in _MARKERS)
        is_usual = is_marked or root.rpartition("/")[2] in _SOURCE_FOLDERS
        first, _, rest = tail.partition("/")
        if first in sys.stdlib_module_names:
            return f"{inside}os" in self._modules or (bool(rest) and (not root or is_usual))
        return bool(rest) or is_usual or self.program.rows[file].path.startswith(inside)

    def _at(self, path: str) -> Meaning | None:
        file = self._modules.get(path)
        if file is not None:
            return Meaning("module", file)
        return Meaning("package", self._any_file, name=path) if path in self._folders else None

    @cached_property
    def _package_files(self) -> frozenset[str]:
        return frozenset(
            row.path.rpartition(".")[0]
            for row in self.program.rows
            if row.path.rpartition("/")[2].startswith(f"{_PACKAGE_FILE}.")
        )

    @cached_property
    def _modules(self) -> dict[str, int]:
        """The file of each module's path without suffix; a package's is its folder's. Sources win over stubs."""
        found: dict[str, int] = {}
        for file, path in self._module_paths.items():
            if path not in found or self.program.rows[found[path]].path.endswith(".pyi"):
                found[path] = file
        return found

    @cached_property
    def _module_paths(self) -> dict[int, str]:
        paths = {}
        for file, row in enumerate(self.program.rows):
            if row.language in self.languages and row.path.endswith(_SUFFIXES):
                stem = row.path.rpartition(".")[0]
                paths[file] = stem.removesuffix(f"/{_PACKAGE_FILE}")
        return paths

    @cached_property
    def _by_tail(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for file in self._modules.values():
            found[self._module_paths[file].rpartition("/")[2]].append(file)
        return dict(found)

    @cached_property
    def _folders(self) -> frozenset[str]:
        """Folders with modules in them or below."""
        found: set[str] = set()
        for path in self._modules:
            parts = path.split("/")[:-1]
            found.update("/".join(parts[:length]) for length in range(1, len(parts) + 1))
        return frozenset(found)

    @cached_property
    def _folders_by_tail(self) -> dict[str, list[str]]:
        """The same by their names, nearest to the root first."""
        found: dict[str, list[str]] = defaultdict(list)
        for path in sorted(self._folders, key=lambda path: (path.count("/"), path)):
            found[path.rpartition("/")[2]].append(path)
        return dict(found)

    @cached_property
    def _any_file(self) -> int:
        return next(iter(self._module_paths), 0)


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many folders two paths have in common."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
