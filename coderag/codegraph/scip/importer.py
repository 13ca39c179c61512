"""Import of SCIP indexes."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit
from urllib.request import url2pathname

from coderag.codegraph.scip.covered_file import CoveredFile, read_facts
from coderag.codegraph.scip.edges import ScipEdge, extract_edges
from coderag.codegraph.scip.imported_edges import ImportedEdges, name_edges
from coderag.codegraph.scip.messages import ScipMetadata, read_documents, read_metadata
from coderag.codegraph.scip.protobuf import ProtobufError
from coderag.codegraph.symbol_graph import SymbolGraph
from coderag.errors import InvalidQueryError
from coderag.schema.facts import FileFacts
from coderag.stores.graph_tables import GraphTables

_MAX_MISPLACED_SHARE = 0.1
"""Share of a document's definitions that may be misplaced; above it, the file is another version."""


@dataclass(frozen=True, slots=True)
class ScipReport:
    """Result of an import.

    Attributes:
        tool: Indexer and its version.
        documents: Number of files in the index.
        covered: Number of files whose edges now come from the index.
        edges: Number of edges by relation.
        outdated: Files that the index has in another version; they are skipped.
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
    """Return the edges of a SCIP index. The file is read twice, one document at a time in memory.

    Args:
        index: The index file.
        tables: The current graph with its facts.
        hashes: Hash of each indexed file's content, by path.
        root: Folder of the repository; None takes the paths of the index as they are.

    Raises:
        InvalidQueryError: The file is not a SCIP index, or covers no indexed file.
        StoreError: The file cannot be read.
    """
    try:
        return _import_index(index, tables, hashes, root)
    except ProtobufError as error:
        hint = (
            "Nothing was changed. Create the index again, for example with scip-typescript, scip-python or scip-java."
        )
        raise InvalidQueryError(f"{index} is damaged or not a SCIP index: {error}", hint=hint) from error


def _import_index(
    index: Path, tables: GraphTables, hashes: Mapping[str, str], root: Path | None
) -> tuple[ImportedEdges, ScipReport]:
    metadata = read_metadata(index)
    locate = _build_locator(metadata, root)
    graph = SymbolGraph(tables)
    document_paths = {path for document in read_documents(index) if (path := locate(document.path)) is not None}
    file_nodes = {
        path: node for path in document_paths if path in hashes and (node := graph.find_file(path)) is not None
    }
    if not file_nodes:
        origin = f"; it was created in {metadata.project_root}" if metadata.project_root else ""
        hint = "Nothing was changed. Create the index in this repository's root, and run 'coderag index' before the import."
        raise InvalidQueryError(f"{index} contains no file that is indexed here{origin}", hint=hint)
    facts = read_facts(tables, file_nodes)

    def get_covered_file(path: str) -> CoveredFile:
        return CoveredFile(graph, file_nodes[path], facts.get(path, FileFacts("")))

    symbols: dict[str, int] = {}
    outdated, covered_paths = set(), set()
    n_documents = 0
    for document in read_documents(index):
        n_documents += 1
        path = locate(document.path)
        if path is None or path not in file_nodes:
            continue
        definitions = get_covered_file(path).match_definitions(document)
        if definitions.misplaced > _MAX_MISPLACED_SHARE * (len(definitions.nodes) + definitions.misplaced):
            outdated.add(path)
            continue
        covered_paths.add(path)
        symbols |= {symbol: node for symbol, node in definitions.nodes.items() if not symbol.startswith("local ")}

    edges: set[ScipEdge] = set()
    for document in read_documents(index):
        path = locate(document.path)
        if path is not None and path in covered_paths:
            file = get_covered_file(path)
            edges.update(extract_edges(graph, file, document, {**symbols, **file.match_definitions(document).nodes}))
    report = ScipReport(
        " ".join(filter(None, (metadata.tool, metadata.version))) or "an unknown tool",
        n_documents,
        len(covered_paths),
        dict(sorted(Counter(edge.relation for edge in edges).items())),
        tuple(sorted(outdated)),
        tuple(sorted(document_paths - file_nodes.keys())),
    )
    return ImportedEdges(
        name_edges(graph, sorted(edges)), {path: hashes[path] for path in sorted(covered_paths)}
    ), report


def _build_locator(metadata: ScipMetadata, root: Path | None) -> Callable[[str], str | None]:
    """Return a function from a document's path to a repository path; None for paths outside of the repository."""
    project_root = urlsplit(metadata.project_root)
    if root is None or project_root.scheme != "file":
        return lambda path: path
    base, top = Path(url2pathname(project_root.path)).resolve(), root.resolve()
    if base == top or not (base.is_relative_to(top) or top.is_relative_to(base)):
        return lambda path: path  # created on another machine or in another clone
    if base.is_relative_to(top):
        prefix = PurePosixPath(base.relative_to(top).as_posix())
        return lambda path: str(prefix / path)
    outer = PurePosixPath(top.relative_to(base).as_posix())

    def to_relative(path: str) -> str | None:
        return str(PurePosixPath(path).relative_to(outer)) if PurePosixPath(path).is_relative_to(outer) else None

    return to_relative
