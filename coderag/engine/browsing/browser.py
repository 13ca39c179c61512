"""Browser of an index with the edits on disk: folders, files, chunks, and declarations between callers and callees."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from coderag.engine.browsing.chunk_query import ChunkQuery, list_chunks
from coderag.engine.browsing.file_tree import list_folder, match_files
from coderag.engine.browsing.file_view import join_lines, read_disk_text, view_file
from coderag.engine.open_index import OpenIndex
from coderag.engine.reader import Reader
from coderag.errors import UnknownNameError
from coderag.schema.browse import (
    Caller,
    CallLine,
    ChunkListing,
    CodeLinks,
    FileView,
    FolderListing,
    NamedDeclaration,
    NameMatches,
    PathMatches,
    ReadingView,
)
from coderag.schema.chunks import FileRecord
from coderag.stores.graph_tables import FILE_KIND
from coderag.stores.overlay import OverlaySnapshot

if TYPE_CHECKING:
    from coderag.codegraph.graph import CodeGraph
    from coderag.codegraph.reading import CallReader, CallSites
    from coderag.stores.protocols import IndexSnapshot

_MAX_LINES_PER_CALLER: Final = 20
_MAX_LINE_CHARS: Final = 300
_MAX_READING_BYTES: Final = 300_000
_MAX_READING_LINES: Final = 1_500


class Browser:
    """Browser of one state of a repository; open a new one for each request.

    Folders and files come from the last index run and from disk, so that they are there at once when many files were edited.
    Chunks and calls wait until the edits are read.

    Args:
        root: Folder of the repository.
        open_index: Its open index.
        place: Its folder in replies, or what its reader calls it.
    """

    def __init__(self, root: Path, open_index: OpenIndex, place: str) -> None:
        self._root = root
        self._place = place
        self._open_index = open_index
        self._files = open_index.open_known_files()

    def list_folder(self, path: str = "", *, offset: int = 0, limit: int = 500) -> FolderListing:
        """List the folders and files directly in a folder, with the counts of each.

        Raises:
            UnknownNameError: No file is in the folder.
        """
        return list_folder(self._place, self._files.read_files(), path, offset, limit)

    def match_files(self, query: str, *, limit: int = 50) -> PathMatches:
        """Find files by words in their paths, best first."""
        return match_files(self._place, self._files.read_files(), query, limit)

    def view_file(self, path: str, *, start_line: int = 1, end_line: int | None = None) -> FileView:
        """Return lines of a file as it is on disk, as many as fit a reply.

        Raises:
            UnknownNameError: The index does not know the file.
        """
        stored = self._find_stored_record(path)
        return replace(
            view_file(self._root, stored, self._known_records.get(path, stored), start_line, end_line), root=self._place
        )

    def list_chunks(self, query: ChunkQuery) -> ChunkListing:
        """List chunks by their metadata, with facets."""
        return list_chunks(self._place, self._snapshot, query)

    def list_links(
        self, path: str, *, start_line: int = 1, end_line: int, limit: int, candidates: bool = False
    ) -> CodeLinks:
        """List what lines of a file call, name, extend or import, by line.

        Raises:
            UnknownNameError: The code graph does not have the file.
        """
        node = self._graph.symbols.find_file(path)
        if node is None:
            raise _build_unknown_file_error(path)
        reader = self._make_reader(candidates=candidates)
        links = reader.find_links(reader.find_own_nodes(node), start_line, end_line)
        return CodeLinks(self._place, path, links[:limit], len(links))

    def match_symbols(self, query: str, *, limit: int = 20) -> NameMatches:
        """Find declarations by a part of their name, best first."""
        from coderag.codegraph.symbol_search import search_symbols  # noqa: PLC0415  # only this method needs it

        symbols, reader = self._graph.symbols, self._make_reader(candidates=False)
        nodes, total = search_symbols(symbols, query, limit)
        matches = [
            NamedDeclaration(reader.describe(node), symbols.languages[node], symbols.roles[node]) for node in nodes
        ]
        return NameMatches(self._place, query, matches, total)

    def read_declaration(self, name: str, *, limit: int = 50, candidates: bool = False) -> ReadingView:
        """Read a declaration with its callers and callees, each with the lines of the calls.

        Args:
            name: As for `CodeGraph`.
            limit: Maximum number of callers; twenty times as many links are returned.
            candidates: Whether to include uncertain candidates of ambiguous names.

        Raises:
            UnknownNameError: Nothing in the repository has the name.
            AmbiguousNameError: Several declarations have the name.
        """
        reader = self._make_reader(candidates=candidates)
        nodes = reader.resolve(name)
        symbols = self._graph.symbols
        main = self._graph.declaration_groups.find_definition(nodes[0])
        node = symbols.get_node(main)
        is_file = node.kind == FILE_KIND
        lines = read_disk_text(self._root, self._find_stored_record(node.path)).lines
        last = len(lines) if is_file else min(node.end_line, len(lines))
        shown_lines = lines[max(node.start_line - 1, 0) : last][:_MAX_READING_LINES]
        text, line_count = join_lines(shown_lines, _MAX_READING_BYTES)
        callers = [] if is_file else reader.find_callers(nodes)
        links = reader.find_links(reader.find_own_nodes(main), node.start_line, last)
        return ReadingView(
            root=self._place,
            declaration=reader.describe(main),
            language=node.language,
            role=node.role,
            enclosing=[reader.describe(outer) for outer in reversed(symbols.find_ancestors(main))],
            variants=[reader.describe(other) for other in nodes if other != main],
            text=text,
            is_cut=node.start_line - 1 + line_count < last,
            callers=[self._to_caller(reader, sites) for sites in callers[:limit]],
            caller_count=len(callers),
            links=links[: 20 * limit],
            link_count=len(links),
        )

    def _to_caller(self, reader: "CallReader", sites: "CallSites") -> Caller:
        node = self._graph.symbols.get_node(sites.node)
        lines = self._read_lines(node.path)
        return Caller(
            declaration=reader.describe(sites.node),
            role=node.role,
            language=node.language,
            relation=sites.edge.relation,
            resolver=sites.edge.resolver,
            confidence=sites.confidence,
            lines=[CallLine(line, _cut_line(lines, line)) for line in sites.lines[:_MAX_LINES_PER_CALLER]],
            line_count=len(sites.lines),
        )

    def _read_lines(self, path: str) -> Sequence[str]:
        if path not in self._lines:
            self._lines[path] = read_disk_text(self._root, self._find_stored_record(path)).lines
        return self._lines[path]

    @cached_property
    def _lines(self) -> dict[str, Sequence[str]]:
        """Lines of the callers' files, by path."""
        return {}

    def _make_reader(self, *, candidates: bool) -> "CallReader":
        from coderag.codegraph.reading import CallReader  # noqa: PLC0415  # only these queries need it

        return CallReader(self._graph, candidates=candidates)

    @cached_property
    def _linked(self) -> "tuple[CodeGraph, IndexSnapshot]":
        """Code graph with all edits, and its snapshot."""
        return self._open_index.open_linked_index()

    @property
    def _graph(self) -> "CodeGraph":
        return self._linked[0]

    @property
    def _snapshot(self) -> "IndexSnapshot":
        return self._linked[1]

    @cached_property
    def _known_records(self) -> dict[str, FileRecord]:
        return {record.path: record for record in self._files.read_files()}

    @cached_property
    def _stored_records(self) -> dict[str, FileRecord]:
        """Records of the last index run, by path."""
        if not isinstance(self._files, OverlaySnapshot):
            return self._known_records
        return {record.path: record for record in self._files.base.read_files()}

    def _find_stored_record(self, path: str) -> FileRecord:
        """Return the record of the last index run; of a new file, its current one."""
        record = self._stored_records.get(path) or self._known_records.get(path)
        if record is None:
            record = next((record for record in self._snapshot.read_files() if record.path == path), None)
        if record is None:
            raise _build_unknown_file_error(path)
        return record


class BrowserAccess:
    """Base class of the facade: it opens the browser."""

    root: Path
    _open_index: OpenIndex
    _reader: Reader

    def open_browser(self) -> Browser:
        """Open the browser of the index and the current edits.

        Raises:
            IndexNotFoundError: Nothing is indexed yet.
        """
        return Browser(self.root, self._open_index, self._reader.place or str(self.root))


def _cut_line(lines: Sequence[str], line: int) -> str:
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    return text if len(text) <= _MAX_LINE_CHARS else f"{text[: _MAX_LINE_CHARS - 1]}…"


def _build_unknown_file_error(path: str) -> UnknownNameError:
    return UnknownNameError(
        f"no file {path[:200]!r} in the index", hint="It may be ignored, deleted, new, or spelt in another way."
    )
