"""Facade `CodeRAG` that every interface uses."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import aclosing
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Self

from coderag.config.sections import MAX_TOKENS, MIN_TOKENS, SearchSettings
from coderag.config.settings import Settings
from coderag.engine.browsing.browser import BrowserAccess
from coderag.engine.change_queries import ChangeQueries
from coderag.engine.graph_exchange_queries import GraphExchange
from coderag.engine.history_queries import HistoryQueries
from coderag.engine.items.item_finder import LazyItemFinder
from coderag.engine.items.item_queries import ItemQueries
from coderag.engine.mention_queries import MentionQueries
from coderag.engine.open_index import OpenIndex
from coderag.engine.query_input import build_query_input, check_range, resolve_filters
from coderag.engine.query_runs import MAX_RUNS, QueryRunner, build_answer, verdict_fields
from coderag.engine.reader import OWNER, Reader
from coderag.engine.telemetry import build_tracer
from coderag.engine.view_queries import ViewQueries
from coderag.errors import ConfigurationError
from coderag.ingestion.files.scanner import check_root
from coderag.models.dense import DenseModel, ProviderDense
from coderag.models.llms.language_models import LanguageModels
from coderag.models.protocols import LanguageModel
from coderag.models.providers import make_dense_model
from coderag.models.redaction.redacting_models import redact_remote
from coderag.question.places import parse_location_paths
from coderag.retrieval.context.shown_lines import merge_keys
from coderag.retrieval.filters import NO_FILTERS
from coderag.retrieval.hits import build_hits
from coderag.retrieval.query_context import QueryContext
from coderag.retrieval.search_notes import describe_notes
from coderag.retrieval.source_paths import source_paths
from coderag.schema.answers import Answer, AnswerEvent
from coderag.schema.context import AssembledContext
from coderag.schema.graph import GraphNeighbour
from coderag.schema.index_plan import IndexPlan
from coderag.schema.indexing import IndexProgress, IndexReport, IndexStatus
from coderag.schema.query import FilterValues, Goal, QueryInput, QueryOutput
from coderag.schema.records import to_context
from coderag.schema.search import Filters, SearchHit, SearchHits
from coderag.schema.text_matches import DEFAULT_MAX_MATCHES, MAX_CONTEXT_LINES, MAX_COUNTED_MATCHES
from coderag.schema.vocabulary import ContextFormat
from coderag.stores.chat_storage import ChatMemory
from coderag.stores.context_sessions import ContextSessions
from coderag.stores.index_locations import find_index_folder, open_object_index
from coderag.stores.index_store import IndexStore
from coderag.stores.search_counts import SearchCounts
from coderag.system.event_loop import run_sync

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from coderag.answering.chat.state import ChatContext
    from coderag.codegraph.graph import CodeGraph
    from coderag.codegraph.scip.importer import ScipReport
    from coderag.engine.chat import Chat, ChatThreads
    from coderag.engine.enrichment import Summaries
    from coderag.ingestion.indexer import Indexer
    from coderag.ingestion.summaries.enrich_results import EnrichProgress, EnrichReport
    from coderag.retrieval.explanation import Explanation
    from coderag.schema.text_matches import TextMatches
from coderag.engine.graph_loader import load_chat_graph, load_query_graph

Progress = Callable[[IndexProgress], None]


class CodeRAG(MentionQueries, ViewQueries, ChangeQueries, BrowserAccess, HistoryQueries, ItemQueries, GraphExchange):
    """A repository: index it, search it, ask it.

    Args:
        root: Folder of the repository.
        settings: Settings to use; by default those of the repository.
        language_model: Language model that replaces the configured one: any `LanguageModel`, or an ``LLM`` of
            LlamaIndex.
        trusted: Whether the repository's settings files may set everything; otherwise they may only restrict
            (docs/trust.md). Ignored if `settings` is given.
        on_edited: Called with paths that differ from the index, in the thread of a query or of `follow`. The latter may
            name unchanged or ignored files; an empty path means that any file may. It must be quick and must not raise.
        arguments: Settings that win over all others, as in ``CodeRAG(".", search={"top_k": 5})``.

    Raises:
        IngestionError: The folder cannot be indexed: it is missing, not a folder, unreadable, a home folder or ``/``.
        ConfigurationError: The settings are invalid.

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
        **arguments: Any,  # noqa: ANN401  # validated by `Settings.load`
    ) -> None:
        self.root = check_root(Path(root))
        if settings is not None and arguments:
            raise ConfigurationError("give either settings or single arguments, not both")
        self.settings = settings or Settings.load(self.root, trusted=trusted, **arguments)
        self._object_index = open_object_index(self.root, self.settings)
        refresh = self._object_index.refresh if self._object_index is not None else None
        self._store = IndexStore(find_index_folder(self.root, self.settings.storage), refresh=refresh)
        self._reader = OWNER
        self._sessions = ContextSessions(self._store.directory)
        self._chats = ChatMemory(self.settings.chat, self._store.directory, self._project)
        self._loaded_dense_model: DenseModel | None = None
        self._language_models = LanguageModels(self.settings, language_model)
        has_language_model = self.settings.llm.provider != "none" or language_model is not None
        is_counting = has_language_model and self.settings.summaries.count_results
        counts = SearchCounts(self._store.directory, is_enabled=is_counting)
        models, load = self._language_models, self._load_dense_model
        self._open_index = OpenIndex(self.root, self.settings, self._store, load, models, on_edited)
        self._runs = QueryRunner(load_query_graph, build_tracer(self.settings.telemetry), counts, self._open_index)

    def index(self, *, full: bool = False, progress: Progress | None = None) -> IndexReport:
        """Update the index from the files on disk; only changed files are read and embedded.

        Args:
            full: Rebuild everything. Not needed after a change of the embedding model: all chunks get new vectors, and
                the old index stays current until they are complete.
            progress: Called with the progress of the run.

        Raises:
            IndexLockedError: Another process is writing the index.
            ModelError: The embedding model failed; the last generation is intact, and vectors that were paid for are
                kept.
            StoreError: The index cannot be written; the last generation is intact.
            ObjectStorageError: The index cannot be published (docs/operating/object-storage.md).
        """
        return self.publish_run(lambda: self.make_indexer(progress).run(full=full))

    def publish_run(self, run: "Callable[[], IndexReport]") -> IndexReport:
        """Run indexing; with object storage, build on the published generation and publish the result.

        Args:
            run: Indexes the repository. It is called again if another machine publishes meanwhile.
        """
        return run() if self._object_index is None else self._object_index.publish_run(run)

    def make_indexer(self, progress: Progress | None = None) -> "Indexer":
        """Make the object for one indexing run, for callers that know what has changed, such as a watch.

        Raises as `index`.
        """
        from coderag.codegraph.code_graph_builder import CodeGraphBuilder, load_imported_edges  # noqa: PLC0415  # only writers need it
        from coderag.ingestion.indexer import Indexer  # noqa: PLC0415  # importing LlamaIndex takes two seconds
        from coderag.ingestion.workers.worker_pool import build_helpers  # noqa: PLC0415

        builder = CodeGraphBuilder(
            load_imported_edges(self._store.directory), build_helpers(self.settings.ingestion.workers)
        )
        return Indexer(self.root, self.settings, self._store, self._load_dense_model(), progress, graph_builder=builder)

    def watch(self, *, progress: Progress | None = None, stop: Event | None = None) -> Iterator[IndexReport]:
        """Update the index now and whenever files change, until stopped; yield the report of each run.

        Args:
            progress: Called with the progress of the runs.
            stop: Ends it when set.

        Raises:
            IngestionError: The system cannot watch the folder. Otherwise as `index`, but it waits for another writer.
        """
        from coderag.ingestion.watching import index_on_changes  # noqa: PLC0415  # only this method needs it

        return index_on_changes(self.root, partial(self.make_indexer, progress), stop)

    def plan(self, *, full: bool = False) -> IndexPlan:
        """Plan an indexing run and estimate its duration. Nothing is written, no server is called.

        Args:
            full: As for `index`.

        Raises:
            IndexVersionError: The index exists only in other formats.
            StoreError: The index cannot be read.
        """
        from coderag.ingestion.planning import plan_index  # noqa: PLC0415  # only this method needs it

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
        """Summarise the code with the language model, most used code first (docs/summaries.md).

        Searches see the summaries in small generations. A kill loses only the requests in flight; the next run
        continues.

        Args:
            budget_s: Time budget in seconds.
            max_cost: Cost limit by the prices of ``llm``; by default ``summaries.max_cost``.
            limit: Maximum number of code chunks to summarise.
            include: Roles of files to summarise in addition: test, generated, vendored.
            progress: Called with the progress of the run.
            stop: Ends it when set.

        Raises:
            ConfigurationError: There is no language model, or no price for `max_cost`.
            IndexNotFoundError: Nothing is indexed yet.
            ModelError: All requests to the language model failed.
            StoreError: The summaries cannot be stored.
        """
        from coderag.ingestion.summaries.enricher import EnrichLimits  # noqa: PLC0415  # only this method needs it

        limits = EnrichLimits(budget_s, max_cost, limit)
        return self.summaries.write(limits, include=include, progress=progress, stop=stop)

    @property
    def summaries(self) -> "Summaries":
        """Summaries of this repository: planning, import and incremental updates."""
        from coderag.engine.enrichment import Summaries  # noqa: PLC0415  # as above

        models, counts = self._language_models, self._runs.search_counts
        return Summaries(
            self.root, self.settings, self._store, self._load_dense_model, models, self._open_index, counts
        )

    def search(self, query: str, *, top_k: int | None = None, filters: Filters | None = None) -> SearchHits:
        """Search for declarations, best first, with a verdict on how well they answer the query.

        Args:
            query: A name, a question or a snippet of code.
            top_k: Maximum number of results; by default ``search.top_k``.
            filters: Filters of the search.

        Raises:
            InvalidQueryError: The query is empty or too long.
            IndexNotFoundError: Nothing is indexed yet.
            IndexModelError: The index was built with another embedding model.
        """
        query_input = self._make_input(query, "search", top_k=top_k, filters=filters)
        context, output = self._runs.run(self._open(), query_input)
        hits = build_hits(context.corpus, output["results"])
        return SearchHits(hits, **verdict_fields(output), notes=output["notes"])

    def with_search(self, search: SearchSettings) -> "CodeRAG":
        """Return a copy that searches with other settings and shares the open index. Raises as `search`."""
        self._open()  # errors of the index are raised here
        variant = copy(self)
        variant.settings = self.settings.model_copy(update={"search": search})
        no_counts = SearchCounts(self._store.directory, is_enabled=False)  # trial searches are not counted as use
        variant._runs = replace(self._runs, search_counts=no_counts)
        return variant

    def with_reader(self, reader: Reader) -> "CodeRAG":
        """Return a copy that shares the open index, and has only what a reader may see and what is its own.

        Sessions and conversations are those of the reader's namespace, mirrored items those of its sources.
        """
        self._item_searches  # noqa: B018  # so that all copies share them
        variant = copy(self)
        variant._reader = reader
        variant._sessions = self._sessions.with_namespace(reader.namespace)
        variant._chats = self._chats.with_namespace(reader.namespace)
        return variant

    @property
    def place(self) -> str:
        """Its folder in replies, or what its reader calls it."""
        return self._reader.place or str(self.root)

    @property
    def reader(self) -> Reader:
        """Reader of this object."""
        return self._reader

    def explain(
        self,
        query: str,
        *,
        top_k: int | None = None,
        token_budget: int | None = None,
        filters: Filters | None = None,
    ) -> "Explanation":
        """Explain the rank of each result, and what a context of `token_budget` shows of it. Raises as `search`."""
        from coderag.retrieval.explanation import explain_output  # noqa: PLC0415  # only this method needs it

        result_count = top_k or self.settings.search.top_k
        # A context has its own number of candidates.
        top_k_override = result_count if result_count > self.settings.search.top_k else None
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
        """Search for a text or a regular expression in the indexed files as they are on disk.

        Args:
            text: The text, of one or more lines; or the pattern, in the syntax of `re` or of the package ``regex``.
            regex: Whether it is a pattern. ``^`` and ``$`` match at line ends; a match may span several lines.
            ignore_case: Whether to ignore case.
            context_lines: Number of context lines around each match.
            limit: Maximum number of returned matches; all are counted.
            filters: Filters of files; `kinds` and `complexity` filter the declarations around a match.

        Raises:
            InvalidQueryError: The text is empty, too long, or an invalid regular expression.
            IndexNotFoundError: Nothing is indexed yet.
            RetrievalError: The timeout is over.
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
        format: ContextFormat = "markdown",  # noqa: A002  # same name in all interfaces
        shown: Sequence[str] = (),
        session: str | None = None,
    ) -> AssembledContext:
        """Assemble the code for a query within a token budget. Raises as `search`.

        Args:
            query: A name, a question, a bug report or a snippet of code.
            token_budget: Maximum tokens of the text; by default ``search.token_budget``.
            filters: Filters of the search.
            format: Format of the text.
            shown: ``shown`` of an earlier context: that code is left out unless it has been edited.
            session: Name of a session: code shown in it is recorded next to the index and left out afterwards.
        """
        query_input = self._make_input(query, "context", token_budget=token_budget, filters=filters)
        query_input["format"] = format
        query_input["shown"] = [*shown, *(self._sessions.read(session) if session else ())]
        _, output = self._runs.run(self._open(), query_input)
        context = to_context({**output["context"], **verdict_fields(output), "notes": describe_notes(output)})
        if session:
            self._sessions.update(session, lambda earlier: merge_keys(earlier, context.shown))
        return context

    def forget(self, session: str) -> bool:
        """Forget what the contexts of a session have shown; return whether the session existed."""
        return self._sessions.forget(session)

    def read(
        self,
        places: Sequence[str],
        *,
        token_budget: int | None = None,
        format: ContextFormat = "markdown",  # noqa: A002  # as in `context`
    ) -> AssembledContext:
        """Return lines of indexed files or mirrored items, such as the omissions of a context.

        Args:
            places: Each as ``path``, ``path:10`` or ``path:10-42``, relative to the repository's root.
            token_budget: As in `context`; longer code is elided.
            format: Format of the text.

        Raises:
            InvalidQueryError: A file is not indexed, is gone, or lacks the lines.
        """
        from coderag.retrieval.context.context_request import pack_locations  # noqa: PLC0415  # only contexts need it

        budget = check_range("token_budget", token_budget, MIN_TOKENS, MAX_TOKENS) if token_budget is not None else None
        paths = parse_location_paths(places)
        context = self._open_index.include_files(self._open(), paths)
        budget = budget or self.settings.search.token_budget
        return pack_locations(context.corpus, places, budget, format, context.items)

    def ask(self, query: str, *, token_budget: int | None = None, filters: Filters | None = None) -> Answer:
        """Answer a question with citations checked against the files on disk. Raises as `search`, and `ModelError`."""
        return run_sync(self.aask(query, token_budget=token_budget, filters=filters))

    async def aask(self, query: str, *, token_budget: int | None = None, filters: Filters | None = None) -> Answer:
        """Answer a question without blocking the event loop. Raises as `ask`."""
        query_input = await asyncio.to_thread(
            self._make_input, query, "answer", token_budget=token_budget, filters=filters
        )
        context = await asyncio.to_thread(self._open)
        return build_answer(*await self._runs.arun(context, query_input))

    async def astream(
        self, query: str, *, token_budget: int | None = None, filters: Filters | None = None, history: str = ""
    ) -> AsyncIterator[AnswerEvent]:
        """Yield the parts of an answer while it is written, and last the whole answer, as of `aask`. Raises as `ask`.

        Args:
            query: As in `search`.
            token_budget: As in `context`.
            filters: Filters of the search.
            history: Earlier turns of a conversation, for the language model.
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
        """Open a conversation.

        Args:
            thread: Id of an existing conversation, or a name for a new one; None starts a new one.

        Raises:
            InvalidQueryError: The id is invalid.
        """
        from coderag.engine.chat import Chat  # noqa: PLC0415  # loads LangGraph

        return Chat(thread, self._chats, self.build_chat_context, load_chat_graph)

    def open_chat_threads(self) -> "ChatThreads":
        """Open the stored conversations of this repository, to list, export or delete them."""
        from coderag.engine.chat import ChatThreads  # noqa: PLC0415  # as above

        return ChatThreads(self._chats)

    def build_chat_context(self) -> "ChatContext":
        """Build the context of the chat graph, for a program that runs the graph itself. Raises as `search`."""
        from coderag.engine.chat import make_chat_context  # noqa: PLC0415  # loads LangGraph

        query = self._open_index.open_context(self.settings.search, sweep="unless watched", items=self._item_finder)
        return make_chat_context(query, self._runs.arun, self.settings)

    def definition(self, name: str) -> list[SearchHit]:
        """Find the declarations of a name, best match first."""
        from coderag.codegraph.lookup import find_definitions  # noqa: PLC0415
        from coderag.retrieval.ranking.merging import join_parts  # noqa: PLC0415

        context = self._open()
        for attempt in count():
            rows = find_definitions(context.corpus, name)
            paths = source_paths(context.corpus, {"results": rows})
            refreshed = self._open_index.refresh_context(context, paths, sweep=not rows) if attempt < MAX_RUNS else None
            if refreshed is None:
                break
            context = refreshed
        return build_hits(context.corpus, join_parts(context.corpus, rows))

    @property
    def graph(self) -> "CodeGraph":
        """The code graph: calls, imports, inheritance, overrides and tests.

        It reflects the current files: edits are detected on every access, so do not keep it.

        Raises:
            IndexNotFoundError: Nothing is indexed yet.
        """
        return self._open_index.open_graph()

    def callers(self, name: str, depth: int = 1) -> list[GraphNeighbour]:
        """Find the callers of a declaration, nearest and most certain first. Raises as the methods of `CodeGraph`."""
        return self.graph.callers(name, depth)

    def callees(self, name: str, depth: int = 1) -> list[GraphNeighbour]:
        """Find the declarations of this repository that a declaration calls."""
        return self.graph.callees(name, depth)

    def impact(self, name: str, depth: int = 3) -> list[GraphNeighbour]:
        """Find what may break when a declaration changes: transitive callers, derived types, importing files."""
        return self.graph.impact(name, depth)

    # Edited files

    def flag(self, paths: Iterable[str]) -> None:
        """Flag files or folders that may have changed, relative to the root; an empty path stands for all.

        The next query checks them and uses their current content.
        """
        self._open_index.live.mark_changed(paths)

    def list_edited(self) -> list[str]:
        """List the files that are known to differ from the index: edited, new or deleted.

        Raises:
            StoreError: The index cannot be read.
        """
        return self._open_index.list_edited_files()

    def follow(self) -> None:
        """Watch the files from now on, so that every query sees all earlier edits.

        Without it, queries see edits of the files of their results at once, and other edits after some seconds.
        Repeated calls and systems without file watching have no effect. Parts of the index that only some searches need
        are built soon after the first one, so that no later one waits for them.
        """
        self._open_index.is_kept_warm = True
        self._open_index.live.start_watching()

    def close(self) -> None:
        """End `follow` and release the overlay of edited files. Queries still work."""
        self.sources.close()
        self._open_index.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def import_scip(self, path: Path) -> "ScipReport":
        """Import the edges of a SCIP index made by a compiler, valid until its files change.

        Raises:
            InvalidQueryError: The file is damaged, not a SCIP index, or covers none of the files.
            StoreError: It cannot be read, or the index cannot be written.
        """
        from coderag.engine.graph_exchange import import_scip  # noqa: PLC0415  # only this method needs it

        report = import_scip(self._store, self.root, path)
        self.index()
        return report

    def status(self) -> IndexStatus:
        """Return the state of the index and the files that differ on disk.

        Raises:
            IndexNotFoundError: Nothing is indexed yet.
        """
        from coderag.engine.index_status import read_index_status  # noqa: PLC0415  # only this method needs it

        return self._reader.hide_folders(read_index_status(self.root, self.settings, self._store.open()))

    def _load_dense_model(self) -> DenseModel:
        if self._loaded_dense_model is None:
            model = make_dense_model(self.settings.embedding)
            if isinstance(model, ProviderDense):
                model.mask = self._open_index.path_mask
                if self.settings.privacy.redact_secrets:
                    model.wrap_model(redact_remote)
            self._loaded_dense_model = model
        return self._loaded_dense_model

    @property
    def _item_finder(self) -> LazyItemFinder:
        return LazyItemFinder(lambda: self.items)

    def _open(self) -> QueryContext:
        return self._open_index.open_context(self.settings.search, items=self._item_finder)

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
