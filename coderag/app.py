"""`CodeRAG`: the facade that every interface uses. Loads the graphs by name."""

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Set
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property, partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, TypeVar

from coderag.collector import collector_paused
from coderag.errors import ConfigurationError, IndexNotFoundError, InvalidQueryError
from coderag.ingestion.files.changes import find_changes
from coderag.ingestion.files.scanner import Scan, check_root, scan
from coderag.models.dense import DenseModel, MaskedQueries, ProviderDense, check_embedding
from coderag.models.llm import make_answer_writer
from coderag.models.providers import make_dense_model
from coderag.privacy import MaskedPaths, PathMask
from coderag.records import answer_from_record, context_from_record
from coderag.retrieval.hits import make_hits
from coderag.schema import (
    Answer,
    AssembledContext,
    Filters,
    GraphNeighbour,
    IndexPlan,
    IndexProgress,
    IndexReport,
    IndexStatus,
    SearchHit,
)
from coderag.settings import LEAST_TOKENS, MOST_RESULTS, MOST_TOKENS, Settings
from coderag.state import FilterValues, Goal, QueryContext, QueryEmbedder, QueryInput, QueryOutput, QueryState
from coderag.stores.index_store import IndexStore
from coderag.stores.manifest import manifest_of
from coderag.stores.path_key import path_mask
from coderag.stores.snapshot import Snapshot

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph
    from llama_index.core.graph_stores.types import PropertyGraphStore

    from coderag.codegraph.export.writing import ExportFormat
    from coderag.codegraph.graph import CodeGraph
    from coderag.codegraph.property_graph.store import Loaded, Server, ServerKind
    from coderag.codegraph.scip.importing import ScipReport
    from coderag.ingestion.indexer import Indexer

_logger = logging.getLogger(__name__)

Progress = Callable[[IndexProgress], None]
Result = TypeVar("Result")


@cache
def load_query_graph() -> "CompiledStateGraph[QueryState, QueryContext, QueryInput, QueryOutput]":
    """Return the compiled query graph. The only place that knows its module's name."""
    graph: CompiledStateGraph[QueryState, QueryContext, QueryInput, QueryOutput]
    graph = import_module("coderag.graphs.query").graph
    return graph


class CodeRAG:
    """One repository: index it, search it, ask it.

    Args:
        root: Folder of the repository.
        settings: Settings to use; by default those of the repository.
        arguments: Settings that win over all others, as in ``CodeRAG(".", search={"top_k": 5})``.

    Raises:
        IngestionError: The folder cannot be indexed: it is missing, no folder, unreadable, a home folder or ``/``.
        ConfigurationError: The settings cannot be used.

    Example:
        >>> rag = CodeRAG("path/to/repo")
        >>> rag.index()
        >>> rag.search("password hashing", top_k=3)
    """

    def __init__(self, root: str | Path = ".", *, settings: Settings | None = None, **arguments: Any) -> None:  # noqa: ANN401
        self.root = check_root(Path(root))
        if settings is not None and arguments:
            raise ConfigurationError("give either settings or single arguments, not both")
        self.settings = settings or Settings.load(self.root, **arguments)
        directory = self.settings.storage.directory
        self._store = IndexStore((self.root / Path(directory).expanduser()) if directory else self.root / ".coderag")
        self._model: DenseModel | None = None
        self._context: QueryContext | None = None
        self._opened = (0, "")
        self._graph: CodeGraph | None = None
        self._graph_opened = (0, "")
        self._opening = threading.Lock()

    def index(self, *, full: bool = False, progress: Progress | None = None) -> IndexReport:
        """Bring the index up to date with the files on disk: only what changed is read and embedded.

        Args:
            full: Build everything anew. After a change of the embedding model this is not needed: all chunks get new
                vectors, and until the last one is there, the old index stays the current one.
            progress: Called as the run goes on.

        Raises:
            IndexLockedError: Another process is writing the index.
            ModelError: The embedding model failed; the last generation is intact, and what was paid for is kept.
            StoreError: The index cannot be written; the last generation is intact.
        """
        return self._indexer(progress).run(full=full)

    def watch(self, *, progress: Progress | None = None, stop: Event | None = None) -> Iterator[IndexReport]:
        """Bring the index up to date, and again whenever files change, until told to stop; yield each run's report.

        Args:
            progress: Called as the runs go on.
            stop: Ends it when set.

        Raises:
            IngestionError: The system cannot watch the folder. Else as `index`; another writer is waited for.
        """
        from coderag.ingestion.watching import watch_changes, when_unlocked  # noqa: PLC0415

        def what_is_ignored() -> Set[str]:
            return ignored

        found = Scan()
        ignored: frozenset[str] = frozenset()
        for edited in chain(
            ((),), watch_changes(self.root, what_is_ignored, stop)
        ):  # what changed until it began is found too
            indexer = self._indexer(progress)
            report = when_unlocked(partial(indexer.run, since=(found, edited) if edited else None), stop)
            found = indexer.found
            ignored = frozenset(path for path, _ in found.ignored)
            if report is None:
                return
            yield report

    def plan(self, *, full: bool = False) -> IndexPlan:
        """Return what `index` would do, and about how long it would take. Nothing is written, no server is asked.

        Args:
            full: As for `index`.

        Raises:
            IndexVersionError: There is an index, but only in other formats.
            StoreError: The index cannot be read.
        """
        from coderag.ingestion.planning import plan_index  # noqa: PLC0415  # only this verb needs it

        return plan_index(self.root, self.settings, self._store, full=full)

    def search(self, query: str, *, top_k: int | None = None, filters: Filters | None = None) -> list[SearchHit]:
        """Return the best declarations and passages for a question, best first.

        Args:
            query: A name, a question or a snippet of code.
            top_k: Number of results, at most; by default ``search.top_k``.
            filters: What may be a result.

        Raises:
            InvalidQueryError: The question is empty or too long.
            IndexNotFoundError: Nothing is indexed yet.
            IndexModelError: The index was made with another embedding model than the configured one.
        """
        context = self._open()
        output = self._run(context, self._input(query, "search", top_k=top_k, filters=filters))
        return make_hits(context.corpus, output["results"])

    def context(
        self, query: str, *, token_budget: int | None = None, filters: Filters | None = None
    ) -> AssembledContext:
        """Return the code for a question, packed into a token budget. Raises as `search`."""
        given = self._input(query, "context", token_budget=token_budget, filters=filters)
        return context_from_record(self._run(self._open(), given)["context"])

    def ask(self, query: str, *, token_budget: int | None = None, filters: Filters | None = None) -> Answer:
        """Return an answer whose citations were checked against the files on disk. Raises as `search`, and `ModelError`."""
        return _run_anywhere(self.aask(query, token_budget=token_budget, filters=filters))

    async def aask(self, query: str, *, token_budget: int | None = None, filters: Filters | None = None) -> Answer:
        """Return an answer, without blocking the event loop while a language model writes it. Raises as `ask`."""
        context = await asyncio.to_thread(self._open)
        given = self._input(query, "answer", token_budget=token_budget, filters=filters)
        output = await self._arun(context, given)
        return answer_from_record(output["answer"], make_hits(context.corpus, output["results"]))

    async def aquery(self, given: QueryInput) -> QueryOutput:
        """Run the query graph and return its whole output as plain values: analysis, results, context, answer, trace.

        Raises as `ask`.
        """
        return await self._arun(await asyncio.to_thread(self._open), given)

    def definition(self, name: str) -> list[SearchHit]:
        """Return where a name is declared, the best match first; empty if it is not."""
        from coderag.codegraph.lookup import definitions  # noqa: PLC0415

        context = self._open()
        return make_hits(context.corpus, definitions(context.corpus, name))

    @property
    def graph(self) -> "CodeGraph":
        """The code graph of the current generation: who calls, imports, extends, overrides and tests what.

        Raises:
            IndexNotFoundError: Nothing is indexed yet.
        """
        with self._opening:
            current = self._current_generation()
            if self._graph is None or self._graph_opened != current:
                return self._graph_of(self._store.open())
            return self._graph

    def callers(self, name: str, depth: int = 1) -> list[GraphNeighbour]:
        """Return what calls a declaration, the nearest and surest first. Raises as the methods of `CodeGraph`."""
        return self.graph.callers(name, depth)

    def callees(self, name: str, depth: int = 1) -> list[GraphNeighbour]:
        """Return the declarations of this repository that a declaration calls."""
        return self.graph.callees(name, depth)

    def impact(self, name: str, depth: int = 3) -> list[GraphNeighbour]:
        """Return what may break when a declaration changes: its callers and theirs, derived types, importing files."""
        return self.graph.impact(name, depth)

    def export_graph(self, to: "ExportFormat" = "json") -> Iterator[bytes]:
        """Yield the code graph in a format that other tools read, piece by piece.

        Args:
            to: ``json``, ``graphml``, or Cypher as Neo4j (``cypher``, ``neo4j``) or ``memgraph`` read it.
        """
        from coderag.codegraph.export.writing import graph_chunks  # noqa: PLC0415  # only this verb needs it

        return graph_chunks(self._store.open().graph(), to, self._project)

    def send_graph(self, to: "ServerKind") -> "Loaded":
        """Replace this repository's graph in the property graph of the settings.

        Raises:
            ConfigurationError: ``graph.url`` is not set, or the extra for the server is not installed.
            StoreError: The server cannot be reached, or refuses.
        """
        from coderag.codegraph.property_graph.store import send_to_server  # noqa: PLC0415  # an extra

        return send_to_server(self._store.open().graph(), self._project, to, self._graph_server(to))

    def property_graph(self, path: Path | None = None) -> "PropertyGraphStore":
        """Return the property graph of the settings, to be asked in Cypher.

        The embedded one gets the current graph; a server has what `send_graph` sent.

        Args:
            path: File of the embedded database, which must not be there yet; None keeps it in memory.

        Raises:
            ConfigurationError: ``graph.url`` is not set, or the extra is not installed.
            StoreError: The database cannot be opened, or the server cannot be reached.
        """
        from coderag.codegraph.property_graph.store import connect, embedded_property_graph  # noqa: PLC0415  # an extra

        kind = self.settings.graph.store
        if kind == "embedded":
            return embedded_property_graph(self._store.open().graph(), self._project, path)
        return connect(kind, self._graph_server(kind))

    def import_scip(self, path: Path) -> "ScipReport":
        """Take the edges of a SCIP index, made by a compiler, in place of ours, as long as its files do not change.

        Raises:
            InvalidQueryError: The file is damaged, no SCIP index, or about none of the files here.
            StoreError: It cannot be read, or the index cannot be written.
        """
        from coderag.codegraph.build import keep_imported  # noqa: PLC0415  # only this verb needs it
        from coderag.codegraph.scip.importing import import_edges  # noqa: PLC0415

        snapshot = self._store.open()
        tables = snapshot.graph()._replace(facts=snapshot.facts())
        hashes = {record.path: record.hash for record in snapshot.files()}
        imported, report = import_edges(path, tables, hashes, self.root)
        keep_imported(self._store.directory, imported)
        self.index()
        return report

    def status(self) -> IndexStatus:
        """Return what is indexed, and what on disk differs from it.

        Raises:
            IndexNotFoundError: Nothing is indexed yet.
        """
        from coderag.codegraph.linking.rules.table import FULLY_LINKED  # noqa: PLC0415  # only this verb needs it
        from coderag.ingestion.planning import configured_embedding  # noqa: PLC0415  # only this verb and `plan` need it

        snapshot = self._store.open()
        pointer, records = snapshot.pointer, snapshot.files()
        ingestion = self.settings.ingestion
        found = scan(self.root, max_file_bytes=ingestion.max_file_bytes, exclude=ingestion.exclude)
        changes = find_changes(found, manifest_of(snapshot))
        added, changed, removed = changes.confirmed(self.root, ingestion.max_file_bytes)
        indexed = [record for record in records if record.outcome == "indexed"]
        return IndexStatus(
            root=str(self.root),
            directory=str(snapshot.directory),
            generation=pointer.generation,
            created=pointer.created,
            embedding=pointer.embedding.name,
            files=len(records),
            chunks=sum(record.chunks for record in indexed),
            symbols=sum(record.symbols for record in indexed),
            lines=sum(record.lines for record in indexed),
            languages=dict(Counter(record.language for record in indexed).most_common()),
            outcomes=dict(Counter(record.outcome for record in records)),
            skipped=dict(Counter(record.reason for record in records if record.outcome == "skipped").most_common()),
            failed=[(record.path, record.reason) for record in records if record.outcome == "failed"],
            notes=[(record.path, record.note) for record in indexed if record.note],
            added=added,
            changed=changed,
            removed=removed,
            configured=configured_embedding(self.settings.embedding, pointer.embedding),
            edges=pointer.edges,
            linked=sorted(FULLY_LINKED.intersection(record.language for record in indexed)),
        )

    # Inside

    def _indexer(self, progress: Progress | None) -> "Indexer":
        from coderag.codegraph.build import GraphBuilder, read_imported  # noqa: PLC0415  # only writers need it
        from coderag.ingestion.indexer import Indexer  # noqa: PLC0415  # LlamaIndex takes two seconds to import
        from coderag.ingestion.workers.worker_pool import number_of_workers  # noqa: PLC0415

        processes = max(1, number_of_workers(self.settings.ingestion.workers))
        builder = GraphBuilder(read_imported(self._store.directory), processes=processes)
        return Indexer(self.root, self.settings, self._store, self._dense_model(), progress, graph_builder=builder)

    def _dense_model(self) -> DenseModel:
        if self._model is None:
            model = make_dense_model(self.settings.embedding)
            if isinstance(model, ProviderDense):
                model.mask = self._path_mask
            self._model = model
        return self._model

    @cached_property
    def _path_mask(self) -> PathMask | None:
        """What paths are masked with before they are sent to a server."""
        return path_mask(self.settings.privacy, self._store.directory)

    def _graph_server(self, kind: "ServerKind") -> "Server":
        from coderag.codegraph.property_graph.store import Server  # noqa: PLC0415  # an extra

        settings = self.settings.graph
        if not settings.url:
            hint = f"Say where {kind} is, such as bolt://localhost:7687."
            raise ConfigurationError("graph.url is not set", hint=hint)
        password = settings.password.get_secret_value()
        return Server(settings.url, settings.user, password, settings.database, settings.timeout_s)

    @property
    def _project(self) -> str:
        return self.settings.project or self.root.name

    def _open(self) -> QueryContext:
        """Return the current generation, opened once and again only after a commit."""
        with self._opening:
            current = self._current_generation()
            if self._context is None or current != self._opened:
                self._context = self._load()
                self._opened = current
            return self._context

    def _graph_of(self, snapshot: Snapshot) -> "CodeGraph":
        """Return the code graph of a generation, the one that is open already if it is its."""
        from coderag.codegraph.graph import CodeGraph  # noqa: PLC0415
        from coderag.codegraph.symbol_graph import SymbolGraph  # noqa: PLC0415

        opened = (snapshot.pointer.generation, snapshot.pointer.created)
        if self._graph is None or self._graph_opened != opened:
            self._graph = CodeGraph(SymbolGraph(snapshot.graph))
            self._graph_opened = opened
        return self._graph

    def _current_generation(self) -> tuple[int, str]:
        """Return what tells the current generation from others: a new index counts from 1 again."""
        pointer = self._store.pointer()
        if pointer is None:
            raise IndexNotFoundError(f"{self.root} is not indexed yet", hint="Run `coderag index` in it first.")
        return pointer.generation, pointer.created

    def _load(self) -> QueryContext:
        with collector_paused():
            return self._load_context()

    def _load_context(self) -> QueryContext:
        from coderag.codegraph.neighbours import Neighbours  # noqa: PLC0415
        from coderag.stores.corpus import Corpus  # noqa: PLC0415

        model = self._dense_model()
        snapshot = _with_vectors_of(model, self._store.open())
        corpus = Corpus(snapshot)
        graph = self._graph_of(snapshot)
        writer = make_answer_writer(self.settings.llm)
        embedder: QueryEmbedder = model
        paths = None
        if (writer or isinstance(model, ProviderDense)) and (mask := self._path_mask):
            paths = MaskedPaths(mask, (record.path for record in snapshot.files()))
            if isinstance(model, ProviderDense):
                embedder = MaskedQueries(model, paths)
        return QueryContext(
            corpus=corpus,
            graph=graph,
            neighbours=Neighbours(corpus, graph),
            root=str(self.root),
            project=self._project,
            embedder=embedder,
            settings=self.settings.search,
            writer=writer,
            masked_paths=paths,
        )

    def _input(
        self,
        query: str,
        goal: Goal,
        *,
        top_k: int | None = None,
        token_budget: int | None = None,
        filters: Filters | None = None,
    ) -> QueryInput:
        given = QueryInput(query=query, goal=goal)
        if top_k is not None:
            given["top_k"] = _within("top_k", top_k, 1, MOST_RESULTS)
        if token_budget is not None:
            given["token_budget"] = _within("token_budget", token_budget, LEAST_TOKENS, MOST_TOKENS)
        if filters:
            given["filters"] = FilterValues(
                languages=list(filters.languages),
                kinds=list(filters.kinds),
                paths=list(filters.paths),
                roles=list(filters.roles),
            )
        return given

    async def _arun(self, context: QueryContext, given: QueryInput) -> QueryOutput:
        output: QueryOutput = await load_query_graph().ainvoke(given, context=context)  # type: ignore[assignment]
        return output

    def _run(self, context: QueryContext, given: QueryInput) -> QueryOutput:
        output: QueryOutput = load_query_graph().invoke(given, context=context)  # type: ignore[assignment]
        return output


def _with_vectors_of(model: DenseModel, stored: Snapshot) -> Snapshot:
    """Return a generation with vectors of the configured model.

    Whoever has updated the package has chosen no other model, and the old version of the embedded one is gone. The new
    one's vectors are made of what is stored, in memory, so a search is as good as after `index`, but takes longer to start.

    Raises:
        IndexModelError: The index was made with a model that is not another version of the configured one.
    """
    recorded, configured = stored.pointer.embedding, model.info
    if recorded == configured or not recorded.provider == configured.provider == "embedded":
        check_embedding(recorded, model)
        return stored
    from coderag.ingestion.reembedding import ReembeddedSnapshot  # noqa: PLC0415  # only after an update of the package

    _logger.warning(
        "The index has vectors of %s, and CodeRAG has %s now: they are made anew in memory. "
        "`coderag index` stores them, so that searching starts faster.",
        recorded.name,
        configured.name,
    )
    return ReembeddedSnapshot(stored, model)


def _within(name: str, value: int, least: int, most: int) -> int:
    if not least <= value <= most:
        raise InvalidQueryError(f"{name} is {value}; it must be from {least:,} to {most:,}")
    return value


def _run_anywhere(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end, also where an event loop is running already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()
