"""Go: packages by folder, found by the modules that the repository's ``go.mod`` files name."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from coderag.codegraph.linking.meanings import SURENESS, Meaning
from coderag.codegraph.linking.program import MODULE
from coderag.codegraph.linking.rules.base import Rules
from coderag.codegraph.linking.rules.go_interfaces import Interfaces
from coderag.schema.facts import Definition

if TYPE_CHECKING:
    from coderag.codegraph.linking.resolver import Resolver

_VERSION = re.compile(r"[/.]v\d+$")
_HOSTS_OF_USERS: Final = frozenset({"github.com", "gitlab.com", "bitbucket.org", "golang.org"})
_USUAL_PLATFORM: Final = re.compile(r"_(?:unix|posix|linux|amd64)\.go$")
_OTHER_PLATFORMS: Final = re.compile(
    r"_(?:windows|darwin|freebsd|netbsd|openbsd|dragonfly|solaris|illumos|aix|plan9|js|wasip1|wasm|android|ios|zos|appengine"
    r"|386|arm|arm64|ppc64|ppc64le|mips|mipsle|mips64|mips64le|s390x|riscv64|loong64|other|stub|fallback|generic|noasm|non\w+|no\w+)\.go$"
)


class _Package(NamedTuple):
    """The declarations of the files of one folder with one package clause.

    Attributes:
        files: Files that an import of the package brings; those with tests are last.
        names: What is declared at the top, by name, as (file, index).
        methods: Methods by their receiver's type and their name.
    """

    files: Sequence[int]
    names: Mapping[str, tuple[int, int]]
    methods: Mapping[str, Mapping[str, tuple[int, int]]]


class GoRules(Rules):
    """Go."""

    languages = ("go",)
    instance_names = ()
    base_names = ()
    members_in_scope = False
    types_are_declared = True
    builtins = frozenset(
        {
            "any", "append", "bool", "byte", "cap", "clear", "close", "comparable", "complex", "complex64",
            "complex128", "copy", "delete", "error", "false", "float32", "float64", "imag", "int", "int8", "int16",
            "int32", "int64", "iota", "len", "make", "max", "min", "new", "nil", "panic", "print", "println", "real",
            "recover", "rune", "string", "true", "uint", "uint8", "uint16", "uint32", "uint64", "uintptr",
        }
    )  # fmt: skip
    common_methods: ClassVar[frozenset[str]] = frozenset(
        {
            "Add", "Bytes", "Cancel", "Close", "Code", "Context", "Copy", "Count", "Cleanup", "Delete", "Do", "Done",
            "Equal", "Err", "Error", "Errorf", "Exec", "Fatal", "Fatalf", "Find", "Flush", "Format", "Get", "Handle",
            "Header", "Helper", "Info", "Init", "Int", "IsNil", "IsZero", "Join", "Key", "Kind", "Len", "Less",
            "Load", "Lock", "Log", "Logf", "Marshal", "Match", "Name", "New", "Next", "Open", "Parse", "Path", "Pop",
            "Print", "Printf", "Push", "Put", "Query", "RLock", "RUnlock", "Read", "Remove", "Reset", "Run", "Scan",
            "Seek", "Send", "ServeHTTP", "Set", "Size", "Start", "Status", "Stop", "Store", "String", "Sub", "Swap",
            "Type", "Unlock", "Unmarshal", "Unwrap", "Update", "Value", "Values", "Wait", "Warn", "With", "Write",
            "WriteHeader", "WriteString",
        }
    )  # fmt: skip

    # Modules

    def module(self, file: int, module: str) -> Meaning | None:
        """Return the package in the folder that an import path means."""
        folder = self.program.rows[file].path.rpartition("/")[0]
        return self.program.remembered("go modules", (folder, module), lambda: self._module(folder, module))

    def _module(self, importing: str, module: str) -> Meaning:
        for folder in self._folders_of(importing, module):
            self.program.note(f"folder:{folder}")
            if (package := self._package_of_folder(folder)) is not None:
                return package
        return Meaning("external", name=module)

    def _folders_of(self, importing: str, module: str) -> Iterator[str]:
        """Yield the folders that an import path may mean, the likeliest first."""
        parts = importing.split("/") if importing else []
        above = ["/".join(parts[:length]) for length in range(len(parts), -1, -1)]
        for root in above:
            if (name := self._modules.get(root)) is not None:
                for prefix, folder in [(name, root), *self._replaced[root]]:
                    if (found := _below(module, prefix, folder)) is not None:
                        yield found
                break
        for prefix, folder in self._by_length:
            if (found := _below(module, prefix, folder)) is not None:
                yield found
        if self._vendors:
            yield from (folder for root in above if (folder := f"{root}/vendor/{module}".lstrip("/")) in self._files_in)

    def _package_of_folder(self, folder: str) -> Meaning | None:
        """Return the package that is imported from a folder: that of most of its files, which are no tests."""
        files = [
            file for file in self._files_in.get(folder, ()) if not self.program.rows[file].path.endswith("_test.go")
        ]
        counts = Counter(self.program.rows[file].package for file in files)
        for name in counts:
            self.program.note(f"package:{name}")
        if not counts:
            return None
        name = min(counts, key=lambda one: (one == "main", -counts[one], one))
        first = next(file for file in files if self.program.rows[file].package == name)
        return Meaning("package", first, name=f"{folder}:{name}")

    def files_of(self, package: str) -> Sequence[int]:
        """Return the files of a package."""
        return self._package(package).files

    def package_of(self, name: str) -> str:
        """Return the module of an import path: one that a ``go.mod`` requires, or what its host says."""
        if name in self._package_names:
            return self._package_names[name]
        parts = name.split("/")
        found = name
        if "." in parts[0]:
            required = [module for module in self._required if name == module or name.startswith(f"{module}/")]
            found = max(required, key=len, default="/".join(parts[: 3 if parts[0] in _HOSTS_OF_USERS else 2]))
        self._package_names[name] = found
        return found

    # Names

    def member_of_package(self, resolver: "Resolver", package: str, name: str) -> Meaning | None:
        """Return what a package exports by a name."""
        if not name[:1].isupper():
            return None
        self.program.note(f"name:go:{name}")
        found = self._package(package).names.get(name)
        return Meaning("definition", *found, resolver="import", confidence=SURENESS["import"]) if found else None

    def in_package_scope(self, resolver: "Resolver", file: int, name: str) -> Meaning | None:
        """Return an imported package by the name in its package clause, or what the own package declares."""
        if (imported := self._packages_imported(file).get(name)) is not None:
            return self.module(file, imported)
        self.program.note(f"name:go:{name}")
        found = self._own_package(file).names.get(name)
        return Meaning("definition", *found, resolver="package", confidence=SURENESS["package"]) if found else None

    def owner_types(self, resolver: "Resolver", file: int, definition: Definition) -> Sequence[tuple[int, int]]:
        """Return the type of a method's receiver."""
        if not definition.owner:
            return ()
        self.program.note(f"name:go:{definition.owner}")
        found = self._own_package(file).names.get(definition.owner)
        return (found,) if found else ()

    def outside_members(self, resolver: "Resolver", file: int, index: int, name: str) -> Sequence[tuple[int, int]]:
        """Return a type's method of a name, from any file of its package."""
        definition = self.program.definition(file, index)
        if definition.parent != MODULE:
            return ()
        self.program.note(f"name:go:{name}")
        found = self._own_package(file).methods.get(definition.name, {}).get(name)
        return (found,) if found else ()

    def implemented(self, resolver: "Resolver", file: int, index: int) -> Sequence[Meaning]:
        """Return the interfaces of the repository whose methods a type has."""
        return self._interfaces.implemented(resolver, file, index)

    def methods_of(self, file: int, index: int) -> Mapping[str, tuple[int, int]]:
        """Return the methods that are declared for a type, without those of what it embeds."""
        definition = self.program.definition(file, index)
        self.program.note(f"member:go:{definition.name}")
        return self._own_package(file).methods.get(definition.name, {}) if definition.parent == MODULE else {}

    # Inside

    @cached_property
    def _interfaces(self) -> Interfaces:
        return Interfaces(self.program, self.methods_of)

    def _own_package(self, file: int) -> _Package:
        folder = self.program.rows[file].path.rpartition("/")[0]
        return self._package(f"{folder}:{self.program.rows[file].package}")

    def _package(self, package: str) -> _Package:
        """Return a package by its folder and name; what an external test package sees is only its own."""
        if package not in self._packages:
            folder, _, name = package.rpartition(":")
            files = [file for file in self._files_in.get(folder, ()) if self.program.rows[file].package == name]
            files.sort(key=lambda file: (*_rank(self.program.rows[file].path), file))
            names: dict[str, tuple[int, int]] = {}
            methods: dict[str, dict[str, tuple[int, int]]] = defaultdict(dict)
            for file in files:
                for index, one in enumerate(self.program.peek(file).definitions):
                    if one.parent == MODULE:
                        (methods[one.owner] if one.owner else names).setdefault(one.name, (file, index))
            self._packages[package] = _Package(files, names, methods)
        return self._packages[package]

    def _packages_imported(self, file: int) -> Mapping[str, str]:
        """Return the paths that a file imports without an own name for them, by the package's name."""
        return self.program.remembered("go imports", file, lambda: self._find_packages_imported(file))

    def _find_packages_imported(self, file: int) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for one in self.program.interface(file).facts.imports:
            if not one.alias and not one.name:
                package = self.module(file, one.module)
                is_here = package is not None and package.kind == "package"
                names = [package.name.rpartition(":")[2]] if package and is_here else _likely_names(one.module)
                for name in names:
                    found.setdefault(name, one.module)
        return found

    @cached_property
    def _packages(self) -> dict[str, _Package]:
        return {}

    @cached_property
    def _package_names(self) -> dict[str, str]:
        return {}

    @cached_property
    def _files_in(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for file, row in enumerate(self.program.rows):
            if row.language == "go":
                found[row.path.rpartition("/")[0]].append(file)
        return dict(found)

    @cached_property
    def _modules(self) -> dict[str, str]:
        """The name of the module in each folder that has a ``go.mod``."""
        return {
            path.rpartition("/")[0]: values["go_module"]
            for path, values in self.program.settings.items()
            if "go_module" in values
        }

    @cached_property
    def _replaced(self) -> dict[str, list[tuple[str, str]]]:
        """For each folder with a ``go.mod``, the module names that it puts other folders in place of, longest first."""
        return {
            path.rpartition("/")[0]: sorted(
                (
                    (name, _joined(path.rpartition("/")[0], target))
                    for name, target in values.get("replaced", {}).items()
                ),
                key=lambda pair: -len(pair[0]),
            )
            for path, values in self.program.settings.items()
            if "go_module" in values
        }

    @cached_property
    def _by_length(self) -> list[tuple[str, str]]:
        """All modules and their folders, the longest name first."""
        return sorted(
            ((name, folder) for folder, name in self._modules.items()), key=lambda pair: (-len(pair[0]), pair)
        )

    @cached_property
    def _required(self) -> frozenset[str]:
        return frozenset(name for values in self.program.settings.values() for name in values.get("go_required", ()))

    @cached_property
    def _vendors(self) -> bool:
        return any(f"/{folder}".find("/vendor/") >= 0 for folder in self._files_in)


def _rank(path: str) -> tuple[bool, int]:
    """Return where a file stands among those that may declare a name twice: tests last, before them other platforms."""
    return path.endswith("_test.go"), 0 if _USUAL_PLATFORM.search(path) else 2 if _OTHER_PLATFORMS.search(path) else 1


def _below(module: str, prefix: str, folder: str) -> str | None:
    """Return the folder of an import path, given a prefix of it and that one's folder; None if it is no prefix."""
    if module == prefix:
        return folder
    return f"{folder}/{module[len(prefix) + 1 :]}".lstrip("/") if module.startswith(f"{prefix}/") else None


def _joined(folder: str, relative: str) -> str:
    parts = [part for part in folder.split("/") if part]
    for part in relative.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _likely_names(module: str) -> list[str]:
    """Return names that a package outside the repository may have, by its path."""
    last = _VERSION.sub("", module).rpartition("/")[2]
    short = last.removeprefix("go-").removesuffix("-go").removesuffix(".go")
    return list(dict.fromkeys([last, short, short.replace("-", "_"), short.replace("-", "")]))
