"""Selection of the tests that may exercise a change, the likeliest first."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log10
from pathlib import Path, PurePosixPath
from typing import Final

from coderag.codegraph.declaration_groups import FUNCTION_KINDS
from coderag.codegraph.graph import CodeGraph
from coderag.codegraph.relations import USE_RELATIONS
from coderag.engine.changes.fixture_users import FixtureUsers
from coderag.engine.changes.impact_walk import ImpactWalker, Reach
from coderag.engine.changes.indexed_declarations import MODULE_KIND, IndexedDeclaration
from coderag.engine.changes.lexical_similarity import compare_with_tests
from coderag.engine.changes.related_languages import is_related_language
from coderag.engine.changes.revision_pair import ChangedFile, list_changed_lines
from coderag.engine.changes.suite_catalog import SuiteCatalog
from coderag.engine.changes.suite_selectors import build_commands, build_selector
from coderag.engine.changes.value_users import ValueUsers
from coderag.ingestion.files.roles import classify_role
from coderag.ingestion.parsing.languages import detect_language
from coderag.retrieval.mentions.indexed_files import IndexedFiles
from coderag.schema.change_review import SelectedTest, SuiteSelection
from coderag.schema.lineage import DeclarationChange
from coderag.schema.mentions import NameMention
from coderag.stores.graph_tables import FILE_KIND

_MIN_SCORE: Final = 0.15
_MODULE_STRENGTH: Final = 0.2
_BROKEN_IMPORT_STRENGTH: Final = 0.6
_GENERAL_WEIGHT: Final = 0.4  # of code that every test uses
_MAX_WALKS: Final = 24  # changed declarations that are followed one by one
_MENTION_SCORE: Final = 0.5
_NAMED_TEST_BONUS: Final = 0.3
_SAME_FILE_SCORE: Final = 0.1
_CONVENTION_SCORE: Final = 0.08
_IMPORT_SCORE: Final = 0.04
_SIMILARITY_SCORE: Final = 0.4
_MAX_COMPARED_TESTS: Final = 20_000
_IMPORT_REASON: Final = "is in a file that imports something added, removed or changed as a whole"
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(slots=True)
class _Evidence:
    """Reasons to select a test, each with its score."""

    reasons: dict[str, float] = field(default_factory=dict)
    is_changed: bool = False

    def add(self, reason: str, score: float) -> None:
        """Add a reason, or strengthen it."""
        self.reasons[reason] = max(score, self.reasons.get(reason, 0.0))

    @property
    def score(self) -> float:
        """Probability that at least one of the reasons holds, if they were independent."""
        rest = 1.0
        for score in self.reasons.values():
            rest *= 1 - score
        return 1 - rest


class SuiteSelector:
    """Selector of tests in one state of the index.

    Args:
        root: Folder of the repository.
        graph: The code graph.
        files: The indexed files.
    """

    def __init__(self, root: Path, graph: CodeGraph, files: IndexedFiles) -> None:
        self._graph = graph
        self._catalog = SuiteCatalog(root, graph, files)
        fixtures, values = FixtureUsers(graph, files), ValueUsers(graph, self._catalog.read_lines)
        self._walker = ImpactWalker(graph, lambda node: (*fixtures.find(node), *values.find(node)))

    def select(
        self,
        changes: Sequence[DeclarationChange],
        indexed: Mapping[int, IndexedDeclaration],
        mentions: Mapping[int, Sequence[NameMention]],
        files: Sequence[ChangedFile],
        max_tests: int,
    ) -> SuiteSelection:
        """Select the tests for a change.

        Args:
            changes: Changed declarations.
            indexed: Their counterparts in the index, by position.
            mentions: Lines of tests that name them, by position.
            files: Changed files.
            max_tests: Maximum number of listed tests.
        """
        evidence: dict[int, _Evidence] = {}
        self._add_reached(evidence, changes, indexed, mentions)
        self._add_mentions(evidence, changes, mentions)
        self._add_files(evidence, sorted({path for file in files for path in (file.path, file.old_path) if path}))
        self._add_similar(evidence, files)
        self._add_names(evidence, changes)
        ranked = sorted(
            ((node, case) for node, case in evidence.items() if case.score >= _MIN_SCORE),
            key=lambda entry: (-entry[1].score, entry[0]),
        )
        selectors = {node: build_selector(self._graph, self._catalog, node) for node, _ in ranked[:max_tests]}
        tests = [self._build_test(node, case, selectors[node].text) for node, case in ranked[:max_tests]]
        commands = build_commands((self._catalog.tests[node], selector) for node, selector in selectors.items())
        return SuiteSelection(tests, len(ranked), len(self._catalog.tests), commands)

    def _add_reached(
        self,
        evidence: dict[int, _Evidence],
        changes: Sequence[DeclarationChange],
        indexed: Mapping[int, IndexedDeclaration],
        mentions: Mapping[int, Sequence[NameMention]],
    ) -> None:
        """Add the changed tests, and those that use changed code: the fewer use it, the more it says."""
        starts = [
            dict.fromkeys(indexed[position].nodes, _MODULE_STRENGTH if change.kind == MODULE_KIND else 1.0)
            | self._find_broken_importers(change, indexed[position], mentions.get(position, ()))
            for position, change in enumerate(changes)
        ]
        rest = {node: strength for group in starts[_MAX_WALKS:] for node, strength in group.items()}
        for group in filter(None, [*starts[:_MAX_WALKS], rest]):
            self._add_walk(evidence, group)

    def _add_walk(self, evidence: dict[int, _Evidence], starts: Mapping[int, float]) -> None:
        symbols, tests = self._graph.symbols, self._catalog.tests
        reached = self._walker.spread(starts)
        n_tests = sum(node in tests for node in reached)
        weight = _GENERAL_WEIGHT + (1 - _GENERAL_WEIGHT) / (1 + log10(max(n_tests, 1)))
        for node, reach in reached.items():
            if node in tests:
                case = evidence.setdefault(node, _Evidence())
                case.is_changed = case.is_changed or reach.steps == 0
                reason, score = self._describe(reach), reach.strength * (weight if reach.steps else 1)
                case.add("the change edits it" if reach.steps == 0 else reason, score)
            elif symbols.kinds[node] == FILE_KIND and symbols.roles[node] == "test":
                is_import = symbols.kinds[reach.start] == FILE_KIND
                name = self._name(reach.start)
                reason = _IMPORT_REASON if is_import else f"is in a file that runs {name} when it is imported"
                for file in self._find_dependent_files(node):
                    self._add_file_tests(evidence, file, reason, reach.strength * weight)

    def _find_dependent_files(self, file: int) -> list[int]:
        """Return a test file; of a ``conftest.py`` the files in its folder, too, which pytest runs after it."""
        symbols = self._graph.symbols
        folder, _, name = symbols.paths[file].rpartition("/")
        if name != "conftest.py":
            return [file]
        prefix = f"{folder}/" if folder else ""
        return [
            other
            for other in symbols.files.tolist()
            if symbols.roles[other] == "test" and symbols.paths[other].startswith(prefix)
        ]

    def _find_broken_importers(
        self, change: DeclarationChange, indexed: IndexedDeclaration, mentions: Sequence[NameMention]
    ) -> dict[int, float]:
        """Return the files that use an added or a removed declaration while they are imported: they fail without it."""
        if change.change not in ("added", "removed"):
            return {}
        symbols = self._graph.symbols
        files = [
            symbols.find_containing_file(edge.source)
            for node in indexed.nodes
            for edge in symbols.find_edges(node, "in", ("imports", *USE_RELATIONS))
            if not self._is_in_function(edge.source)
        ]
        files += [
            symbols.find_file(line.path)
            for line in mentions
            if line.context == "import"
            or (
                line.context == "code"
                and (inner := symbols.find_innermost(line.path, line.line)) is not None
                and not self._is_in_function(inner)
            )
        ]
        return {file: _BROKEN_IMPORT_STRENGTH for file in files if file is not None}

    def _is_in_function(self, node: int) -> bool:
        symbols = self._graph.symbols
        return any(symbols.kinds[outer] in FUNCTION_KINDS for outer in (node, *symbols.find_ancestors(node)))

    def _describe(self, reach: Reach) -> str:
        start, via = self._name(reach.start), self._name(reach.via)
        return f"uses {start}" if reach.steps == 1 else f"uses {start} through {via} ({reach.steps} steps)"

    def _name(self, node: int) -> str:
        symbols = self._graph.symbols
        return symbols.qualified_names[node].as_py() or symbols.paths[node]

    def _add_mentions(
        self,
        evidence: dict[int, _Evidence],
        changes: Sequence[DeclarationChange],
        mentions: Mapping[int, Sequence[NameMention]],
    ) -> None:
        """Add the tests with a line that names something changed: the fewer they are, the more it says."""
        for position, lines in mentions.items():
            tests = {node for line in lines if (node := self._find_test(line.path, line.line)) is not None}
            name = changes[position].qualified_name.rpartition(".")[2]
            for node in tests:
                evidence.setdefault(node, _Evidence()).add(f"names {name}", _MENTION_SCORE / len(tests) ** 0.5)

    def _add_files(self, evidence: dict[int, _Evidence], paths: Sequence[str]) -> None:
        """Add tests of changed test files, of files named after a changed one, and of files that import one."""
        symbols = self._graph.symbols
        for path in paths:
            file = symbols.find_file(path)
            if file is not None and symbols.roles[file] == "test":
                self._add_file_tests(evidence, file, f"is in {path}, which changed", _SAME_FILE_SCORE)
                continue
            words, language = _split_words(path), detect_language(path)
            for other in symbols.files.tolist():
                is_related = symbols.roles[other] == "test" and is_related_language(language, symbols.languages[other])
                if is_related and words and words <= _split_words(symbols.paths[other]):
                    self._add_file_tests(evidence, other, f"is named after {path}", _CONVENTION_SCORE)
            for edge in symbols.find_edges(file, "in", ("imports",)) if file is not None else ():
                if symbols.roles[edge.source] == "test":
                    importer = symbols.find_containing_file(edge.source)
                    if importer is not None:
                        self._add_file_tests(evidence, importer, f"is in a file that imports {path}", _IMPORT_SCORE)

    def _add_file_tests(self, evidence: dict[int, _Evidence], file: int, reason: str, score: float) -> None:
        for node in self._graph.symbols.get_file_nodes(file):
            if node in self._catalog.tests:
                evidence.setdefault(node, _Evidence()).add(reason, score)

    def _add_similar(self, evidence: dict[int, _Evidence], files: Sequence[ChangedFile]) -> None:
        """Add the tests that share rare words with the changed lines, unless only documents or tests changed."""
        outside = [file for file in files if classify_role(file.path) != "test"]
        if all(classify_role(file.path) == "docs" for file in outside):
            return
        changed_lines = [line for file in outside for line in list_changed_lines(file)]
        tests = self._catalog.tests if len(self._catalog.tests) <= _MAX_COMPARED_TESTS else evidence
        symbols = self._graph.symbols
        texts = {}
        for node in tests:
            lines = self._catalog.read_lines(symbols.paths[node])
            texts[node] = "\n".join(lines[int(symbols.start_lines[node]) - 1 : int(symbols.end_lines[node])])
        for node, similarity in compare_with_tests(changed_lines, texts).items():
            evidence.setdefault(node, _Evidence()).add("shares rare words with it", similarity * _SIMILARITY_SCORE)

    def _add_names(self, evidence: dict[int, _Evidence], changes: Iterable[DeclarationChange]) -> None:
        """Strengthen the tests named after something changed that other evidence has found."""
        names = {
            (change.qualified_name.rpartition(".")[2], detect_language(change.path))
            for change in changes
            if change.kind != MODULE_KIND
        }
        symbols = self._graph.symbols
        test_words = {
            node: _split_words(symbols.qualified_names[node].as_py().replace(".", "_"))
            for node, case in evidence.items()
            if not case.is_changed
        }
        for name, language in names:
            words = _split_words(name)
            named = [
                node
                for node, other in test_words.items()
                if words and words <= other and is_related_language(language, symbols.languages[node])
            ]
            for node in named:
                evidence[node].add(f"is named after {name}", _NAMED_TEST_BONUS / len(named) ** 0.5)

    def _find_test(self, path: str, line: int) -> int | None:
        """Return the test around a line; None outside of tests."""
        node = self._graph.symbols.find_innermost(path, line)
        if node is None:
            return None
        return next(
            (outer for outer in (node, *self._graph.symbols.find_ancestors(node)) if outer in self._catalog.tests), None
        )

    def _build_test(self, node: int, case: _Evidence, selector: str) -> SelectedTest:
        symbols = self._graph.symbols
        reasons = sorted(case.reasons, key=lambda reason: -case.reasons[reason])
        return SelectedTest(
            self._catalog.tests[node],
            symbols.paths[node],
            int(symbols.start_lines[node]),
            symbols.qualified_names[node].as_py(),
            selector,
            round(case.score, 3),
            reasons,
            case.is_changed,
        )


def _split_words(name: str) -> frozenset[str]:
    """Return the words of a name or of the last part of a path, in lower case, without ``test``."""
    stem = PurePosixPath(name).name.split(".")[0]
    return frozenset(word.lower() for word in _WORD.findall(stem)) - {"test", "tests", "init", "spec"}
