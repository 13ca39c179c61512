"""Which file a JavaScript or TypeScript module name means: as TypeScript and Node find it, sources before what is built.

Sources: https://www.typescriptlang.org/docs/handbook/modules/reference.html and https://nodejs.org/api/packages.html.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from coderag.codegraph.linking.program import Program

_EXTENSIONS: Final = (
    ".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".d.ts", ".d.mts", ".d.cts",
    ".vue", ".svelte", ".astro", ".json",
)  # fmt: skip
_WRITTEN_AS: Final = {
    ".js": (".ts", ".tsx", ".d.ts", ".jsx"),
    ".jsx": (".tsx", ".d.ts"),
    ".mjs": (".mts", ".d.mts"),
    ".cjs": (".cts", ".d.cts"),
}
"""What TypeScript means by a name with the ending of what is made of it."""
_BUILT: Final = re.compile(
    r"^(?:(?:dist|lib|build|out|output|es|esm|cjs|umd|types|typings|modern|legacy|commonjs|module)/)+"
)
_ENDING: Final = re.compile(
    r"(?:\.min|\.umd|\.esm|\.cjs|\.es|\.prod|\.development|\.production)*(?:\.d)?\.[cm]?[jt]sx?$"
)
_CONDITIONS: Final = ("source", "development", "import", "module", "types", "default", "require", "node", "browser")
_MAIN_FIELDS: Final = ("source", "types", "typings", "module", "main")
_CONFIGS: Final = ("tsconfig.json", "jsconfig.json")
_MOST_CONFIGS: Final = 8  # that extend one another

_Config = tuple[str | None, Mapping[str, Any], str]  # its base URL, its paths, and the folder that they are relative to


class EcmaScriptModules:
    """Finds the modules of a program.

    Args:
        program: All files.
    """

    def __init__(self, program: "Program") -> None:
        self._program = program
        self._configs: dict[str, _Config | None] = {}  # by folder

    def find(self, file: int, name: str) -> int | None:
        """Return the file that a module name means in a file; None if it is none of the repository's."""
        folder = posixpath.dirname(self._program.rows[file].path)
        name = name.partition("?")[0]  # import of "./a.svg?inline"
        if name in (".", "..") or name.startswith(("./", "../")):
            return self._at(_join(folder, name), is_folder=name.endswith(("/", ".")))
        if name.startswith("#"):
            return self._imported_by_package(folder, name)
        for config in _CONFIGS:
            self._program.note(f"module:{config.partition('.')[0]}")
        for path in self._by_config(folder, name):
            if (found := self._at(path)) is not None:
                return found
        return self._of_package(name)

    def _at(self, path: str | None, *, is_folder: bool = False) -> int | None:
        """Return the file of a path: with its ending, another or none, or that of a folder."""
        if path is None:
            return None
        self._program.note(f"module:{path.rpartition('/')[2].partition('.')[0] or 'index'}")
        if not is_folder and (found := self._file(path)) is not None:
            return found
        if (package := self._program.settings.get(_inside(path, "package.json"))) is not None and path:
            for entry in _entries(package):
                if (found := self._source(path, entry)) is not None:
                    return found
        return self._file(_inside(path, "index"))

    def _file(self, path: str) -> int | None:
        stem, ending = posixpath.splitext(path)
        for other in _WRITTEN_AS.get(ending, ()):
            if (found := self._program.file_of.get(stem + other)) is not None:
                return found
        if ending and (found := self._program.file_of.get(path)) is not None:
            return found
        return next(
            (found for one in _EXTENSIONS if (found := self._program.file_of.get(path + one)) is not None), None
        )

    # tsconfig.json

    def _by_config(self, folder: str, name: str) -> Iterator[str]:
        """Yield the paths that the configuration nearest to a folder gives a name."""
        config = self._config_of(folder)
        if config is None:
            return
        base, paths, paths_base = config
        pattern = _best_pattern(paths, name)
        if pattern is not None:
            before, _, after = pattern.partition("*")
            part = name[len(before) : len(name) - len(after)]
            for target in _strings(paths[pattern]):
                if (path := _join(paths_base, target.replace("*", part))) is not None:
                    yield path
        if base is not None and (path := _join(base, name)) is not None:
            yield path

    def _config_of(self, folder: str) -> _Config | None:
        """Return the base, the paths and what they are relative to, of the configuration for a folder."""
        if folder not in self._configs:
            found = None
            for above in _above(folder):
                path = next((path for one in _CONFIGS if (path := _inside(above, one)) in self._program.file_of), None)
                if path is not None:
                    found = self._read_config(path)
                    break
            self._configs[folder] = found
        return self._configs[folder]

    def _read_config(self, path: str) -> _Config:
        folder = posixpath.dirname(path)
        base, paths, paths_base = self._options(path, _MOST_CONFIGS)
        if not paths and base is None:  # a configuration that only names others
            for reference in _list(self._program.settings.get(path, {}).get("references")):
                target = _join(folder, str(reference.get("path", ""))) if isinstance(reference, dict) else None
                if target is not None and target.endswith(".json") and posixpath.dirname(target) == folder:
                    base, paths, paths_base = self._options(target, _MOST_CONFIGS)
                if paths or base is not None:
                    break
        return base, paths, paths_base

    def _options(self, path: str, depth: int) -> _Config:
        """Return the base, the paths and what they are relative to, of a configuration and those that it extends."""
        settings = self._program.settings.get(path, {})
        folder = posixpath.dirname(path)
        base: str | None = None
        paths: Mapping[str, Any] = {}
        paths_base = folder
        if depth:
            for name in _strings(settings.get("extends")):
                if (extended := self._extended(folder, name)) is not None:
                    above = self._options(extended, depth - 1)
                    base = above[0] if above[0] is not None else base
                    paths, paths_base = above[1:] if above[1] else (paths, paths_base)
        options = settings.get("compilerOptions", {})
        own_base = options.get("baseUrl")
        if isinstance(own_base, str):
            base = _join(folder, own_base)
        if isinstance(options.get("paths"), dict):
            paths, paths_base = options["paths"], folder if base is None else base
        return base, paths, paths_base

    def _extended(self, folder: str, name: str) -> str | None:
        if name.startswith("."):
            path = _join(folder, name)
        else:
            package, inside = _split_name(name)
            found = self._packages.get(package)
            path = None if found is None else _inside(found, inside or "tsconfig.json")
        paths = [path, f"{path}.json", f"{path}/tsconfig.json"] if path else []
        return next((one for one in paths if one in self._program.file_of), None)

    # package.json

    def _of_package(self, name: str) -> int | None:
        """Return the file that a name means in a package of the repository."""
        package, inside = _split_name(name)
        folder = self._packages.get(package)
        if folder is None:
            return None
        settings = self._program.settings[_inside(folder, "package.json")]
        exports = settings.get("exports")
        for target in _exported(exports, f"./{inside}" if inside else "."):
            if (found := self._source(folder, target)) is not None:
                return found
        if not inside:
            for entry in _entries(settings):
                if (found := self._source(folder, entry)) is not None:
                    return found
            return self._at(_inside(folder, "src"), is_folder=True) or self._at(folder, is_folder=True)
        return self._source(folder, inside)

    def _imported_by_package(self, folder: str, name: str) -> int | None:
        """Return the file that a name with ``#`` means in the package around a folder."""
        for above in _above(folder):
            settings = self._program.settings.get(_inside(above, "package.json"))
            if settings is not None:
                for target in _exported(settings.get("imports"), name):
                    found = self._source(above, target) if target.startswith(".") else self._of_package(target)
                    if found is not None:
                        return found
                return None
        return None

    def _source(self, folder: str, target: str) -> int | None:
        """Return the file of a path in a package; of a built one that is not there, the one that it is built of."""
        path = _join(folder, target)
        if path is None:
            return None
        if (found := self._at(path)) is not None:
            return found
        inside = posixpath.normpath(target).removeprefix("./")
        stem = _ENDING.sub("", _BUILT.sub("", inside))
        if stem == inside:
            return None
        places = ("src", "lib", "source", "") if _BUILT.match(inside) else ("src", "")
        candidates = (self._at(_inside(_inside(folder, place), stem)) for place in places)
        return next((found for found in candidates if found is not None), None)

    @cached_property
    def _packages(self) -> dict[str, str]:
        """The folder of each package by its name: the one nearest to the root, if several have it."""
        found: dict[str, str] = {}
        for path in sorted(self._program.settings, key=lambda one: (one.count("/"), one)):
            name = self._program.settings[path].get("name")
            if posixpath.basename(path) == "package.json" and isinstance(name, str):
                found.setdefault(name, posixpath.dirname(path))
        return found


def package_name(name: str) -> str:
    """Return the package of a module name: ``@scope/name`` of ``@scope/name/part``, ``node:fs`` of ``node:fs/promises``."""
    return _split_name(name)[0]


def _split_name(name: str) -> tuple[str, str]:
    """Return the package of a module name and the path in it."""
    parts = name.split("/")
    length = 2 if name.startswith("@") else 1
    return "/".join(parts[:length]), "/".join(parts[length:])


def _join(folder: str, path: str) -> str | None:
    """Return a path relative to a folder; None if it leaves the repository."""
    path = path.replace("${configDir}", ".")
    joined = posixpath.normpath(posixpath.join(folder, path))
    if joined.startswith(("../", "/")) or joined == "..":
        return None
    return "" if joined == "." else joined


def _inside(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder and name else folder or name


def _above(folder: str) -> Iterator[str]:
    """Yield a folder and those around it."""
    while folder:
        yield folder
        folder = posixpath.dirname(folder)
    yield ""


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _strings(value: object) -> list[str]:
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]


def _entries(package: Mapping[str, Any]) -> Iterator[str]:
    """Yield the files that a package itself may mean."""
    yield from _exported(package.get("exports"), ".")
    for key in _MAIN_FIELDS:
        yield from _strings(package.get(key))


def _best_pattern(patterns: Mapping[str, Any], name: str) -> str | None:
    """Return the pattern that a name fits: itself, else the one with the longest part before its ``*``."""
    if name in patterns:
        return name
    best = None
    for pattern in patterns:
        before, star, after = pattern.partition("*")
        fits = star and name.startswith(before) and name.endswith(after) and len(name) >= len(before) + len(after)
        if fits and (best is None or len(before) > len(best.partition("*")[0])):
            best = pattern
    return best


def _exported(exports: object, name: str) -> Iterator[str]:
    """Yield the paths that ``exports`` or ``imports`` of a package give a name."""
    if not isinstance(exports, dict) or not any(key.startswith((".", "#")) for key in exports):
        exports = {".": exports}
    pattern = _best_pattern(exports, name)
    if pattern is not None:
        before, _, after = pattern.partition("*")
        part = name[len(before) : len(name) - len(after)] if "*" in pattern else ""
        for target in _targets(exports[pattern]):
            yield target.replace("*", part)


def _targets(value: object) -> Iterator[str]:
    """Yield the paths in conditions, those of sources first."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _targets(one)
    elif isinstance(value, dict):
        known = [key for key in _CONDITIONS if key in value]
        for key in (*known, *(key for key in value if key not in known)):
            yield from _targets(value[key])
