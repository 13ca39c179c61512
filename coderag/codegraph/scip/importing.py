"""Import of a SCIP index: which edges it gives, kept by the names of their ends."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit
from urllib.request import url2pathname

from coderag.codegraph.scip.edges import FoundEdge, edges_of
from coderag.codegraph.scip.files import CoveredFile, read_facts
from coderag.codegraph.scip.imported import ImportedEdges, name_edges
from coderag.codegraph.scip.messages import Metadata, read_documents, read_metadata
from coderag.codegraph.scip.wire import DamagedError
from coderag.codegraph.symbol_graph import SymbolGraph
from coderag.errors import InvalidQueryError
from coderag.schema.facts import FileFacts
from coderag.stores.graph_tables import GraphTables

_MOST_MISPLACED = 0.1
"""Share of a document's definitions that may stand elsewhere; more, and it is of another version of the file."""


@dataclass(frozen=True, slots=True)
class ScipReport:
    """What an import did.

    Attributes:
        tool: What made the index, with its version.
        documents: Number of files in the index.
        covered: Number of files whose edges are the index's now.
        edges: Number of edges by relation.
        outdated: Files that the index knows in another version: left out.
        unknown: Files of the index that are not indexed here.
    """

    tool: str
    documents: int
    covered: int
    edges: Mapping[str, int] = field(default_factory=dict)
    outdated: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def import_edges(
    index: Path, tables: GraphTables, hashes: Mapping[str, str], root: Path | None = None
) -> tuple[ImportedEdges, ScipReport]:
    """Read a SCIP index. It is read twice, a document at a time.

    Args:
        index: The file, such as ``index.scip``.
        tables: The graph that its edges are for, with the facts if they are kept; else what is a call follows from the
            symbols alone.
        hashes: Hash of each indexed file's content, by path.
        root: Of the repository, for an index that was made in another folder: above it or in it.

    Raises:
        InvalidQueryError: The file is damaged, no SCIP index, or about none of the files here.
        StoreError: It cannot be read.
    """
    try:
        return _import(index, tables, hashes, root)
    except DamagedError as error:
        hint = "Nothing was changed. Make the index again, such as with scip-typescript, scip-python or scip-java."
        raise InvalidQueryError(f"{index} is damaged, or no SCIP index: {error}", hint=hint) from error


def _import(
    index: Path, tables: GraphTables, hashes: Mapping[str, str], root: Path | None
) -> tuple[ImportedEdges, ScipReport]:
    metadata = read_metadata(index)
    locate = _locator(metadata, root)
    graph = SymbolGraph(tables)
    named = {path for document in read_documents(index) if (path := locate(document.path)) is not None}
    known = {path: node for path in named if path in hashes and (node := graph.file_node(path)) is not None}
    if not known:
        where = f"; it was made in {metadata.project_root}" if metadata.project_root else ""
        hint = (
            "Nothing was changed. Make the index in this repository's root, and run 'coderag index' before the import."
        )
        raise InvalidQueryError(f"{index} has none of the files that are indexed here{where}", hint=hint)
    facts = read_facts(tables, known)

    def covered_file(path: str) -> CoveredFile:
        return CoveredFile(graph, known[path], facts.get(path, FileFacts("")))

    symbols: dict[str, int] = {}
    outdated, covered = set(), set()
    n_documents = 0
    for document in read_documents(index):
        n_documents += 1
        path = locate(document.path)
        if path is None or path not in known:
            continue
        defined = covered_file(path).define(document)
        if defined.misplaced > _MOST_MISPLACED * (len(defined.nodes) + defined.misplaced):
            outdated.add(path)
            continue
        covered.add(path)
        symbols |= {symbol: node for symbol, node in defined.nodes.items() if not symbol.startswith("local ")}

    found: set[FoundEdge] = set()
    for document in read_documents(index):
        path = locate(document.path)
        if path is not None and path in covered:
            file = covered_file(path)
            found.update(edges_of(graph, file, document, {**symbols, **file.define(document).nodes}))
    report = ScipReport(
        " ".join(filter(None, (metadata.tool, metadata.version))) or "an unknown tool",
        n_documents,
        len(covered),
        dict(sorted(Counter(edge.relation for edge in found).items())),
        tuple(sorted(outdated)),
        tuple(sorted(named - known.keys())),
    )
    return ImportedEdges(name_edges(graph, sorted(found)), {path: hashes[path] for path in sorted(covered)}), report


def _locator(metadata: Metadata, root: Path | None) -> Callable[[str], str | None]:
    """Return what makes a document's path one of the repository; None for what is outside of it."""
    made_in = urlsplit(metadata.project_root)
    if root is None or made_in.scheme != "file":
        return lambda path: path
    base, top = Path(url2pathname(made_in.path)).resolve(), root.resolve()
    if base == top or not (base.is_relative_to(top) or top.is_relative_to(base)):
        return lambda path: path  # made on another machine, or in another copy
    if base.is_relative_to(top):
        before = PurePosixPath(base.relative_to(top).as_posix())
        return lambda path: str(before / path)
    above = PurePosixPath(top.relative_to(base).as_posix())

    def within(path: str) -> str | None:
        return str(PurePosixPath(path).relative_to(above)) if PurePosixPath(path).is_relative_to(above) else None

    return within
