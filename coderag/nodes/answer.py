"""Node ``answer``: the answer, with every citation checked against the files on disk."""

from langgraph.runtime import Runtime

from coderag.answering.answers import write_answer
from coderag.observability import Step
from coderag.records import record_of
from coderag.state import QueryContext, QueryState, QueryUpdate


async def answer(state: QueryState, runtime: Runtime[QueryContext]) -> QueryUpdate:
    """Write the answer from the evidence, with a language model if one is configured."""
    with Step("answer") as step:
        written = await write_answer(runtime.context, state)
        step.note(generator=written.generator, verified=written.verified, total=written.total)
    return {"answer": record_of(written), "trace": step.entries}
