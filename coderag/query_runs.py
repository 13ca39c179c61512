"""Runs of the query graph: traced, counted, and made into answers."""

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from coderag.records import answer_from_record
from coderag.retrieval.hits import make_hits
from coderag.schema import Answer, AnswerEvent
from coderag.state import QueryContext, QueryInput, QueryOutput, QueryState
from coderag.stores.search_counts import SearchCounts
from coderag.telemetry import NoTracer, QueryTracer

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph
    from langgraph.types import StreamMode

    QueryGraph = CompiledStateGraph[QueryState, QueryContext, QueryInput, QueryOutput]


@dataclass(frozen=True, slots=True)
class QueryRuns:
    """Runs the query graph of one repository.

    Attributes:
        load: Returns the compiled graph.
        tracer: Gets the trace of each run.
        counts: Counts what is returned.
    """

    load: "Callable[[], QueryGraph]"
    tracer: QueryTracer | NoTracer
    counts: SearchCounts

    def run(self, context: QueryContext, given: QueryInput) -> QueryOutput:
        """Return the output of one run."""
        with self._noted(context, given) as note:
            output: QueryOutput = self.load().invoke(given, context=context)  # type: ignore[assignment]
            note(output)
        return output

    async def arun(self, context: QueryContext, given: QueryInput) -> QueryOutput:
        """Return the output of one run, awaited."""
        with self._noted(context, given) as note:
            output: QueryOutput = await self.load().ainvoke(given, context=context)  # type: ignore[assignment]
            note(output)
        return output

    async def astream(self, context: QueryContext, given: QueryInput) -> AsyncGenerator[AnswerEvent]:
        """Yield an answer while it is written, and last the whole of it."""
        modes: list[StreamMode] = ["custom", "updates", "values"]
        with self._noted(context, given) as note:
            stream = self.load().astream(given, context=context, stream_mode=modes)
            async with aclosing(cast("AsyncGenerator[Any]", stream)) as parts:
                async for mode, part in parts:
                    if mode == "values":
                        output: QueryOutput = part
                    elif mode == "updates":
                        for node in part:
                            yield AnswerEvent("stage", node)
                    else:
                        yield AnswerEvent(part["kind"], part["text"])
            note(output)
        yield AnswerEvent("answer", answer=answer_of(context, output))

    @contextmanager
    def _noted(self, context: QueryContext, given: QueryInput) -> Iterator[Callable[[QueryOutput], None]]:
        """Trace what runs within the block, which tells its output; the results are counted."""
        with self.tracer.query(given) as tell:

            def note(output: QueryOutput) -> None:
                tell(output)
                self.counts.note_results(context.corpus, output["results"])

            yield note


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
