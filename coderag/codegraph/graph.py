"""Who defines, calls, extends and imports what, by name and by imports between files.

A call is bound to a declaration only within its file, along an import, or within a package that needs none; what is left is
listed as unresolved with a low confidence, never presented as an edge. Types of receivers are not looked at.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from coderag.codegraph.imports import ImportResolver
from coderag.schema import GraphNeighbour, Relation, SymbolRecord
from coderag.stores.corpus import Corpus
from coderag.stores.symbol_table import SymbolMatch, split_qualified

_PACKAGE_SCOPE = frozenset({"go", "java", "kotlin", "c_sharp", "scala", "swift"})
"""Languages in which files of one folder see one another without an import."""

CONFIDENCE = {"scope": 0.9, "import": 0.8, "package": 0.7, "unresolved": 0.2}
"""How surely a reference by name means a declaration, by what binds them."""

RESOLVED = 0.5
"""Confidence from which a reference counts as an edge."""

_CALLED = frozenset({"function", "method", "macro", "class", "struct"})
_MOST_DECLARATIONS = 20  # of one name; a name declared more often says nothing
_MOST_REFERENCES = 200


class CodeGraph:
    """The relations of one generation, computed from its chunks when first asked for.

    Args:
        corpus: The open index.
    """

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def callers(self, name: str) -> list[GraphNeighbour]:
        """Return what calls a function, method or type, the surest first."""
        return self._references(name, self._calls, "caller")

    def derived(self, name: str, depth: int = 1) -> list[GraphNeighbour]:
        """Return what extends or implements a type, nearest and surest first.

        Args:
            name: The type.
            depth: 1 for the types that name it, 2 for those that name these too, and so on.
        """
        return self._walk(name, depth, lambda start: self._references(start, self._bases, "derived"))

    def callees(self, name: str) -> list[GraphNeighbour]:
        """Return the declarations in this repository that a function calls."""
        return self._targets(name, self._list_column("calls"), "callee", _CALLED)

    def bases(self, name: str) -> list[GraphNeighbour]:
        """Return the types in this repository that a type extends or implements."""
        return self._targets(name, self._list_column("bases"), "base", None)

    def importers(self, name: str) -> list[GraphNeighbour]:
        """Return the files that import the file where a name is declared, or the file or folder of that path."""
        files = {self.file_of_row(match.row) for match in self._corpus.symbols.find(name) if match.quality >= RESOLVED}
        files |= self._files_named(name)
        importing = {other for file in files for other in self.imported_by[file]}
        return [self._file_neighbour(file, "imported_by") for file in sorted(importing)]

    def _walk(self, name: str, depth: int, step: Callable[[str], list[GraphNeighbour]]) -> list[GraphNeighbour]:
        """Follow a relation; only what is resolved is followed further."""
        found: dict[tuple[str, str], GraphNeighbour] = {}
        frontier = [name]
        for distance in range(1, depth + 1):
            reached = [neighbour for start in frontier for neighbour in step(start)]
            frontier = []
            for neighbour in reached:
                key = (neighbour.path, neighbour.qualified_name)
                if key not in found and neighbour.qualified_name != name:
                    found[key] = replace(neighbour, depth=distance)
                    if neighbour.confidence >= RESOLVED:
                        frontier.append(neighbour.qualified_name)
        return list(found.values())

    def tests(self, name: str) -> list[GraphNeighbour]:
        """Return what calls a declaration from a test file."""
        test_files = {self._corpus.paths[file] for file in self._corpus.files_by_role.get("test", ())}
        return [
            replace(neighbour, relation="test_for")
            for neighbour in [*self.callers(name), *self.derived(name)]
            if neighbour.path in test_files
        ]

    def impact(self, name: str, depth: int = 3) -> list[GraphNeighbour]:
        """Return what may break when a declaration changes: callers of callers, derived types, importing files."""
        users = self._walk(name, depth, lambda start: [*self.callers(start), *self.derived(start)])
        found = {(user.path, user.qualified_name): user for user in users if user.confidence >= RESOLVED}
        for neighbour in self.importers(name):
            found.setdefault((neighbour.path, neighbour.qualified_name), neighbour)
        return list(found.values())

    # Chunks

    def called_declarations(self, row: int) -> Iterator[tuple[SymbolMatch, float]]:
        """Yield the declarations that a chunk calls, with the confidence; calls that stay unresolved are left out."""
        for name in self._list_column("calls")[row]:
            for match in self._corpus.symbols.find(name)[:_MOST_DECLARATIONS]:
                confidence = CONFIDENCE[self._binding(row, [match])]
                if match.quality == 1 and match.kind in _CALLED and confidence >= RESOLVED:
                    yield match, confidence

    def calling_rows(self, row: int) -> Iterator[tuple[int, float]]:
        """Yield the chunks that call what a chunk declares, with the confidence."""
        for symbol in self._corpus.members[row]:
            if symbol["kind"] in _CALLED:
                for other in self._calls.get(symbol["name"], ())[:_MOST_REFERENCES]:
                    if other != row:
                        yield other, CONFIDENCE[self._row_binding(other, row)]

    # Files

    def file_of_row(self, row: int) -> int:
        """Return the number of a chunk's file."""
        return int(self._corpus.file_of[row])

    @cached_property
    def imports(self) -> list[frozenset[int]]:
        """For each file, the files of the repository that it imports."""
        corpus = self._corpus
        resolver = ImportResolver(corpus.paths)
        languages = corpus.column("language")
        found: list[set[int]] = [set() for _ in range(corpus.n_files)]
        for row, imported in enumerate(self._list_column("imports")):
            file = self.file_of_row(row)
            for name in imported:
                found[file].update(resolver.resolve(file, name, languages[row]))
        return [frozenset(files - {file}) for file, files in enumerate(found)]

    @cached_property
    def imported_by(self) -> list[frozenset[int]]:
        """For each file, the files that import it."""
        found: list[set[int]] = [set() for _ in range(self._corpus.n_files)]
        for file, imported in enumerate(self.imports):
            for other in imported:
                found[other].add(file)
        return [frozenset(files) for files in found]

    def _files_named(self, name: str) -> set[int]:
        """Return the files that a path, or a module's dotted name, means."""
        wanted = name.strip("/")
        as_path = "/".join(split_qualified(wanted))
        return {
            file
            for file, path in enumerate(self._corpus.paths)
            if path == wanted or path.rsplit(".", 1)[0].endswith(f"/{as_path}") or path.rsplit(".", 1)[0] == as_path
        }

    # References

    @cached_property
    def _calls(self) -> dict[str, list[int]]:
        return _inverted(self._list_column("calls"))

    @cached_property
    def _bases(self) -> dict[str, list[int]]:
        return _inverted(self._list_column("bases"))

    def _list_column(self, name: str) -> list[list[str]]:
        columns = self._columns
        if name not in columns:
            columns[name] = self._corpus.snapshot.chunks([name])[name].to_pylist()
        return columns[name]

    @cached_property
    def _columns(self) -> dict[str, list[list[str]]]:
        return {}

    def _references(self, name: str, rows_of: dict[str, list[int]], relation: Relation) -> list[GraphNeighbour]:
        """Return the chunks that refer to a name, each with the line and how surely it means the declaration."""
        last = (split_qualified(name) or [name])[-1]
        matches = self._corpus.symbols.find(name)
        best = max((match.quality for match in matches), default=0.0)
        definitions = [match for match in matches if match.quality == best]
        owners = [scope for match in definitions for scope in split_qualified(match.qualified_name)[-2:-1]]
        rows = rows_of.get(last, [])[:_MOST_REFERENCES]
        found: dict[tuple[str, str], GraphNeighbour] = {}
        for row, text in zip(rows, self._corpus.texts(rows), strict=True):
            resolver = self._binding(row, definitions)
            for line in reference_lines(text, last, owners if len(owners) == len(definitions) else None):
                neighbour = self._neighbour(row, int(self._corpus.start_lines[row]) + line, relation, resolver)
                if not any(_is_declaration(neighbour, match, self._corpus) for match in definitions):
                    found.setdefault((neighbour.path, neighbour.qualified_name), neighbour)
        return sorted(found.values(), key=lambda neighbour: (-neighbour.confidence, neighbour.path, neighbour.line))

    def _targets(
        self, name: str, names_of: Sequence[Sequence[str]], relation: Relation, kinds: frozenset[str] | None
    ) -> list[GraphNeighbour]:
        found: dict[tuple[int, str], GraphNeighbour] = {}
        for source in self._corpus.symbols.find(name):
            if source.quality < RESOLVED:
                continue
            for target in self._names_within(source, names_of):
                for match in self._corpus.symbols.find(target):
                    resolver = self._binding(source.row, [match])
                    own = (match.row, match.qualified_name) == (source.row, source.qualified_name)
                    if resolver != "unresolved" and not own and (kinds is None or match.kind in kinds):
                        found.setdefault((match.row, match.qualified_name), self._declared(match, relation, resolver))
        return sorted(found.values(), key=lambda neighbour: -neighbour.confidence)

    def _names_within(self, source: SymbolMatch, names_of: Sequence[Sequence[str]]) -> Iterator[str]:
        """Yield the names noted for a declaration's chunks that are in its own lines: chunks are shared, or parts."""
        starts, ends = self._corpus.start_lines, self._corpus.end_lines
        rows = [
            row
            for row in self._corpus.chunk_rows(self.file_of_row(source.row))
            if starts[row] <= source.end_line and source.start_line <= ends[row]
        ]
        for row, text in zip(rows, self._corpus.texts(rows), strict=True):
            skipped = max(source.start_line - int(starts[row]), 0)
            own = "\n".join(text.split("\n")[skipped : source.end_line - int(starts[row]) + 1])
            declared = source.start_line - int(starts[row]) - skipped
            for name in names_of[row]:
                if any(name != source.name or line != declared for line in reference_lines(own, name, None)):
                    yield name

    def _binding(self, row: int, definitions: Iterable[SymbolMatch]) -> str:
        """Return what binds a reference in a chunk to one of the declarations, the surest, or ``unresolved``."""
        bindings = (self._row_binding(row, definition.row) for definition in definitions)
        return max(bindings, key=CONFIDENCE.__getitem__, default="unresolved")

    def _row_binding(self, row: int, declaring: int) -> str:
        """Return what binds a reference in one chunk to a declaration in another."""
        corpus = self._corpus
        file, other = self.file_of_row(row), self.file_of_row(declaring)
        if other == file:
            return "scope"
        if other in self.imports[file]:
            return "import"
        same_folder = corpus.paths[file].rpartition("/")[0] == corpus.paths[other].rpartition("/")[0]
        return "package" if same_folder and corpus.column("language")[row] in _PACKAGE_SCOPE else "unresolved"

    def _neighbour(self, row: int, line: int, relation: Relation, resolver: str) -> GraphNeighbour:
        """Return the innermost declaration around a line of a chunk."""
        corpus = self._corpus
        rows = corpus.chunk_rows(self.file_of_row(row))
        # Of two windows with the line, the one that accounts for it.
        row = bisect_right(corpus.start_lines, line, rows.start, rows.stop) - 1
        inner = self._innermost(row, line)
        return GraphNeighbour(
            relation=relation,
            path=corpus.value("path", row),
            line=line,
            start_line=inner["start_line"] if inner else int(corpus.start_lines[row]),
            end_line=inner["end_line"] if inner else int(corpus.end_lines[row]),
            qualified_name=inner["qualified_name"] if inner else corpus.value("qualified_name", row),
            kind=inner["kind"] if inner else corpus.value("kind", row),
            resolver=resolver,
            confidence=CONFIDENCE[resolver],
        )

    def _innermost(self, row: int, line: int) -> SymbolRecord | None:
        """Return the innermost declaration around a line of a chunk; None if there is none, or the chunk is of it."""
        corpus = self._corpus
        name = corpus.value("qualified_name", row)
        if all(symbol["qualified_name"] != name for symbol in corpus.members[row]):
            first = row  # the chunk is a part of what it is named after
        else:
            first = int(corpus.file_starts[corpus.file_of[row]])
        for holder in range(row, first - 1, -1):
            around = [symbol for symbol in corpus.members[holder] if symbol["start_line"] <= line <= symbol["end_line"]]
            if around:
                return min(around, key=lambda symbol: symbol["end_line"] - symbol["start_line"])
        return None

    def _declared(self, match: SymbolMatch, relation: Relation, resolver: str) -> GraphNeighbour:
        return GraphNeighbour(
            relation=relation,
            path=self._corpus.value("path", match.row),
            line=match.start_line,
            start_line=match.start_line,
            end_line=match.end_line,
            qualified_name=match.qualified_name,
            kind=match.kind,
            resolver=resolver,
            confidence=CONFIDENCE[resolver],
        )

    def _file_neighbour(self, file: int, relation: Relation) -> GraphNeighbour:
        path = self._corpus.paths[file]
        return GraphNeighbour(
            relation=relation,
            path=path,
            line=1,
            start_line=1,
            end_line=int(self._corpus.file_lines[file]),
            qualified_name=path,
            kind="module",
            resolver="import",
            confidence=CONFIDENCE["import"],
        )


def _inverted(lists: Sequence[Sequence[str]]) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = defaultdict(list)
    for row, names in enumerate(lists):
        for name in names:
            rows[name].append(row)
    return rows


_RECEIVER = re.compile(r"([A-Z]\w*)(?:<[^<>]*>)?\s*(?:::|\.)\s*$")


def reference_lines(text: str, name: str, owners: Collection[str] | None) -> Iterator[int]:
    """Yield the 0-based lines of a text that refer to a name.

    Args:
        text: Source of a chunk.
        name: The name, as a whole word.
        owners: Types that declare it, if it is a member: ``Other.name`` then means something else.
    """
    word = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
    for number, line in enumerate(text.split("\n")):
        for match in word.finditer(line):
            receiver = _RECEIVER.search(line, 0, match.start())
            if owners is None or receiver is None or receiver[1] in owners or receiver[1] == "Self":
                yield number
                break


def _is_declaration(neighbour: GraphNeighbour, match: SymbolMatch, corpus: Corpus) -> bool:
    """Whether a line with a name is where the name is declared, not where it is used."""
    return neighbour.path == corpus.value("path", match.row) and neighbour.line == match.start_line
