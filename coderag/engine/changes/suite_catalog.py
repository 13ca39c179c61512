"""Tests among the declarations of the index, with the framework that runs each."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Final, NamedTuple

from coderag.codegraph.declaration_groups import FUNCTION_KINDS, TYPE_KINDS
from coderag.codegraph.graph import CodeGraph
from coderag.ingestion.files.regular_files import read_regular_file
from coderag.retrieval.mentions.indexed_files import IndexedFiles
from coderag.schema.change_review import TestFramework

_SCRIPT_LANGUAGES: Final = frozenset({"javascript", "typescript", "tsx", "jsx", "vue", "svelte"})
_JVM_LANGUAGES: Final = frozenset({"java", "kotlin", "groovy"})
_DOTNET_LANGUAGES: Final = frozenset({"c_sharp", "csharp", "fsharp", "vb"})
_GO_TEST: Final = re.compile(r"(?:Test|Fuzz|Example)(?![a-z])")
_OTHER_TEST: Final = re.compile(r"test|.*_test$|.*\s", re.IGNORECASE)
_CASE_CALL: Final = r"\b[fx]?(?:it|test|specify|bench)(?:\.\w+)*(?:\([^'\"`]*\)|`[^`]*`)?\s*\(\s*['\"`]"
_ATTRIBUTES: Final[Mapping[str, re.Pattern[str]]] = MappingProxyType(
    {
        "jvm": re.compile(r"@(?:\w+\.)*(?:\w*Test|TestFactory|TestTemplate|Property)\b"),
        "rust": re.compile(r"#\[(?:\w+::)*(?:test|rstest|test_case|quickcheck)\b"),
        "dotnet": re.compile(
            r"[\[,]\s*(?:\w+\.)*(?P<name>Fact|Theory|Test|TestCase|TestCaseSource|TestMethod|DataTestMethod)\b"
        ),
    }
)
_FIXTURE: Final = re.compile(r"^\s*@(?:\w+\.)*fixture\b", re.MULTILINE)
_CLASS_WITH_BASE: Final = re.compile(r"^\s*class\s+\w+\s*(?:\[[^\]]*\])?\(\s*\w")
_ATTRIBUTE_STARTS: Final = ("@", "#[", "[", "//", "/*", "*")
_MAX_ATTRIBUTE_LINES: Final = 8
_MAX_DECORATOR_LINES: Final = 12
_MAX_MANIFEST_BYTES: Final = 200_000
_MAX_TITLE_CHARS: Final = 30


class _Rule(NamedTuple):
    """Recognition of the tests of some languages.

    Attributes:
        is_test: Returns whether a node is a test.
        find_framework: Returns the framework that runs the tests of a file.
    """

    languages: frozenset[str]
    is_test: Callable[[int], bool]
    find_framework: Callable[[str], TestFramework]


class SuiteCatalog:
    """Tests of an index.

    Args:
        root: Folder of the repository.
        graph: The code graph.
        files: The indexed files.
    """

    def __init__(self, root: Path, graph: CodeGraph, files: IndexedFiles) -> None:
        self._root = root
        self._graph = graph
        self._files = files
        self._lines: dict[str, Sequence[str]] = {}
        self._folders: dict[tuple[str, tuple[str, ...]], str | None] = {}

    @cached_property
    def tests(self) -> dict[int, TestFramework]:
        """Framework of each test by node, in the order of the graph."""
        frameworks: dict[int, TestFramework] = {}
        for node in self._list_candidates():
            framework = self._classify(node)
            if framework is not None:
                frameworks[node] = framework
        return frameworks

    def get_attributes(self, node: int) -> str:
        """Return the lines of a declaration's attributes and its head."""
        symbols = self._graph.symbols
        lines, start = self.read_lines(symbols.paths[node]), int(symbols.start_lines[node])
        first = start
        while first > 1 and start - first < _MAX_ATTRIBUTE_LINES:
            above = lines[first - 2].strip() if first - 2 < len(lines) else ""
            if not above.startswith(_ATTRIBUTE_STARTS) and not above.endswith("]"):
                break
            first -= 1
        name = symbols.names[node].as_py()
        head = first
        while head < min(len(lines), start + _MAX_ATTRIBUTE_LINES) and (head < start or name not in lines[head - 1]):
            head += 1
        return "\n".join(lines[first - 1 : head])

    def read_lines(self, path: str) -> Sequence[str]:
        """Return the lines of an indexed file."""
        if path not in self._lines:
            self._lines[path] = self._files.read_lines(path)
        return self._lines[path]

    def find_folder(self, path: str, *names: str) -> str | None:
        """Return the nearest folder upwards that has a file of one of some names; a name may begin with ``*``."""
        folder = str(PurePosixPath(path).parent)
        key = (folder, names)
        if key not in self._folders:
            folders = [folder, *map(str, PurePosixPath(folder).parents)]
            self._folders[key] = next((place for place in dict.fromkeys(folders) if self._has_file(place, names)), None)
        return self._folders[key]

    def read_manifest(self, folder: str, name: str) -> str:
        """Return the text of a file such as ``package.json``; empty if it cannot be read."""
        try:
            return read_regular_file(self._root / folder / name, _MAX_MANIFEST_BYTES)[0].decode("utf-8", "replace")
        except OSError:
            return ""

    def _has_file(self, folder: str, names: Sequence[str]) -> bool:
        place = self._root / folder
        return any(any(place.glob(name)) if "*" in name else (place / name).is_file() for name in names)

    def _list_candidates(self) -> Iterator[int]:
        symbols = self._graph.symbols
        for node in range(symbols.n_nodes):
            if symbols.roles[node] == "test" and symbols.kinds[node] in FUNCTION_KINDS:
                yield node

    def _classify(self, node: int) -> TestFramework | None:
        """Return the framework of a declaration in tests; None if it is only a helper of them."""
        symbols = self._graph.symbols
        for rule in self._rules:
            if symbols.languages[node] in rule.languages:
                return rule.find_framework(symbols.paths[node]) if rule.is_test(node) else None
        return "" if _OTHER_TEST.match(symbols.names[node].as_py()) else None

    @cached_property
    def _rules(self) -> Sequence[_Rule]:
        return (
            _Rule(frozenset({"python"}), self._is_pytest, lambda _: "pytest"),
            _Rule(frozenset({"go"}), self._is_go_test, lambda _: "go"),
            _Rule(_SCRIPT_LANGUAGES, self._is_case, self._find_script_framework),
            _Rule(_JVM_LANGUAGES, self._is_junit, lambda path: "gradle" if self._is_gradle(path) else "maven"),
            _Rule(frozenset({"rust"}), lambda node: self._has_attribute(node, "rust"), lambda _: "cargo"),
            _Rule(_DOTNET_LANGUAGES, lambda node: self._has_attribute(node, "dotnet"), lambda _: "dotnet"),
        )

    def _is_pytest(self, node: int) -> bool:
        """Return whether pytest collects a function: neither a fixture nor a method of a plain class."""
        symbols = self._graph.symbols
        path, parent = symbols.paths[node], int(symbols.parents[node])
        if not symbols.names[node].as_py().startswith("test") or path.endswith("conftest.py"):
            return False
        lines = self.read_lines(path)
        if symbols.kinds[parent] in FUNCTION_KINDS or _FIXTURE.search(
            _read_block_above(lines, symbols.start_lines[node])
        ):
            return False
        if symbols.kinds[parent] not in TYPE_KINDS or symbols.names[parent].as_py().startswith("Test"):
            return True
        start = int(symbols.start_lines[parent])
        return _CLASS_WITH_BASE.search("\n".join(lines[start - 1 : start + 2])) is not None  # such as TestCase

    def _is_go_test(self, node: int) -> bool:
        symbols = self._graph.symbols
        return symbols.paths[node].endswith("_test.go") and _GO_TEST.match(symbols.names[node].as_py()) is not None

    def _is_junit(self, node: int) -> bool:
        return bool(self._graph.symbols.names[node].as_py().startswith("test")) or self._has_attribute(node, "jvm")

    def _has_attribute(self, node: int, family: str) -> bool:
        return _ATTRIBUTES[family].search(self.get_attributes(node)) is not None

    def _is_case(self, node: int) -> bool:
        """Return whether a declaration of JavaScript or TypeScript is a test case, not a group of them or a helper."""
        symbols = self._graph.symbols
        title = symbols.names[node].as_py()[:_MAX_TITLE_CHARS]
        start = int(symbols.start_lines[node])
        text = " ".join(self.read_lines(symbols.paths[node])[start - 1 : start + 3])
        return re.search(_CASE_CALL + re.escape(title), text) is not None

    def _find_script_framework(self, path: str) -> TestFramework:
        for folder in (self.find_folder(path, "package.json"), "."):
            text = self.read_manifest(folder, "package.json") if folder is not None else ""
            if '"vitest"' in text or "vitest" in text.partition('"scripts"')[2][:2_000]:
                return "vitest"
            if '"jest"' in text:
                return "jest"
        return "vitest" if self.find_folder(path, "vitest.config.*") is not None else "jest"

    def _is_gradle(self, path: str) -> bool:
        gradle = self.find_folder(path, "build.gradle", "build.gradle.kts")
        maven = self.find_folder(path, "pom.xml")
        if gradle is None or maven is None:
            return gradle is not None
        return len(PurePosixPath(gradle).parts) >= len(PurePosixPath(maven).parts)


def _read_block_above(lines: Sequence[str], line: int) -> str:
    """Return the lines directly above a line, up to a blank one, such as decorators of several lines."""
    first = line = int(line)
    while first > 1 and line - first < _MAX_DECORATOR_LINES and first - 2 < len(lines) and lines[first - 2].strip():
        first -= 1
    return "\n".join(lines[first - 1 : line - 1])
