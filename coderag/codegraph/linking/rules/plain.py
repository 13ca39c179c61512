"""Languages without rules of their own: a sound, simple tier.

A name is bound in its file, in the files that this one imports by path, and in files that a language takes for the same one (a
header and its source) or the same package (a folder); a method besides by a receiver whose type is told. Never further.
"""

import posixpath
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from coderag.codegraph.linking.import_paths import ImportResolver
from coderag.codegraph.linking.meanings import SURENESS, Meaning
from coderag.codegraph.linking.program import Program
from coderag.codegraph.linking.rules.base import Rules
from coderag.schema.facts import Definition

if TYPE_CHECKING:
    from coderag.codegraph.linking.resolver import Resolver

_WITH_HEADERS = frozenset({"c", "cpp", "objective_c"})
_BY_FOLDER = frozenset({"kotlin", "scala", "swift", "groovy", "dart", "terraform", "protobuf", "php"})


class PlainRules(Rules):
    """All languages that have no others."""

    instance_names = ("self", "this", "me")
    type_names = ("Self", "static")
    base_names = ("super", "parent")
    common_methods = frozenset(
        {
            "add", "append", "apply", "at", "begin", "call", "clear", "close", "contains", "copy", "count", "data", "delete",
            "each", "empty", "end", "equals", "erase", "filter", "find", "first", "flush", "format", "get", "insert", "invoke",
            "join", "keys", "last", "length", "map", "merge", "new", "next", "open", "pop", "push", "push_back", "put", "read",
            "remove", "replace", "reset", "run", "select", "send", "set", "size", "sort", "split", "start", "stop", "str",
            "swap", "to_s", "toString", "trim", "update", "values", "write",
        }
    )  # fmt: skip

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._by_folder: dict[tuple[str, str], dict[str, list[tuple[int, int]]]] = {}

    def module(self, file: int, module: str) -> Meaning | None:
        """Return the file that an import means by its path, or something external."""
        for part in _parts(module):
            self.program.note(f"module:{part}")
        language = self.program.rows[file].language
        if language == "php" and (autoloaded := self._autoloaded(module)) is not None:
            return Meaning("module", autoloaded)
        found = self._paths.resolve(file, module, by_name=language in _WITH_HEADERS)
        if len(found) == 1:
            return Meaning("module", found[0])
        is_path = module.lstrip("\"'").startswith((".", "/"))
        return None if found or is_path else Meaning("external", name=module)

    def package_of(self, name: str) -> str:
        """Return what is imported as it is written: what part of it is the package differs."""
        return name

    def in_package_scope(self, resolver: "Resolver", file: int, name: str) -> Meaning | None:
        """Return what the files that a file sees declare by a name, if it is one thing."""
        found = [declared for other in self._seen(file) if (declared := self._declared(other, name)) is not None]
        if len(found) == 1 or (found and self.program.rows[file].language in _WITH_HEADERS):
            return found[-1].by("import", SURENESS["import"])
        beside = [(other, index) for other, index in self._beside(file, name) if other != file]
        return Meaning("definition", *beside[0], "", "package", SURENESS["package"]) if len(beside) == 1 else None

    def owner_types(self, resolver: "Resolver", file: int, definition: Definition) -> Sequence[tuple[int, int]]:
        """Return the type that qualifies a definition: ``Foo`` of ``Foo::bar``."""
        if not definition.owner:
            return ()
        name = definition.owner.replace("::", ".").rpartition(".")[2]
        found = self._declared(file, name) or self.in_package_scope(resolver, file, name)
        if found is None or found.kind != "definition":
            return ()
        return [(found.file, found.index)]

    def outside_members(self, resolver: "Resolver", file: int, index: int, name: str) -> Sequence[tuple[int, int]]:
        """Return members of a type that its file, or the source beside its header, defines outside of it."""
        own = self.program.definition(file, index).name
        return [
            (other, found)
            for other in (file, *self._halves(file))
            for owner, members in self.program.interface(other).owned.items()
            if owner.replace("::", ".").rpartition(".")[2] == own
            for found in members.get(name, ())
        ]

    def also_seen(self, file: int) -> Sequence[int]:
        """Return what a file's imports lead to."""
        return self._seen(file)

    def _declared(self, file: int, name: str) -> Meaning | None:
        """Return what a file declares by a name, at its top or in its namespaces."""
        found = self.program.interface(file).top.get(name)
        return None if found is None else Meaning("definition", file, found)

    def _seen(self, file: int) -> list[int]:
        """Return the files that a file imports, and the sources beside those that are headers."""
        return self.program.remembered("seen", file, lambda: self._find_seen(file))

    def _find_seen(self, file: int) -> list[int]:
        found: dict[int, None] = {}
        for one in self.program.interface(file).facts.imports:
            target = self.module(file, one.module)
            if target is not None and target.kind == "module":
                found.update(dict.fromkeys((target.file, *self._halves(target.file))))
        found.update(dict.fromkeys(self._halves(file)))
        found.pop(file, None)
        return list(found)

    def _halves(self, file: int) -> Iterator[int]:
        """Yield the files of a C-like language that have a file's name and another extension: a header and its source."""
        row = self.program.rows[file]
        if row.language in _WITH_HEADERS:
            stem = _stem(row.path)
            self.program.note(f"module:{stem}")
            yield from (other for other in self._by_stem[stem] if other != file)

    def _beside(self, file: int, name: str) -> Sequence[tuple[int, int]]:
        """Return what the files of one folder declare by a name, in languages in which a folder is a package."""
        row = self.program.rows[file]
        if row.language not in _BY_FOLDER:
            return ()
        folder = row.path.rpartition("/")[0]
        self.program.note(f"in:{folder}:{name}")
        key = folder, row.language
        if key not in self._by_folder:
            declared = self._by_folder[key] = {}
            for other in self._files_of_folders[key]:
                for own, index in self.program.peek(other).top.items():
                    declared.setdefault(own, []).append((other, index))
        return self._by_folder[key].get(name, ())

    def _autoloaded(self, name: str) -> int | None:
        """Return the file of a PHP class by the longest namespace that ``composer.json`` gives a folder."""
        for namespace, folder in self._folders_of_namespaces:
            if name.startswith(namespace):
                path = posixpath.normpath(posixpath.join(folder, name[len(namespace) :].replace("\\", "/") + ".php"))
                if path in self.program.file_of:
                    return self.program.file_of[path]
        return None

    @cached_property
    def _folders_of_namespaces(self) -> list[tuple[str, str]]:
        """Namespaces of PHP and their folders, the longest first."""
        found = []
        for path, settings in self.program.settings.items():
            for section in ("autoload", "autoload-dev"):
                told = settings.get(section, {}).get("psr-4")
                for namespace, folders in told.items() if isinstance(told, Mapping) else ():
                    names = folders if isinstance(folders, list) else [folders]
                    found += [(namespace, posixpath.join(posixpath.dirname(path), str(name))) for name in names]
        return sorted(found, key=lambda one: (-len(one[0]), one))

    @cached_property
    def _paths(self) -> ImportResolver:
        return ImportResolver([row.path for row in self.program.rows])

    @cached_property
    def _by_stem(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for file, row in enumerate(self.program.rows):
            if row.language in _WITH_HEADERS:
                found[_stem(row.path)].append(file)
        return found

    @cached_property
    def _files_of_folders(self) -> dict[tuple[str, str], list[int]]:
        found: dict[tuple[str, str], list[int]] = defaultdict(list)
        for file, row in enumerate(self.program.rows):
            if row.language in _BY_FOLDER:
                found[row.path.rpartition("/")[0], row.language].append(file)
        return found


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]


def _parts(module: str) -> Iterator[str]:
    """Yield the names in an import, without extensions."""
    for part in module.replace("::", "/").replace("\\", "/").split("/"):
        yield from filter(None, part.split("."))
