"""Runs of the query graph: traced, counted, and made into answers."""

import asyncio
import logging
import sys
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from coderag.engine.telemetry import NoTracer, QueryTracer
from coderag.errors import StoreError
from coderag.retrieval.files_behind import files_behind
from coderag.retrieval.hits import make_hits
from coderag.retrieval.query_context import QueryContext
from coderag.schema.answers import Answer, AnswerEvent
from coderag.schema.query import QueryInput, QueryOutput, QueryState
from coderag.schema.records import answer_from_record
from coderag.stores.search_counts import SearchCounts

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph
    from langgraph.types import StreamMode

    QueryGraph = CompiledStateGraph[QueryState, QueryContext, QueryInput, QueryOutput]

MOST_ROUNDS: Final = 3
"""Runs of the graph because files turned out to be edited; for the last one those that still are, are left out."""

_MODES: "Final[list[StreamMode]]" = ["custom", "updates", "values"]

_logger = logging.getLogger(__name__)


class Freshness(Protocol):
    """Knows which files are edited; `coderag.engine.open_index.OpenIndex` does."""

    def refreshed(
        self, context: QueryContext, paths: Iterable[str], *, sweep: bool = False, hide: bool = False
    ) -> QueryContext | None:
        """Return a context in which some files are as they are now, or left out; None if in this one they are."""
        ...

    def reopened(self, context: QueryContext) -> QueryContext | None:
        """Return a context of the current generation; None if this one is."""
        ...


class _Stale(Exception):  # no error: the run is begun anew
    """What a run stands on has changed."""

    def __init__(self, renewed: QueryContext) -> None:
        self.renewed = renewed


@dataclass(frozen=True, slots=True)
class QueryRuns:
    """Runs the query graph of one repository, and again if files that the output stands on turn out to be edited.

    Attributes:
        load: Returns the compiled graph.
        tracer: Gets the trace of each run.
        counts: Counts what is returned.
        freshness: Knows which files are edited.
    """

    load: "Callable[[], QueryGraph]"
    tracer: QueryTracer | NoTracer
    counts: SearchCounts
    freshness: Freshness

    def run(self, context: QueryContext, given: QueryInput) -> tuple[QueryContext, QueryOutput]:
        """Return the output of a search or of a context, and the context that it was made with."""
        for number in count():
            try:
                with self.tracer.query(given) as tell:
                    output = self._output(context, given)
                    tell(output)
                self._check(context, output, number)
            except _Stale as stale:
                context = stale.renewed
            except StoreError as error:
                context = self._reopened(context, error, number)
            else:
                break
        self.counts.note_results(context.corpus, output["results"])
        return context, output

    def _output(self, context: QueryContext, given: QueryInput) -> QueryOutput:
        if _is_in_a_graph():  # whose stream has the steps
            return cast("QueryOutput", self.load().invoke(given, context=context))
        from coderag.nodes.steps import walk  # noqa: PLC0415  # only who asks needs it

        return walk(given, context)

    async def arun(self, context: QueryContext, given: QueryInput) -> tuple[QueryContext, QueryOutput]:
        """Return the output of a run, and the context that it was made with, awaited.

        Within a node of another graph, what is written goes to that one's stream.
        """
        write = _writer_around()
        async with aclosing(self._parts(context, given)) as parts:
            async for part in parts:
                if not isinstance(part, AnswerEvent):
                    done = part
                elif part.kind != "stage":
                    write({"kind": part.kind, "text": part.text})
        return done

    async def astream(self, context: QueryContext, given: QueryInput) -> AsyncGenerator[AnswerEvent]:
        """Yield an answer while it is written, and last the whole of it."""
        async with aclosing(self._parts(context, given)) as parts:
            async for part in parts:
                if isinstance(part, AnswerEvent):
                    yield part
                else:
                    done = part
        yield AnswerEvent("answer", answer=answer_of(*done))

    async def _parts(
        self, context: QueryContext, given: QueryInput
    ) -> "AsyncGenerator[AnswerEvent | tuple[QueryContext, QueryOutput]]":
        """Yield the steps and the words of an answer, at last what `arun` returns."""
        for number in count():
            try:
                with self.tracer.query(given) as tell:
                    async with aclosing(self._round(context, given, number)) as events:
                        async for event in events:
                            if isinstance(event, AnswerEvent):
                                yield event
                            else:
                                output = event
                    tell(output)
            except _Stale as stale:
                context = stale.renewed
            except StoreError as error:
                context = await asyncio.to_thread(self._reopened, context, error, number)
            else:
                break
        self.counts.note_results(context.corpus, output["results"])
        yield context, output

    async def _round(
        self, context: QueryContext, given: QueryInput, number: int
    ) -> AsyncGenerator[AnswerEvent | QueryOutput]:
        """Yield what one run streams, at last its output.

        A language model is not asked before what it will be shown was checked. What is written without one takes a moment;
        it is held back until its citations were checked, too.

        Raises:
            _Stale: Files have changed.
        """
        is_written = given.get("goal") == "answer" and context.language_model is not None
        held: list[AnswerEvent] = []
        stream = self.load().astream(given, context=context, stream_mode=_MODES)
        async with aclosing(cast("AsyncGenerator[Any]", stream)) as parts:
            async for mode, part in parts:
                if mode == "values":
                    output: QueryOutput = part
                    if is_written and "context" in part and "answer" not in part:
                        await asyncio.to_thread(self._check, context, output, number)
                elif mode == "updates":
                    for node in part:
                        yield AnswerEvent("stage", node)
                elif is_written:
                    yield AnswerEvent(part["kind"], part["text"])
                else:
                    held.append(AnswerEvent(part["kind"], part["text"]))
        if not is_written:
            await asyncio.to_thread(self._check, context, output, number)
        for event in held:
            yield event
        yield output

    def _check(self, context: QueryContext, output: QueryOutput, number: int) -> None:
        """Raise `_Stale` if the output stands on files that have changed, as often as that is worth it."""
        if number > MOST_ROUNDS:
            return
        sweep = number == 0 and output["judgement"]["verdict"] != "found"
        paths = files_behind(context.corpus, output)
        renewed = self.freshness.refreshed(context, paths, sweep=sweep, hide=number >= MOST_ROUNDS - 1)
        if renewed is None:
            return
        if number == MOST_ROUNDS:
            _logger.warning("Files change faster than they can be answered from")
            return
        raise _Stale(renewed)

    def _reopened(self, context: QueryContext, error: StoreError, number: int) -> QueryContext:
        """Return a context of the current generation, if the one of a run that failed is no longer there."""
        renewed = self.freshness.reopened(context) if number < MOST_ROUNDS else None
        if renewed is None:
            raise error
        return renewed


def _writer_around() -> Callable[[Any], None]:
    """Return what writes to the stream of the graph that this is called in; if there is none, it does nothing."""
    if not _is_in_a_graph():
        return lambda _: None
    from langgraph.config import get_stream_writer  # noqa: PLC0415  # loaded already

    return get_stream_writer()


def _is_in_a_graph() -> bool:
    """Whether this is called in a node of a LangGraph graph."""
    if "langgraph.config" not in sys.modules:  # then there is none
        return False
    from langgraph.config import get_config  # noqa: PLC0415  # loaded already

    try:
        get_config()
    except RuntimeError:
        return False
    return True


def answer_of(context: QueryContext, output: QueryOutput) -> Answer:
    """Return the answer of a run."""
    hits = make_hits(context.corpus, output["results"])
    return answer_from_record({**output["answer"], **judged(output)}, hits)


def judged(output: QueryOutput) -> dict[str, Any]:
    """Return what each kind of result says about how well it answers."""
    judgement = output["judgement"]
    return {
        "evidence": judgement["verdict"],
        "confidence": judgement["confidence"],
        "not_indexed": judgement["not_indexed"],
    }
