"""Runner of the query graph: traces and counts runs, and converts them to answers."""

import asyncio
import logging
import sys
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from coderag.engine.telemetry import NullTracer, QueryTracer
from coderag.errors import CodeRAGError, InvalidQueryError, StoreError
from coderag.retrieval.hits import build_hits
from coderag.retrieval.query_context import QueryContext
from coderag.retrieval.search_notes import describe_notes
from coderag.retrieval.source_paths import source_paths
from coderag.schema.answers import Answer, AnswerEvent
from coderag.schema.query import QueryInput, QueryOutput, QueryState
from coderag.schema.records import to_answer
from coderag.stores.search_counts import SearchCounts

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph
    from langgraph.types import StreamMode

    QueryGraph = CompiledStateGraph[QueryState, QueryContext, QueryInput, QueryOutput]

MAX_RUNS: Final = 3
"""Runs of the graph while files change; the last one hides the files that still do."""

_STREAM_MODES: "Final[list[StreamMode]]" = ["custom", "updates", "values"]

_logger = logging.getLogger(__name__)


class Freshness(Protocol):
    """Tracker of edited files, implemented by `coderag.engine.open_index.OpenIndex`."""

    def refresh_context(
        self, context: QueryContext, paths: Iterable[str], *, sweep: bool = False, hide: bool = False
    ) -> QueryContext | None:
        """Return a context in which some files are current or hidden; None if they are unchanged."""
        ...

    def reopen_context(self, context: QueryContext) -> QueryContext | None:
        """Return a context of the current generation; None if this context already is."""
        ...

    def raise_damage(self, context: QueryContext) -> None:
        """Raise `StoreError` if files of the context's generation are damaged."""
        ...


class _StaleRun(Exception):  # control flow: the run is repeated
    """Signal that files of a run have changed."""

    def __init__(self, context: QueryContext) -> None:
        self.context = context


@dataclass(frozen=True, slots=True)
class QueryRunner:
    """Runner of one repository's query graph; it runs again if files of the output were edited.

    Attributes:
        load_graph: Returns the compiled graph.
        tracer: Receives the trace of each run.
        search_counts: Counts the results.
        freshness: Tracks edited files.
    """

    load_graph: "Callable[[], QueryGraph]"
    tracer: QueryTracer | NullTracer
    search_counts: SearchCounts
    freshness: Freshness

    def run(self, context: QueryContext, query_input: QueryInput) -> tuple[QueryContext, QueryOutput]:
        """Run a search or a context; return the final query context and the output."""
        for run_number in count():
            try:
                with self.tracer.trace_query(query_input) as record_output:
                    output = self._run_graph(context, query_input)
                    record_output(output)
                self._check_freshness(context, output, run_number)
                self.freshness.raise_damage(context)
            except _StaleRun as stale:
                context = stale.context
            except InvalidQueryError as error:
                context = self._include_new_files(context, query_input, error, run_number)
            except StoreError as error:
                context = self._reopen_context(context, error, run_number)
            except CodeRAGError:
                raise
            except Exception:  # perhaps of a library that was given damaged data
                self.freshness.raise_damage(context)
                raise
            else:
                break
        self.search_counts.record_results(context.corpus, output["results"])
        return context, output

    def _run_graph(self, context: QueryContext, query_input: QueryInput) -> QueryOutput:
        if _is_inside_graph():  # the outer graph's stream shows the steps
            return cast("QueryOutput", self.load_graph().invoke(query_input, context=context))
        from coderag.nodes.steps import walk  # noqa: PLC0415  # only queries need it

        return walk(query_input, context)

    async def arun(self, context: QueryContext, query_input: QueryInput) -> tuple[QueryContext, QueryOutput]:
        """Run the graph asynchronously; return the final query context and the output.

        Inside a node of another graph, the answer's text goes to that graph's stream.
        """
        write = _find_stream_writer()
        async with aclosing(self._stream_events(context, query_input)) as events:
            async for event in events:
                if not isinstance(event, AnswerEvent):
                    result = event
                elif event.kind != "stage":
                    write({"kind": event.kind, "text": event.text})
        return result

    async def astream(self, context: QueryContext, query_input: QueryInput) -> AsyncGenerator[AnswerEvent]:
        """Yield an answer while it is written, and finally the complete answer."""
        async with aclosing(self._stream_events(context, query_input)) as events:
            async for event in events:
                if isinstance(event, AnswerEvent):
                    yield event
                else:
                    result = event
        yield AnswerEvent("answer", answer=build_answer(*result))

    async def _stream_events(
        self, context: QueryContext, query_input: QueryInput
    ) -> "AsyncGenerator[AnswerEvent | tuple[QueryContext, QueryOutput]]":
        """Yield the steps and text of an answer, finally the result of `arun`."""
        for run_number in count():
            try:
                with self.tracer.trace_query(query_input) as record_output:
                    async with aclosing(self._stream_run(context, query_input, run_number)) as events:
                        async for event in events:
                            if isinstance(event, AnswerEvent):
                                yield event
                            else:
                                output = event
                    record_output(output)
                await asyncio.to_thread(self.freshness.raise_damage, context)
            except _StaleRun as stale:
                context = stale.context
            except InvalidQueryError as error:
                context = await asyncio.to_thread(self._include_new_files, context, query_input, error, run_number)
            except StoreError as error:
                context = await asyncio.to_thread(self._reopen_context, context, error, run_number)
            else:
                break
        self.search_counts.record_results(context.corpus, output["results"])
        yield context, output

    async def _stream_run(
        self, context: QueryContext, query_input: QueryInput, run_number: int
    ) -> AsyncGenerator[AnswerEvent | QueryOutput]:
        """Yield the stream of one run, finally its output.

        A language model is asked only after its evidence was checked for edits. An answer without a model takes a
        moment, and is held until its citations were checked.

        Raises:
            _StaleRun: Files have changed.
        """
        uses_language_model = query_input.get("goal") == "answer" and context.language_model is not None
        held_events: list[AnswerEvent] = []
        stream = self.load_graph().astream(query_input, context=context, stream_mode=_STREAM_MODES)
        async with aclosing(cast("AsyncGenerator[Any]", stream)) as parts:
            async for mode, part in parts:
                if mode == "values":
                    output: QueryOutput = part
                    if uses_language_model and "context" in part and "answer" not in part:
                        await asyncio.to_thread(self._check_freshness, context, output, run_number)
                elif mode == "updates":
                    for node, update in part.items():
                        yield to_stage(node, update)
                elif uses_language_model:
                    yield AnswerEvent(part["kind"], part["text"])
                else:
                    held_events.append(AnswerEvent(part["kind"], part["text"]))
        if not uses_language_model:
            await asyncio.to_thread(self._check_freshness, context, output, run_number)
        for event in held_events:
            yield event
        yield output

    def _check_freshness(self, context: QueryContext, output: QueryOutput, run_number: int) -> None:
        """Raise `_StaleRun` if files of the output have changed, up to a number of runs."""
        if run_number > MAX_RUNS:
            return
        sweep = run_number == 0 and output["judgement"]["verdict"] != "found"
        paths = source_paths(context.corpus, output)
        fresh_context = self.freshness.refresh_context(context, paths, sweep=sweep, hide=run_number >= MAX_RUNS - 1)
        if fresh_context is None:
            return
        if run_number == MAX_RUNS:
            _logger.warning("Files change faster than queries run; the answer may be stale")
            return
        raise _StaleRun(fresh_context)

    def _include_new_files(
        self, context: QueryContext, query_input: QueryInput, error: InvalidQueryError, run_number: int
    ) -> QueryContext:
        """Return a context with files that are new on disk, which a filter that matched nothing may mean; else raise."""
        has_filters = run_number == 0 and "filters" in query_input
        fresh_context = self.freshness.refresh_context(context, (), sweep=True) if has_filters else None
        if fresh_context is None:
            raise error
        return fresh_context

    def _reopen_context(self, context: QueryContext, error: StoreError, run_number: int) -> QueryContext:
        """Return a context of the current generation, if that of the failed run was deleted; else raise."""
        current_context = self.freshness.reopen_context(context) if run_number < MAX_RUNS else None
        if current_context is None:
            raise error
        return current_context


def _find_stream_writer() -> Callable[[Any], None]:
    """Return the stream writer of the surrounding graph; without one, a no-op."""
    if not _is_inside_graph():
        return lambda _: None
    from langgraph.config import get_stream_writer  # noqa: PLC0415  # loaded already

    return get_stream_writer()


def _is_inside_graph() -> bool:
    """Return whether the caller is inside a node of a LangGraph graph."""
    if "langgraph.config" not in sys.modules:  # then no graph is running
        return False
    from langgraph.config import get_config  # noqa: PLC0415  # loaded already

    try:
        get_config()
    except RuntimeError:
        return False
    return True


def to_stage(node: str, update: Mapping[str, Any] | None) -> AnswerEvent:
    """Convert the update of a graph's node to the event of its end."""
    return AnswerEvent("stage", node, trace=(update or {}).get("trace", ()))


def build_answer(context: QueryContext, output: QueryOutput) -> Answer:
    """Build the answer of a run."""
    hits = build_hits(context.corpus, output["results"])
    return to_answer({**output["answer"], **verdict_fields(output), "notes": describe_notes(output)}, hits)


def verdict_fields(output: QueryOutput) -> dict[str, Any]:
    """Return the verdict's fields, which all kinds of results share."""
    judgement = output["judgement"]
    return {
        "evidence": judgement["verdict"],
        "confidence": judgement["confidence"],
        "not_indexed": judgement["not_indexed"],
    }
