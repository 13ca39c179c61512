"""`CodeRAG`: the facade that every interface uses. Loads the graphs by name."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import aclosing
from copy import copy
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from itertools import count
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Self

from coderag.config.sections import MAX_TOKENS, MIN_TOKENS, SearchSettings
from coderag.config.settings import Settings
from coderag.engine.open_index import OpenIndex
from coderag.engine.query_input import build_query_input, check_range, resolve_filters
from coderag.engine.query_runs import MAX_RUNS, QueryRunner, build_answer, verdict_fields
from coderag.engine.telemetry import build_tracer
from coderag.errors import ConfigurationError
from coderag.ingestion.files.scanner import check_root
from coderag.models.dense import DenseModel, ProviderDense
from coderag.models.llms.chosen import LanguageModels
from coderag.models.protocols import LanguageModel
from coderag.models.providers import make_dense_model
from coderag.models.redacting import without_secrets
from coderag.question.places import parse_location_paths
from coderag.retrieval.context.shown_lines import merge_keys
from coderag.retrieval.filters import NO_FILTERS
from coderag.retrieval.hits import build_hits
from coderag.retrieval.query_context import QueryContext
from coderag.retrieval.source_paths import source_paths
from coderag.retrieval.text_search.text_matches import DEFAULT_MAX_MATCHES, MAX_CONTEXT_LINES, MAX_COUNTED_MATCHES
from coderag.schema.answers import Answer, AnswerEvent
from coderag.schema.context import AssembledContext
from coderag.schema.graph import GraphNeighbour
from coderag.schema.index_plan import IndexPlan
from coderag.schema.indexing import IndexProgress, IndexReport, IndexStatus
from coderag.schema.query import FilterValues, Goal, QueryInput, QueryOutput, QueryState
from coderag.schema.records import to_context
from coderag.schema.search import Filters, SearchHit, SearchHits
from coderag.schema.vocabulary import ContextFormat
from coderag.stores.chat_memory import ChatMemory
from coderag.stores.context_sessions import ContextSessions
from coderag.stores.index_locations import find_index_folder
from coderag.stores.index_store import IndexStore
from coderag.stores.search_counts import SearchCounts
from coderag.system.event_loop import run_sync

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph
    from llama_index.core.graph_stores.types import PropertyGraphStore
    from llama_index.core.llms import LLM

    from coderag.answering.chat.state import ChatContext, ChatInput, ChatOutput, ChatState
    from coderag.codegraph.export.formats import ExportFormat
    from coderag.codegraph.graph import CodeGraph
    from coderag.codegraph.property_graph.store import PropertyGraphCounts, ServerKind
    from coderag.codegraph.scip.importer import ScipReport
    from coderag.engine.chat import Chat, ChatThreads
    from coderag.engine.enrichment import Summaries
    from coderag.ingestion.indexer import Indexer
    from coderag.ingestion.summaries.results import EnrichProgress, EnrichReport
    from coderag.retrieval.explanation import Explanation
    from coderag.retrieval.text_search.text_matches import TextMatches

Progress = Callable[[IndexProgress], None]


@cache
def load_query_graph() -> "CompiledStateGraph[QueryState, QueryContext, QueryInput, QueryOutput]":
    """Return the compiled query graph. The only place that knows its module's name."""
    graph: CompiledStateGraph[QueryState, QueryContext, QueryInput, QueryOutput]
    graph = import_module("coderag.graphs.query").graph
    return graph


@cache
def load_chat_graph() -> "CompiledStateGraph[ChatState, ChatContext, ChatInput, ChatOutput]":
    """Return the compiled chat graph, likewise."""
    graph: CompiledStateGraph[ChatState, ChatContext, ChatInput, ChatOutput]
    graph = import_module("coderag.graphs.chat").graph
    return graph


class CodeRAG:
    """One repository: index it, search it, ask it.

    Args:
        root: Folder of the repository.
        settings: Settings to use; by default those of the repository.
        language_model: Writes answers and summaries in place of the one that the settings name: any `LanguageModel`, or
            an ``LLM`` of LlamaIndex.
        trusted: Whether the files of the repository may say everything; else only what restricts (docs/trust.md). Given
            settings say that themselves.
        on_edited: Called with paths of files that differ from the index, from the thread that found it: that of a question, or
            the one of `follow`, which may name files that are the same or ignored, and with an empty path says that any may
            differ. It must be quick, and must not raise.
        arguments: Settings that win over all others, as in ``CodeRAG(".", search={"top_k": 5})``.

    Raises:
        IngestionError: The folder cannot be indexed: it is missing, no folder, unreadable, a home folder or ``/``.
        ConfigurationError: The settings cannot be used.

    Example:
        >>> rag = CodeRAG("path/to/repo")
        >>> rag.index()
        >>> rag.search("password hashing", top_k=3)
    """

    def __init__(
        self,
        root: str | Path = ".",
        *,
        settings: Settings | None = None,
        language_model: "LanguageModel | LLM | None" = None,
        trusted: bool = True,
        on_edited: Callable[[Collection[str]], None] | None = None,
        **arguments: Any,  # noqa: ANN401  # checked by `Settings.load`
    ) -> None:
        self.root = check_root(Path(root))
        if settings is not None and arguments:
            raise ConfigurationError("give either settings or single arguments, not both")
        self.settings = settings or Settings.load(self.root, trusted=trusted, **arguments)
        self._store = IndexStore(find_index_folder(self.root, self.settings.storage))
        self._sessions = ContextSessions(self._store.directory)
        self._chats = ChatMemory(self.settings.chat, self._store.directory, self._project)
        self._loaded_dense_model: DenseModel | None = None
        self._language_models = LanguageModels(self.settings, language_model)
        has_language_model = self.settings.llm.provider != "none" or language_model is not None
        counts = SearchCounts(
            self._store.directory, is_enabled=has_language_model and self.settings.summaries.count_results
        )
        self._open_index = OpenIndex(
            self.root, self.settings, self._store, self._load_dense_model, self._language_models, on_edited
        )
        self._runs = QueryRunner(load_query_graph, build_tracer(self.settings.telemetry), counts, self._open_index)

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
        return self.make_indexer(progress).run(full=full)

    def make_indexer(self, progress: Progress | None = None) -> "Indexer":
        """Return what makes one run of indexing, for who wants to say what has changed, as a watch can. Raises as `index`."""
        from coderag.codegraph.code_graph_builder import CodeGraphBuilder, load_imported_edges  # noqa: PLC0415  # only writers need it
        from coderag.ingestion.indexer import Indexer  # noqa: PLC0415  # LlamaIndex takes two seconds to import
        from coderag.ingestion.workers.worker_pool import helpers_of  # noqa: PLC0415

        builder = CodeGraphBuilder(
            load_imported_edges(self._store.directory), helpers_of(self.settings.ingestion.workers)
        )
        return Indexer(self.root, self.settings, self._store, self._load_dense_model(), progress, graph_builder=builder)

    def watch(self, *, progress: Progress | None = None, stop: Event | None = None) -> Iterator[IndexReport]:
        """Bring the index up to date, and again whenever files change, until told to stop; yield each run's report.

        Args:
            progress: Called as the runs go on.
            stop: Ends it when set.

        Raises:
            IngestionError: The system cannot watch the folder. Else as `index`; another writer is waited for.
        """
        from coderag.ingestion.watching import index_on_changes  # noqa: PLC0415  # only this verb needs it

        return index_on_changes(self.root, partial(self.make_indexer, progress), stop)

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

    def enrich(
        self,
        *,
        budget_s: float | None = None,
        max_cost: float | None = None,
        limit: int | None = None,
        include: Sequence[str] = (),
        progress: "Callable[[EnrichProgress], None] | None" = None,
        stop: Event | None = None,
    ) -> "EnrichReport":
        """Have the language model summarise the code, the most used first (docs/summaries.md).

        Searches see the summaries in small generations. Killed at any moment, it loses the requests that are under way; the
        next run does no finished work again.

        Args:
            budget_s: Seconds it may take.
            max_cost: What it may cost by the prices of ``llm``; by default ``summaries.max_cost``.
            limit: Pieces of code to summarise, at most.
            include: Roles of files to summarise that are left out otherwise: test, generated, vendored.
            progress: Called as the run goes on.
            stop: Ends it when set.

        Raises:
            ConfigurationError: There is no language model, or no price for `max_cost`.
            IndexNotFoundError: Nothing is indexed yet.
            ModelError: The language model fails at everything.
            StoreError: What was written cannot be stored.
        """
        from coderag.ingestion.summaries.enriching import Limits  # noqa: PLC0415  # only this verb needs it

        limits = Limits(budget_s, max_cost, limit)
        return self.summaries.write(limits, include=include, progress=progress, stop=stop)

    @property
    def summaries(self) -> "Summaries":
        """The summaries of this repository: to plan them, to take some that were written elsewhere, to follow the edits."""
        from coderag.engine.enrichment import Summaries  # noqa: PLC0415  # as above

        models, counts = self._language_models, self._runs.search_counts
        return Summaries(
            self.root, self.settings, self._store, self._load_dense_model, models, self._open_index, counts
        )

    def search(self, query: str, *, top_k: int | None = None, filters: Filters | None = None) -> SearchHits:
        """Return the best declarations and passages for a question, best first, and how well they answer it.

        Args:
            query: A name, a question or a snippet of code.
            top_k: Number of results, at most; by default ``search.top_k``.
            filters: What may be a result.

        Raises:
            InvalidQueryError: The question is empty or too long.
            IndexNotFoundError: Nothing is indexed yet.
            IndexModelError: The index was made with another embedding model than the configured one.
        """
        query_input = self._make_input(query, "search", top_k=top_k, filters=filters)
        context, output = self._runs.run(self._open(), query_input)
        return SearchHits(build_hits(context.corpus, output["results"]), **verdict_fields(output))

    def with_search(self, search: SearchSettings) -> "CodeRAG":
        """Return the same repository, searched with other settings. The open index is shared. Raises as `search`."""
        self._open()  # whatever is wrong with the index is said here
        variant = copy(self)
        variant.settings = self.settings.model_copy(update={"search": search})
        no_counts = SearchCounts(self._store.directory, is_enabled=False)  # a trial is no use of the results
        variant._runs = replace(self._runs, search_counts=no_counts)
        return variant

    def explain(
        self,
        query: str,
        *,
        top_k: int | None = None,
        token_budget: int | None = None,
        filters: Filters | None = None,
    ) -> "Explanation":
        """Return why each result is where it is, and what of it a context of `token_budget` shows. Raises as `search`."""
        from coderag.retrieval.explanation import explain_output  # noqa: PLC0415  # only this verb needs it

        result_count = top_k or self.settings.search.top_k
        top_k_override = (
            result_count if result_count > self.settings.search.top_k else None
        )  # a context has candidates of its own number
        query_input = self._make_input(
            query, "context", top_k=top_k_override, token_budget=token_budget, filters=filters
        )
        query_input["explain"] = True
        context, output = self._runs.run(self._open(), query_input)
        return explain_output(context.corpus, query, output, result_count)

    def search_text(
        self,
        text: str,
        *,
        regex: bool = False,
        ignore_case: bool = False,
        context_lines: int = 0,
        limit: int = DEFAULT_MAX_MATCHES,
        filters: Filters | None = None,
    ) -> "TextMatches":
        """Return where a text or a regular expression stands in the indexed files, as they are on disk now.

        Args:
            text: The text, of one line or several; or the pattern, in the syntax of `re` or of the package ``regex``.
            regex: Whether it is a pattern. ``^`` and ``$`` are the ends of a line; a match may go over several lines.
            ignore_case: Whether ``a`` is ``A`` as well.
            context_lines: Lines around each match to return with it.
            limit: Number of matches to return, at most; all are counted.
            filters: Which files; of kinds and complexity, which declarations around a match.

        Raises:
            InvalidQueryError: The text is empty or too long, or no regular expression.
            IndexNotFoundError: Nothing is indexed yet.
            RetrievalError: It takes too long.
        """
        values = self._resolve_filters(filters) if filters else NO_FILTERS
        return self._open_index.open_text_search().find(
            text,
            "regex" if regex else "exact",
            ignore_case=ignore_case,
            filters=values,
            limit=check_range("limit", limit, 1, MAX_COUNTED_MATCHES),
            context_lines=check_range("context_lines", context_lines, 0, MAX_CONTEXT_LINES),
        )

    def context(
        self,
        query: str,
        *,
        token_budget: int | None = None,
        filters: Filters | None = None,
        format: ContextFormat = "markdown",  # noqa: A002  # what it is called everywhere
        shown: Sequence[str] = (),
        session: str | None = None,
    ) -> AssembledContext:
        """Return the code for a question, packed into a token budget. Raises as `search`.

        Args:
            query: A name, a question, a bug report or a snippet of code.
            token_budget: Size of the text, in tokens, at most; by default ``search.token_budget``.
            filters: What may be a result.
            format: Of the text.
            shown: What an earlier context has as ``shown``: that code is left out, as long as it has not been edited.
            session: Name under which what was shown is kept beside the index, for the next context of that name.
        """
        query_input = self._make_input(query, "context", token_budget=token_budget, filters=filters)
        query_input["format"] = format
        query_input["shown"] = [*shown, *(self._sessions.read(session) if session else ())]
        _, output = self._runs.run(self._open(), query_input)
        context = to_context({**output["context"], **verdict_fields(output)})
        if session:
            self._sessions.update(session, lambda earlier: merge_keys(earlier, context.shown))
        return context

    def forget(self, session: str) -> bool:
        """Forget what the contexts of a session have shown; return whether there was such a session."""
        return self._sessions.forget(session)

    def read(
        self,
        places: Sequence[str],
        *,
        token_budget: int | None = None,
        format: ContextFormat = "markdown",  # noqa: A002  # as of `context`
    ) -> AssembledContext:
        """Return lines of indexed files, as the omissions of a context name them.

        Args:
            places: Each as ``path``, ``path:10`` or ``path:10-42``, seen from the repository's root.
            token_budget: As of `context`; longer code is elided.
            format: Of the text.

        Raises:
            InvalidQueryError: A file is not in the index, is gone, or has no such lines.
        """
        from coderag.retrieval.context.packing import pack_locations  # noqa: PLC0415  # only contexts need it

        budget = check_range("token_budget", token_budget, MIN_TOKENS, MAX_TOKENS) if token_budget is not None else None
        paths = parse_location_paths(places)
        context = self._open_index.include_files(self._open(), paths)
        return pack_locations(context.corpus, places, budget or self.settings.search.token_budget, format)

    def ask(self, query: str, *, token_budget: int | None = None, filters: Filters | None = None) -> Answer:
        """Return an answer whose citations were checked against the files on disk. Raises as `search`, and `ModelError`."""
        return run_sync(self.aask(query, token_budget=token_budget, filters=filters))

    async def aask(self, query: str, *, token_budget: int | None = None, filters: Filters | None = None) -> Answer:
        """Return an answer, without blocking the event loop while a language model writes it. Raises as `ask`."""
        query_input = await asyncio.to_thread(
            self._make_input, query, "answer", token_budget=token_budget, filters=filters
        )
        context = await asyncio.to_thread(self._open)
        return build_answer(*await self._runs.arun(context, query_input))

    async def astream(
        self, query: str, *, token_budget: int | None = None, filters: Filters | None = None, history: str = ""
    ) -> AsyncIterator[AnswerEvent]:
        """Yield an answer while it is written, and last the whole of it, which is that of `aask`. Raises as `ask`.

        Args:
            query: As of `search`.
            token_budget: As of `context`.
            filters: What may be a result.
            history: What was said before in a conversation, for the language model.
        """
        query_input = await asyncio.to_thread(
            self._make_input, query, "answer", token_budget=token_budget, filters=filters
        )
        context = await asyncio.to_thread(self._open)
        if history:
            query_input["history"] = history
        async with aclosing(self._runs.astream(context, query_input)) as events:
            async for event in events:
                yield event

    async def aquery(self, query_input: QueryInput) -> QueryOutput:
        """Run the query graph and return its whole output as plain values: analysis, results, context, answer, trace.

        Raises as `ask`.
        """
        _, output = await self._runs.arun(await asyncio.to_thread(self._open), query_input)
        return output

    def chat(self, thread: str | None = None) -> "Chat":
        """Return a conversation that remembers what was asked and cited.

        Args:
            thread: Id of an earlier one, or a name for a new one; None begins a new one.

        Raises:
            InvalidQueryError: The id cannot be one.
        """
        from coderag.engine.chat import Chat  # noqa: PLC0415  # loads LangGraph

        return Chat(thread, self._chats, self.build_chat_context, load_chat_graph)

    def open_chat_threads(self) -> "ChatThreads":
        """Return the conversations of this repository: to list, to export and to delete."""
        from coderag.engine.chat import ChatThreads  # noqa: PLC0415  # as above

        return ChatThreads(self._chats)

    def build_chat_context(self) -> "ChatContext":
        """Return what the chat graph works with, for a program that runs the graph itself. Raises as `search`."""
        from coderag.engine.chat import make_chat_context  # noqa: PLC0415  # loads LangGraph

        query = self._open_index.open_context(self.settings.search, sweep="unless watched")
        return make_chat_context(query, self._runs.arun, self.settings)

    def definition(self, name: str) -> list[SearchHit]:
        """Return where a name is declared, the best match first; empty if it is not."""
        from coderag.codegraph.lookup import find_definitions  # noqa: PLC0415

        context = self._open()
        for attempt in count():
            rows = find_definitions(context.corpus, name)
            paths = source_paths(context.corpus, {"results": rows})
            refreshed = self._open_index.refresh_context(context, paths, sweep=not rows) if attempt < MAX_RUNS else None
            if refreshed is None:
                break
            context = refreshed
        return build_hits(context.corpus, rows)

    @property
    def graph(self) -> "CodeGraph":
        """The code graph: who calls, imports, extends, overrides and tests what.

        It is that of the files as they are now: edits are looked for whenever it is asked for, so ask for it anew.

        Raises:
            IndexNotFoundError: Nothing is indexed yet.
        """
        return self._open_index.open_graph()

    def callers(self, name: str, depth: int = 1) -> list[GraphNeighbour]:
        """Return what calls a declaration, the nearest and surest first. Raises as the methods of `CodeGraph`."""
        return self.graph.callers(name, depth)

    def callees(self, name: str, depth: int = 1) -> list[GraphNeighbour]:
        """Return the declarations of this repository that a declaration calls."""
        return self.graph.callees(name, depth)

    def impact(self, name: str, depth: int = 3) -> list[GraphNeighbour]:
        """Return what may break when a declaration changes: its callers and theirs, derived types, importing files."""
        return self.graph.impact(name, depth)

    # Edited files

    def flag(self, paths: Iterable[str]) -> None:
        """Say that files or folders may have changed, by their paths relative to the root; an empty one stands for all.

        The next answer looks at them, and is made from them as they are now.
        """
        self._open_index.live.flag(paths)

    def list_edited(self) -> list[str]:
        """Return the paths of the files that are known to differ from the index: edited, new or gone.

        Raises:
            StoreError: The index cannot be read.
        """
        return self._open_index.list_edited_files()

    def follow(self) -> None:
        """Watch the files from now on, so that every answer sees every edit that was complete before the question.

        Without it, answers see edits of the files that they stand on at once, and other edits after some seconds. A second
        call does nothing. Where the system cannot watch, nothing changes.
        """
        self._open_index.live.follow()

    def close(self) -> None:
        """End `follow`, as the end of a ``with`` does, and let go of what is kept for edited files. It can still be asked."""
        self._open_index.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def export_graph(self, to: "ExportFormat" = "json") -> Iterator[bytes]:
        """Yield the code graph in a format that other tools read, piece by piece.

        Args:
            to: ``json``, ``graphml``, or Cypher as Neo4j (``cypher``, ``neo4j``) or ``memgraph`` read it.
        """
        from coderag.codegraph.export.formats import stream_graph  # noqa: PLC0415  # only this verb needs it

        return stream_graph(self._store.open().read_graph(), to, self._project)

    def send_graph(self, to: "ServerKind") -> "PropertyGraphCounts":
        """Replace this repository's graph in the property graph of the settings.

        Raises:
            ConfigurationError: ``graph.url`` is not set, or the extra for the server is not installed.
            StoreError: The server cannot be reached, or refuses.
        """
        from coderag.engine.graph_exchange import send_graph  # noqa: PLC0415  # an extra

        return send_graph(self._store, self._project, to, self.settings.graph)

    def open_property_graph(self, path: Path | None = None) -> "PropertyGraphStore":
        """Return the property graph of the settings, to be asked in Cypher.

        The embedded one gets the current graph; a server has what `send_graph` sent.

        Args:
            path: File of the embedded database, which must not be there yet; None keeps it in memory.

        Raises:
            ConfigurationError: ``graph.url`` is not set, or the extra is not installed.
            StoreError: The database cannot be opened, or the server cannot be reached.
        """
        from coderag.engine.graph_exchange import open_property_graph  # noqa: PLC0415  # an extra

        return open_property_graph(self._store, self._project, path, self.settings.graph)

    def import_scip(self, path: Path) -> "ScipReport":
        """Take the edges of a SCIP index, made by a compiler, in place of ours, as long as its files do not change.

        Raises:
            InvalidQueryError: The file is damaged, no SCIP index, or about none of the files here.
            StoreError: It cannot be read, or the index cannot be written.
        """
        from coderag.engine.graph_exchange import import_scip  # noqa: PLC0415  # only this verb needs it

        report = import_scip(self._store, self.root, path)
        self.index()
        return report

    def status(self) -> IndexStatus:
        """Return what is indexed, and what on disk differs from it.

        Raises:
            IndexNotFoundError: Nothing is indexed yet.
        """
        from coderag.engine.index_status import read_index_status  # noqa: PLC0415  # only this verb needs it

        return read_index_status(self.root, self.settings, self._store.open())

    # Inside

    def _load_dense_model(self) -> DenseModel:
        if self._loaded_dense_model is None:
            model = make_dense_model(self.settings.embedding)
            if isinstance(model, ProviderDense):
                model.mask = self._open_index.path_mask
                if self.settings.privacy.redact_secrets:
                    model.send_through(without_secrets)
            self._loaded_dense_model = model
        return self._loaded_dense_model

    @property
    def _project(self) -> str:
        return self.settings.project or self.root.name

    def _open(self) -> QueryContext:
        return self._open_index.open_context(self.settings.search)

    def _make_input(
        self,
        query: str,
        goal: Goal,
        *,
        top_k: int | None = None,
        token_budget: int | None = None,
        filters: Filters | None = None,
    ) -> QueryInput:
        values = self._resolve_filters(filters) if filters else None
        return build_query_input(query, goal, top_k=top_k, token_budget=token_budget, filters=values)

    def _resolve_filters(self, filters: Filters) -> FilterValues:
        return resolve_filters(filters, self.root, self._store)
