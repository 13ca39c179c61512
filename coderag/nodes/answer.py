"""Node ``answer``: the answer, with every citation checked against the files on disk."""

from coderag.nodes.trace import NodeTimer
from coderag.retrieval.query_context import StreamingRuntime
from coderag.schema.query import QueryState, QueryUpdate
from coderag.schema.records import to_record


async def answer(state: QueryState, runtime: StreamingRuntime) -> QueryUpdate:
    """Write the answer from the evidence, with a language model if one is configured.

    The text is streamed as dicts with ``kind`` (``draft`` or ``text``) and ``text``, see `AnswerEvent`.
    """
    from coderag.answering.answers import write_answer  # noqa: PLC0415  # 0.1 s; searches do not need it

    def emit(kind: str, text: str) -> None:
        if text or kind == "text":  # an empty text replaces dropped drafts
            runtime.stream_writer({"kind": kind, "text": text})

    with NodeTimer("answer") as step:
        result = await write_answer(runtime.context, state, emit)
        step.add_detail(generator=result.generator, verified=result.verified, total=result.total, shape=result.shape)
    return {"answer": to_record(result), "trace": step.trace_entries}
