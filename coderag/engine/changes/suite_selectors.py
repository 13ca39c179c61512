"""Selectors and commands that run single tests in pytest, Jest, Vitest, Go, JUnit, cargo and dotnet."""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final, NamedTuple

from coderag.codegraph.graph import CodeGraph
from coderag.engine.changes.suite_catalog import SuiteCatalog
from coderag.schema.change_review import TestFramework

_MAX_COMMAND_CHARS: Final = 6_000
_PACKAGE: Final = re.compile(r"^\s*package\s+([\w.]+)", re.MULTILINE)
_NAMESPACE: Final = re.compile(r"^\s*namespace\s+([\w.]+)", re.MULTILINE)
_DATA_TEST: Final = re.compile(r"[\[,]\s*(?:\w+\.)*(?:Theory|TestCase|TestCaseSource|DataTestMethod|DataRow)\b")
_PLACEHOLDER: Final = re.compile(r"%[a-zA-Z#]|\\?\$\\?\{.*?\}|\$[\w.]+")
_REGEX_SIGN: Final = re.compile(r"[.*+?^${}()|\[\]\\/]")


class Selector(NamedTuple):
    """Selection of one test.

    Attributes:
        text: Selector of the test, as its framework takes it.
        folder: Folder in which the command runs, relative to the root.
        target: Part of the command that several tests share, such as a package.
        argument: Part of the command for this test alone.
    """

    text: str
    folder: str
    target: str
    argument: str


def build_selector(graph: CodeGraph, catalog: SuiteCatalog, node: int) -> Selector:
    """Build the selector of a test; for an unknown framework, its place."""
    path = graph.symbols.paths[node]
    build = _BUILDERS.get(catalog.tests[node])
    if build is None:
        return Selector(f"{path}:{int(graph.symbols.start_lines[node])}", ".", "", "")
    return build(_Test(graph, catalog, node, path))


def build_commands(selected: Iterable[tuple[TestFramework, Selector]]) -> list[str]:
    """Return the commands that run some tests: one for each framework, folder and target, more where they grow too long."""
    groups: dict[tuple[TestFramework, str, str], list[str]] = {}
    for framework, selector in selected:
        if framework:
            arguments = groups.setdefault((framework, selector.folder, selector.target), [])
            if selector.argument not in arguments:
                arguments.append(selector.argument)
    return [
        _change_folder(folder, _FORMATTERS[framework](target, part))
        for (framework, folder, target), arguments in groups.items()
        for part in _split(arguments)
    ]


class _Test(NamedTuple):
    """A test, and what its selector is built from."""

    graph: CodeGraph
    catalog: SuiteCatalog
    node: int
    path: str

    @property
    def names(self) -> list[str]:
        """Names of the declarations around the test and of itself, outermost first."""
        symbols = self.graph.symbols
        return [symbols.names[node].as_py() for node in (*symbols.find_ancestors(self.node)[::-1], self.node)]

    def find_place(self, *manifests: str) -> tuple[str, str]:
        """Return the folder of the nearest manifest, and the file's path in it."""
        folder = self.catalog.find_folder(self.path, *manifests) or "."
        return folder, self.path if folder == "." else str(PurePosixPath(self.path).relative_to(folder))

    def find_prefix(self, pattern: re.Pattern[str]) -> str:
        """Return the package or namespace of the file, with a dot; empty without one."""
        match = pattern.search("\n".join(self.catalog.read_lines(self.path)))
        return f"{match[1]}." if match else ""


def _select_pytest(test: _Test) -> Selector:
    text = "::".join([test.path, *test.names])
    return Selector(text, ".", "", text)


def _select_script(test: _Test) -> Selector:
    folder, path = test.find_place("package.json")
    pattern = " ".join(_escape_title(name) for name in test.names)
    return Selector(f"{path} -t {shlex.quote(pattern)}", folder, path, pattern)


def _escape_title(title: str) -> str:
    """Return a pattern of a title; what a table of cases fills in matches anything."""
    return ".*".join(_REGEX_SIGN.sub(r"\\\g<0>", part) for part in _PLACEHOLDER.split(title))


def _select_go(test: _Test) -> Selector:
    folder, path = test.find_place("go.mod")
    package = f"./{PurePosixPath(path).parent}" if "/" in path else "."
    name = test.names[-1]
    return Selector(f"{package} -run {shlex.quote(f'^{name}$')}", folder, package, name)


def _select_maven(test: _Test) -> Selector:
    folder, _ = test.find_place("pom.xml")
    *types, method = test.names
    text = f"{'$'.join(types)}#{method}"
    return Selector(text, folder, "mvn", text)


def _select_gradle(test: _Test) -> Selector:
    module, _ = test.find_place("build.gradle", "build.gradle.kts")
    folder = test.catalog.find_folder(f"{module}/build.gradle", "settings.gradle", "settings.gradle.kts") or module
    parts = PurePosixPath(module).relative_to(folder).parts if folder != "." else PurePosixPath(module).parts
    *types, method = test.names
    text = f"{test.find_prefix(_PACKAGE)}{'$'.join(types)}.{method.strip('`')}"
    return Selector(text, folder, ":".join(["", *parts, "test"]) if parts else "test", text)


def _select_cargo(test: _Test) -> Selector:
    folder, path = test.find_place("Cargo.toml")
    parts = PurePosixPath(path).with_suffix("").parts
    modules = [part for part in parts[1:] if part not in ("mod", "lib", "main")]
    if parts[0] == "tests":
        target, modules = f"--test {shlex.quote(parts[1] if len(parts) > 1 else '')}", modules[1:]
    elif parts[0] == "src" and test.catalog.find_folder(f"{folder}/src/lib.rs", "lib.rs") == str(
        PurePosixPath(folder, "src")
    ):
        target = "--lib"
    else:
        target = "--bins"
    text = "::".join([*modules, *test.names])
    return Selector(text, folder, target, text)


def _select_dotnet(test: _Test) -> Selector:
    folder, _ = test.find_place("*.csproj", "*.fsproj", "*.vbproj")
    *types, method = test.names
    operator = "~" if _DATA_TEST.search(test.catalog.get_attributes(test.node)) else "="
    prefix = test.find_prefix(_NAMESPACE)
    types = [name for name in types if f"{name}." != prefix]  # the namespace itself may be a declaration
    text = f"FullyQualifiedName{operator}{prefix}{'+'.join(types)}.{method}"
    return Selector(text, folder, "", text)


_BUILDERS: Final[Mapping[str, Callable[[_Test], Selector]]] = MappingProxyType(
    {
        "pytest": _select_pytest,
        "jest": _select_script,
        "vitest": _select_script,
        "go": _select_go,
        "maven": _select_maven,
        "gradle": _select_gradle,
        "cargo": _select_cargo,
        "dotnet": _select_dotnet,
    }
)


def _format_pytest(_: str, arguments: Sequence[str]) -> str:
    return f"pytest {shlex.join(arguments)}"


def _format_jest(target: str, arguments: Sequence[str]) -> str:
    return f"npx jest {shlex.quote(target)} -t {shlex.quote('|'.join(arguments))}"


def _format_vitest(target: str, arguments: Sequence[str]) -> str:
    return f"npx vitest run {shlex.quote(target)} -t {shlex.quote('|'.join(arguments))}"


def _format_go(target: str, arguments: Sequence[str]) -> str:
    names = arguments[0] if len(arguments) == 1 else f"({'|'.join(arguments)})"
    return f"go test {shlex.quote(target)} -run {shlex.quote(f'^{names}$')}"


def _format_maven(_: str, arguments: Sequence[str]) -> str:
    methods: dict[str, list[str]] = {}
    for argument in arguments:
        name, _, method = argument.partition("#")
        methods.setdefault(name, []).append(method)
    classes = [f"{name}#{'+'.join(names)}" for name, names in methods.items()]
    return f"mvn test -Dtest={shlex.quote(','.join(classes))}"


def _format_gradle(target: str, arguments: Sequence[str]) -> str:
    return f"gradle {target} {' '.join(f'--tests {shlex.quote(argument)}' for argument in arguments)}"


def _format_cargo(target: str, arguments: Sequence[str]) -> str:
    return f"cargo test {target} -- --exact {shlex.join(arguments)}"


def _format_dotnet(_: str, arguments: Sequence[str]) -> str:
    return f"dotnet test --filter {shlex.quote('|'.join(arguments))}"


_FORMATTERS: Final[Mapping[str, Callable[[str, Sequence[str]], str]]] = MappingProxyType(
    {
        "pytest": _format_pytest,
        "jest": _format_jest,
        "vitest": _format_vitest,
        "go": _format_go,
        "maven": _format_maven,
        "gradle": _format_gradle,
        "cargo": _format_cargo,
        "dotnet": _format_dotnet,
    }
)


def _change_folder(folder: str, command: str) -> str:
    return command if folder == "." else f"cd {shlex.quote(folder)} && {command}"


def _split(arguments: Sequence[str]) -> Iterator[list[str]]:
    """Yield the arguments in parts that fit into a command."""
    part: list[str] = []
    n_chars = 0
    for argument in arguments:
        if part and n_chars + len(argument) > _MAX_COMMAND_CHARS:
            yield part
            part, n_chars = [], 0
        part.append(argument)
        n_chars += len(argument) + 3
    if part:
        yield part
