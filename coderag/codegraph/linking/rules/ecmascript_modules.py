"""Module resolution of JavaScript and TypeScript, as in TypeScript and Node, with sources before built files.

Sources: https://www.typescriptlang.org/docs/handbook/modules/reference.html and https://nodejs.org/api/packages.html.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from coderag.codegraph.linking.program import Program

_EXTENSIONS: Final = (
    ".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".d.ts", ".d.mts", ".d.cts",
    ".vue", ".svelte", ".astro", ".json",
)  # fmt: skip
_SOURCE_EXTENSIONS: Final = {
    ".js": (".ts", ".tsx", ".d.ts", ".jsx"),
    ".jsx": (".tsx", ".d.ts"),
    ".mjs": (".mts", ".d.mts"),
    ".cjs": (".cts", ".d.cts"),
}
"""Extensions of the sources that TypeScript substitutes for an output extension."""
_BUILD_FOLDERS: Final = re.compile(
    r"^(?:(?:dist|lib|build|out|output|es|esm|cjs|umd|types|typings|modern|legacy|commonjs|module)/)+"
)
_BUILT_EXTENSION: Final = re.compile(
    r"(?:\.min|\.umd|\.esm|\.cjs|\.es|\.prod|\.development|\.production)*(?:\.d)?\.[cm]?[jt]sx?$"
)
_EXPORT_CONDITIONS: Final = (
    "source",
    "development",
    "import",
    "module",
    "types",
    "default",
    "require",
    "node",
    "browser",
)
_MAIN_FIELDS: Final = ("source", "types", "typings", "module", "main")
_CONFIG_FILES: Final = ("tsconfig.json", "jsconfig.json")
_CONFIG_FOLDER: Final = "${configDir}"
_MAX_EXTENDED_CONFIGS: Final = 8  # length of a chain of ``extends``

_PathMapping = Mapping[str, Sequence[str]]
"""Paths in the repository by the pattern of module names that they stand for."""

_GENERATED_MAPPINGS: Final[Mapping[str, _PathMapping]] = {
    ".svelte-kit/tsconfig.json": {"$lib": ["src/lib"], "$lib/*": ["src/lib/*"]},
    ".nuxt/tsconfig.json": {"~/*": ["app/*", "*"], "@/*": ["app/*", "*"], "~~/*": ["*"], "@@/*": ["*"]},
}
"""Path mapping of the configurations that frameworks generate and that no repository has, by their path."""


class _Config(NamedTuple):
    """Options of a configuration: the folder of names that are no paths, and the path mapping."""

    base: str | None
    paths: _PathMapping


class EcmaScriptModules:
    """Resolves the module names of a program.

    Args:
        program: All files.
    """

    def __init__(self, program: "Program") -> None:
        self._program = program
        self._configs: dict[str, _Config | None] = {}  # by folder

    def resolve(self, file: int, name: str) -> int | None:
        """Return the file of a module name in a file; None if it is external."""
        folder = posixpath.dirname(self._program.rows[file].path)
        name = name.partition("?")[0]  # import of "./a.svg?inline"
        if name in (".", "..") or name.startswith(("./", "../")):
            return self._resolve_path(_resolve_relative(folder, name), is_folder=name.endswith(("/", ".")))
        if name.startswith("#"):
            return self._resolve_package_import(folder, name)
        for config in _CONFIG_FILES:
            self._program.record_key(f"module:{config.partition('.')[0]}")
        for path in self._iterate_config_paths(folder, name):
            if (match := self._resolve_path(path)) is not None:
                return match
        return self._resolve_package(name)

    def _resolve_path(self, path: str | None, *, is_folder: bool = False) -> int | None:
        """Return the file at a path with its own, another or no extension, or the entry point of the folder there."""
        if path is None:
            return None
        self._program.record_key(f"module:{path.rpartition('/')[2].partition('.')[0] or 'index'}")
        if not is_folder and (match := self._find_file(path)) is not None:
            return match
        if (package := self._program.settings.get(_join_folder(path, "package.json"))) is not None and path:
            for entry in _iterate_entry_points(package):
                if (match := self._find_source(path, entry)) is not None:
                    return match
        return self._find_file(_join_folder(path, "index"))

    def _find_file(self, path: str) -> int | None:
        stem, ending = posixpath.splitext(path)
        for source_ending in _SOURCE_EXTENSIONS.get(ending, ()):
            if (match := self._program.file_by_path.get(stem + source_ending)) is not None:
                return match
        if ending and (match := self._program.file_by_path.get(path)) is not None:
            return match
        return next(
            (
                match
                for extension in _EXTENSIONS
                if (match := self._program.file_by_path.get(path + extension)) is not None
            ),
            None,
        )

    # tsconfig.json

    def _iterate_config_paths(self, folder: str, name: str) -> Iterator[str]:
        """Yield the paths that the nearest configuration maps a name to."""
        config = self._find_config(folder)
        if config is None:
            return
        pattern = _match_pattern(config.paths, name)
        if pattern is not None:
            prefix, _, suffix = pattern.partition("*")
            wildcard = name[len(prefix) : len(name) - len(suffix)]
            for target in config.paths[pattern]:
                if (path := _resolve_relative("", target.replace("*", wildcard))) is not None:
                    yield path
        if config.base is not None and (path := _resolve_relative(config.base, name)) is not None:
            yield path

    def _find_config(self, folder: str) -> _Config | None:
        """Return the base URL, the path mapping and its folder, from the nearest configuration above a folder."""
        if folder not in self._configs:
            config = None
            for ancestor in _iterate_ancestors(folder):
                path = next(
                    (
                        path
                        for file_name in _CONFIG_FILES
                        if (path := _join_folder(ancestor, file_name)) in self._program.file_by_path
                    ),
                    None,
                )
                if path is not None:
                    config = self._read_config(path)
                    break
            self._configs[folder] = config
        return self._configs[folder]

    def _read_config(self, path: str) -> _Config:
        folder = posixpath.dirname(path)
        config = self._read_options(path, folder, _MAX_EXTENDED_CONFIGS)
        if not config.paths and config.base is None:  # a configuration that only lists references
            for reference in _to_list(self._program.settings.get(path, {}).get("references")):
                target = (
                    _resolve_relative(folder, str(reference.get("path", ""))) if isinstance(reference, dict) else None
                )
                if target is not None and target.endswith(".json") and posixpath.dirname(target) == folder:
                    config = self._read_options(target, folder, _MAX_EXTENDED_CONFIGS)
                if config.paths or config.base is not None:
                    break
        return config

    def _read_options(self, path: str, config_folder: str, depth: int) -> _Config:
        """Return the options of a configuration and those that it extends.

        Args:
            config_folder: Folder of the configuration that is not extended itself: the value of ``${configDir}``.
            depth: Maximum length of the chain of ``extends``.
        """
        settings = self._program.settings.get(path, {})
        folder = posixpath.dirname(path)
        config = _Config(None, {})
        for name in _to_strings(settings.get("extends")) if depth else ():
            if (extended_path := self._resolve_extends(folder, name)) is not None:
                inherited = self._read_options(extended_path, config_folder, depth - 1)
            else:
                inherited = _Config(None, _build_generated_mapping(folder, name))
            config = _Config(config.base if inherited.base is None else inherited.base, inherited.paths or config.paths)
        options = settings.get("compilerOptions", {})
        base, paths = config
        if isinstance(own_base := options.get("baseUrl"), str):
            base = _resolve_option(own_base, folder, config_folder)
        if isinstance(own_paths := options.get("paths"), dict):
            paths_base = folder if base is None else base
            paths = {
                pattern: [
                    resolved
                    for target in _to_strings(targets)
                    if (resolved := _resolve_option(target, paths_base, config_folder)) is not None
                ]
                for pattern, targets in own_paths.items()
            }
        return _Config(base, paths)

    def _resolve_extends(self, folder: str, name: str) -> str | None:
        if name.startswith("."):
            path = _resolve_relative(folder, name)
        else:
            package, subpath = _split_module_name(name)
            package_folder = self._package_folders.get(package)
            path = None if package_folder is None else self._find_shared_config(package_folder, subpath)
        paths = [path, f"{path}.json", f"{path}/tsconfig.json"] if path else []
        return next((candidate for candidate in paths if candidate in self._program.file_by_path), None)

    def _find_shared_config(self, folder: str, subpath: str) -> str:
        """Return the path of a configuration in a package: by its ``exports``, or else by its own path."""
        settings = self._program.settings[_join_folder(folder, "package.json")]
        for target in _iterate_export_targets(settings.get("exports"), f"./{subpath}" if subpath else "."):
            if (path := _resolve_relative(folder, target)) is not None and path in self._program.file_by_path:
                return path
        return _join_folder(folder, subpath or "tsconfig.json")

    # package.json

    def _resolve_package(self, name: str) -> int | None:
        """Return the file of a name in a package of the repository."""
        package, subpath = _split_module_name(name)
        folder = self._package_folders.get(package)
        if folder is None:
            return None
        settings = self._program.settings[_join_folder(folder, "package.json")]
        exports = settings.get("exports")
        for target in _iterate_export_targets(exports, f"./{subpath}" if subpath else "."):
            if (match := self._find_source(folder, target)) is not None:
                return match
        if not subpath:
            for entry in _iterate_entry_points(settings):
                if (match := self._find_source(folder, entry)) is not None:
                    return match
            return self._resolve_path(_join_folder(folder, "src"), is_folder=True) or self._resolve_path(
                folder, is_folder=True
            )
        return self._find_source(folder, subpath)

    def _resolve_package_import(self, folder: str, name: str) -> int | None:
        """Return the file of a ``#`` name in the package that encloses a folder."""
        for ancestor in _iterate_ancestors(folder):
            settings = self._program.settings.get(_join_folder(ancestor, "package.json"))
            if settings is not None:
                for target in _iterate_export_targets(settings.get("imports"), name):
                    match = (
                        self._find_source(ancestor, target) if target.startswith(".") else self._resolve_package(target)
                    )
                    if match is not None:
                        return match
                return None
        return None

    def _find_source(self, folder: str, target: str) -> int | None:
        """Return the file of a path in a package; for a missing built file its source."""
        path = _resolve_relative(folder, target)
        if path is None:
            return None
        if (match := self._resolve_path(path)) is not None:
            return match
        relative_path = posixpath.normpath(target).removeprefix("./")
        stem = _BUILT_EXTENSION.sub("", _BUILD_FOLDERS.sub("", relative_path))
        if stem == relative_path:
            return None
        source_folders = ("src", "lib", "source", "") if _BUILD_FOLDERS.match(relative_path) else ("src", "")
        candidates = (
            self._resolve_path(_join_folder(_join_folder(folder, source_folder), stem))
            for source_folder in source_folders
        )
        return next((match for match in candidates if match is not None), None)

    @cached_property
    def _package_folders(self) -> dict[str, str]:
        """Folder of each package by its name; the one nearest to the root if several share a name."""
        folders: dict[str, str] = {}
        for path in sorted(self._program.settings, key=lambda config_path: (config_path.count("/"), config_path)):
            name = self._program.settings[path].get("name")
            if posixpath.basename(path) == "package.json" and isinstance(name, str):
                folders.setdefault(name, posixpath.dirname(path))
        return folders


def get_package_name(name: str) -> str:
    """Return the package of a module name: ``@scope/name`` of ``@scope/name/part``, ``node:fs`` of ``node:fs/promises``."""
    return _split_module_name(name)[0]


def _split_module_name(name: str) -> tuple[str, str]:
    """Return the package of a module name and the path in it."""
    parts = name.split("/")
    length = 2 if name.startswith("@") else 1
    return "/".join(parts[:length]), "/".join(parts[length:])


def _resolve_relative(folder: str, path: str) -> str | None:
    """Return the path of a relative path in a folder; None if it leaves the repository."""
    resolved = posixpath.normpath(posixpath.join(folder, path))
    if resolved.startswith(("../", "/")) or resolved == "..":
        return None
    return "" if resolved == "." else resolved


def _resolve_option(path: str, folder: str, config_folder: str) -> str | None:
    """Return the path of a configuration's option, which may begin with ``${configDir}``."""
    if path.startswith(_CONFIG_FOLDER):
        return _resolve_relative(config_folder, f".{path.removeprefix(_CONFIG_FOLDER)}")
    return _resolve_relative(folder, path)


def _build_generated_mapping(folder: str, name: str) -> _PathMapping:
    """Return the path mapping of a generated configuration that a folder's configuration extends."""
    mapping = _GENERATED_MAPPINGS.get(name.removeprefix("./"), {})
    return {pattern: [_join_folder(folder, target) for target in targets] for pattern, targets in mapping.items()}


def _join_folder(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder and name else folder or name


def _iterate_ancestors(folder: str) -> Iterator[str]:
    """Yield a folder and its ancestors, the root last."""
    while folder:
        yield folder
        folder = posixpath.dirname(folder)
    yield ""


def _to_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _to_strings(value: object) -> list[str]:
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)]


def _iterate_entry_points(package: Mapping[str, Any]) -> Iterator[str]:
    """Yield the entry points of a package."""
    yield from _iterate_export_targets(package.get("exports"), ".")
    for key in _MAIN_FIELDS:
        yield from _to_strings(package.get(key))


def _match_pattern(patterns: Mapping[str, Any], name: str) -> str | None:
    """Return the pattern that matches a name: the name itself, else the pattern with the longest prefix before ``*``."""
    if name in patterns:
        return name
    best = None
    for pattern in patterns:
        prefix, star, suffix = pattern.partition("*")
        is_match = star and name.startswith(prefix) and name.endswith(suffix) and len(name) >= len(prefix) + len(suffix)
        if is_match and (best is None or len(prefix) > len(best.partition("*")[0])):
            best = pattern
    return best


def _iterate_export_targets(exports: object, name: str) -> Iterator[str]:
    """Yield the paths that a package's ``exports`` or ``imports`` map a name to."""
    if not isinstance(exports, dict) or not any(key.startswith((".", "#")) for key in exports):
        exports = {".": exports}
    pattern = _match_pattern(exports, name)
    if pattern is not None:
        prefix, _, suffix = pattern.partition("*")
        wildcard = name[len(prefix) : len(name) - len(suffix)] if "*" in pattern else ""
        for target in _iterate_condition_targets(exports[pattern]):
            yield target.replace("*", wildcard)


def _iterate_condition_targets(value: object) -> Iterator[str]:
    """Yield the paths under conditions, those of sources first."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _iterate_condition_targets(item)
    elif isinstance(value, dict):
        conditions = [key for key in _EXPORT_CONDITIONS if key in value]
        for key in (*conditions, *(key for key in value if key not in conditions)):
            yield from _iterate_condition_targets(value[key])
