"""Go: packages by folder, resolved through the modules of the repository's ``go.mod`` files."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import ClassVar, Final, NamedTuple

from coderag.codegraph.linking.program import MODULE
from coderag.codegraph.linking.queries import ResolutionQueries
from coderag.codegraph.linking.referents import RESOLVER_PRECISION, Referent
from coderag.codegraph.linking.rules.base import LanguageRules
from coderag.codegraph.linking.rules.go_interfaces import GoInterfaces
from coderag.codegraph.linking.rules.standard_names import read_names
from coderag.schema.facts import Definition

_VERSION_SUFFIX = re.compile(r"[/.]v\d+$")
_CODE_HOSTS: Final = frozenset({"github.com", "gitlab.com", "bitbucket.org", "golang.org"})
_DEFAULT_PLATFORM: Final = re.compile(r"_(?:unix|posix|linux|amd64)\.go$")
_OTHER_PLATFORMS: Final = re.compile(
    r"_(?:windows|darwin|freebsd|netbsd|openbsd|dragonfly|solaris|illumos|aix|plan9|js|wasip1|wasm|android|ios|zos|appengine"
    r"|386|arm|arm64|ppc64|ppc64le|mips|mipsle|mips64|mips64le|s390x|riscv64|loong64|other|stub|fallback|generic|noasm|non\w+|no\w+)\.go$"
)


class _Package(NamedTuple):
    """Declarations of the files of one folder with one package clause.

    Attributes:
        files: Files that an import of the package refers to; test files are last.
        names: Top-level declarations by name, as (file, index).
        methods: Methods by their receiver's type and name.
    """

    files: Sequence[int]
    names: Mapping[str, tuple[int, int]]
    methods: Mapping[str, Mapping[str, tuple[int, int]]]


class GoRules(LanguageRules):
    """Rules of Go."""

    languages = ("go",)
    self_names = ()
    super_names = ()
    has_implicit_receiver = False
    requires_declared_types = True
    builtins = read_names("go", "builtins")  # fmt: skip
    common_methods: ClassVar[frozenset[str]] = read_names("go", "common_methods")  # fmt: skip

    # Modules

    def resolve_module(self, file: int, module: str) -> Referent | None:
        """Return the package of an import path."""
        folder = self.program.rows[file].path.rpartition("/")[0]
        return self.program.memoize("go modules", (folder, module), lambda: self._resolve_module(folder, module))

    def _resolve_module(self, importing: str, module: str) -> Referent:
        for folder in self._iterate_module_folders(importing, module):
            self.program.record_key(f"folder:{folder}")
            if (package := self._find_folder_package(folder)) is not None:
                return package
        return Referent("external", name=module)

    def _iterate_module_folders(self, importing: str, module: str) -> Iterator[str]:
        """Yield the folders that an import path may refer to, the likeliest first."""
        parts = importing.split("/") if importing else []
        ancestors = ["/".join(parts[:length]) for length in range(len(parts), -1, -1)]
        for root in ancestors:
            if (name := self._module_names.get(root)) is not None:
                for prefix, folder in [(name, root), *self._replacements[root]]:
                    if (subfolder := _find_subfolder(module, prefix, folder)) is not None:
                        yield subfolder
                break
        for prefix, folder in self._modules_by_length:
            if (subfolder := _find_subfolder(module, prefix, folder)) is not None:
                yield subfolder
        if self._has_vendor_folders:
            yield from (
                folder
                for root in ancestors
                if (folder := f"{root}/vendor/{module}".lstrip("/")) in self._files_by_folder
            )

    def _find_folder_package(self, folder: str) -> Referent | None:
        """Return the package that an import of a folder refers to: that of most of its non-test files."""
        files = [
            file
            for file in self._files_by_folder.get(folder, ())
            if not self.program.rows[file].path.endswith("_test.go")
        ]
        counts = Counter(self.program.rows[file].package for file in files)
        for name in counts:
            self.program.record_key(f"package:{name}")
        if not counts:
            return None
        name = min(counts, key=lambda candidate: (candidate == "main", -counts[candidate], candidate))
        first_file = next(file for file in files if self.program.rows[file].package == name)
        return Referent("package", first_file, name=f"{folder}:{name}")

    def find_package_files(self, package: str) -> Sequence[int]:
        """Return the files of a package."""
        return self._get_package(package).files

    def extract_package_name(self, name: str) -> str:
        """Return the module of an import path: one that a ``go.mod`` requires, else a guess from its host."""
        if name in self._package_names:
            return self._package_names[name]
        parts = name.split("/")
        package_name = name
        if "." in parts[0]:
            required_modules = [
                module for module in self._required_modules if name == module or name.startswith(f"{module}/")
            ]
            package_name = max(
                required_modules, key=len, default="/".join(parts[: 3 if parts[0] in _CODE_HOSTS else 2])
            )
        self._package_names[name] = package_name
        return package_name

    # Names

    def find_package_member(self, resolver: ResolutionQueries, package: str, name: str) -> Referent | None:
        """Return the exported declaration of a package by a name."""
        if not name[:1].isupper():
            return None
        self.program.record_key(f"name:go:{name}")
        declaration = self._get_package(package).names.get(name)
        return (
            Referent("definition", *declaration, resolver="import", confidence=RESOLVER_PRECISION["import"])
            if declaration
            else None
        )

    def resolve_in_package(self, resolver: ResolutionQueries, file: int, name: str) -> Referent | None:
        """Return an imported package by the name in its package clause, or a declaration of the own package."""
        if (import_path := self._get_imported_packages(file).get(name)) is not None:
            return self.resolve_module(file, import_path)
        self.program.record_key(f"name:go:{name}")
        declaration = self._get_own_package(file).names.get(name)
        return (
            Referent("definition", *declaration, resolver="package", confidence=RESOLVER_PRECISION["package"])
            if declaration
            else None
        )

    def find_owner_types(
        self, resolver: ResolutionQueries, file: int, definition: Definition
    ) -> Sequence[tuple[int, int]]:
        """Return the type of a method's receiver."""
        if not definition.owner:
            return ()
        self.program.record_key(f"name:go:{definition.owner}")
        owner_type = self._get_own_package(file).names.get(definition.owner)
        return (owner_type,) if owner_type else ()

    def find_out_of_line_members(
        self, resolver: ResolutionQueries, file: int, index: int, name: str
    ) -> Sequence[tuple[int, int]]:
        """Return a type's method of a name, from any file of its package."""
        definition = self.program.get_definition(file, index)
        if definition.parent != MODULE:
            return ()
        self.program.record_key(f"name:go:{name}")
        method = self._get_own_package(file).methods.get(definition.name, {}).get(name)
        return (method,) if method else ()

    def find_implemented_types(self, resolver: ResolutionQueries, file: int, index: int) -> Sequence[Referent]:
        """Return the interfaces of the repository that a type implements."""
        return self._interfaces.find_implemented_types(resolver, file, index)

    def find_declared_methods(self, file: int, index: int) -> Mapping[str, tuple[int, int]]:
        """Return the methods declared for a type, without those of embedded types."""
        definition = self.program.get_definition(file, index)
        self.program.record_key(f"member:go:{definition.name}")
        return self._get_own_package(file).methods.get(definition.name, {}) if definition.parent == MODULE else {}

    # Packages

    @cached_property
    def _interfaces(self) -> GoInterfaces:
        return GoInterfaces(self.program, self.find_declared_methods)

    def _get_own_package(self, file: int) -> _Package:
        folder = self.program.rows[file].path.rpartition("/")[0]
        return self._get_package(f"{folder}:{self.program.rows[file].package}")

    def _get_package(self, package: str) -> _Package:
        """Return a package by its folder and name; an external test package has only its own files."""
        if package not in self._packages:
            folder, _, name = package.rpartition(":")
            files = [file for file in self._files_by_folder.get(folder, ()) if self.program.rows[file].package == name]
            files.sort(key=lambda file: (*_rank_file(self.program.rows[file].path), file))
            names: dict[str, tuple[int, int]] = {}
            methods: dict[str, dict[str, tuple[int, int]]] = defaultdict(dict)
            for file in files:
                for index, definition in enumerate(self.program.peek(file).definitions):
                    if definition.parent == MODULE:
                        (methods[definition.owner] if definition.owner else names).setdefault(
                            definition.name, (file, index)
                        )
            self._packages[package] = _Package(files, names, methods)
        return self._packages[package]

    def _get_imported_packages(self, file: int) -> Mapping[str, str]:
        """Return the paths that a file imports without an alias, by package name."""
        return self.program.memoize("go imports", file, lambda: self._find_imported_packages(file))

    def _find_imported_packages(self, file: int) -> Mapping[str, str]:
        paths_by_name: dict[str, str] = {}
        for import_ in self.program.read_interface(file).facts.imports:
            if not import_.alias and not import_.name:
                package = self.resolve_module(file, import_.module)
                is_local = package is not None and package.kind == "package"
                names = (
                    [package.name.rpartition(":")[2]] if package and is_local else _guess_package_names(import_.module)
                )
                for name in names:
                    paths_by_name.setdefault(name, import_.module)
        return paths_by_name

    @cached_property
    def _packages(self) -> dict[str, _Package]:
        return {}

    @cached_property
    def _package_names(self) -> dict[str, str]:
        return {}

    @cached_property
    def _files_by_folder(self) -> dict[str, list[int]]:
        files: dict[str, list[int]] = defaultdict(list)
        for file, row in enumerate(self.program.rows):
            if row.language == "go":
                files[row.path.rpartition("/")[0]].append(file)
        return dict(files)

    @cached_property
    def _module_names(self) -> dict[str, str]:
        """Module name of each folder with a ``go.mod``."""
        return {
            path.rpartition("/")[0]: values["go_module"]
            for path, values in self.program.settings.items()
            if "go_module" in values
        }

    @cached_property
    def _replacements(self) -> dict[str, list[tuple[str, str]]]:
        """Module names that each ``go.mod`` replaces by a folder, longest first."""
        return {
            path.rpartition("/")[0]: sorted(
                (
                    (name, _join_path(path.rpartition("/")[0], target))
                    for name, target in values.get("replaced", {}).items()
                ),
                key=lambda pair: -len(pair[0]),
            )
            for path, values in self.program.settings.items()
            if "go_module" in values
        }

    @cached_property
    def _modules_by_length(self) -> list[tuple[str, str]]:
        """All modules and their folders, longest name first."""
        return sorted(
            ((name, folder) for folder, name in self._module_names.items()), key=lambda pair: (-len(pair[0]), pair)
        )

    @cached_property
    def _required_modules(self) -> frozenset[str]:
        return frozenset(name for values in self.program.settings.values() for name in values.get("go_required", ()))

    @cached_property
    def _has_vendor_folders(self) -> bool:
        return any(f"/{folder}".find("/vendor/") >= 0 for folder in self._files_by_folder)


def _rank_file(path: str) -> tuple[bool, int]:
    """Return the rank of a file among those that may declare one name: default platform, other platforms, tests."""
    return path.endswith("_test.go"), 0 if _DEFAULT_PLATFORM.search(path) else 2 if _OTHER_PLATFORMS.search(path) else 1


def _find_subfolder(module: str, prefix: str, folder: str) -> str | None:
    """Return the folder of an import path, given a prefix of the path and the prefix's folder; None if it is no prefix."""
    if module == prefix:
        return folder
    return f"{folder}/{module[len(prefix) + 1 :]}".lstrip("/") if module.startswith(f"{prefix}/") else None


def _join_path(folder: str, relative: str) -> str:
    parts = [part for part in folder.split("/") if part]
    for part in relative.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _guess_package_names(module: str) -> list[str]:
    """Return possible names of an external package, by its path."""
    last_part = _VERSION_SUFFIX.sub("", module).rpartition("/")[2]
    short = last_part.removeprefix("go-").removesuffix("-go").removesuffix(".go")
    return list(dict.fromkeys([last_part, short, short.replace("-", "_"), short.replace("-", "")]))
