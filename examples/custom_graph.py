"""A graph of one's own with CodeRAG as a node: its steps and words are streamed, its threads kept in SQLite.

Run it with ``python examples/custom_graph.py [repository] [question] [--model provider:name]``. Without a model the answer
is extracted from the evidence; either way its citations are checked.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from models import arguments, real_llm
from typing_extensions import TypedDict

from coderag import CodeRAG, CodeState, as_node


class State(MessagesState, CodeState):
    """The conversation, and what CodeRAG says."""

    report: str


class Report(TypedDict):
    """What `review` adds."""

    report: str


def review(state: State) -> Report:
    """Say what the answer rests on: any node can use the citations."""
    held = sum(one["verified"] for one in state["citations"])
    return {"report": f"evidence {state['coderag_evidence']}; {held} of {len(state['citations'])} citations hold"}


def assistant(rag: CodeRAG, saver: BaseCheckpointSaver[str]) -> CompiledStateGraph[State, None, State, State]:
    """Return the graph."""
    builder = StateGraph(State)
    builder.add_node("coderag", as_node(rag, goal="answer", index=True))
    builder.add_node("review", review)
    builder.add_edge(START, "coderag")
    builder.add_edge("coderag", "review")
    return builder.compile(checkpointer=saver, name="assistant")


async def main() -> None:
    """Ask a question, show the answer as it comes, then read the thread as another process would."""
    given = arguments("CodeRAG in a graph of one's own.", "how does the query graph widen weak evidence")
    rag = CodeRAG(given.repository, language_model=real_llm(given.model) if given.model else None)
    thread: RunnableConfig = {"configurable": {"thread_id": "example"}}
    with tempfile.TemporaryDirectory() as folder:
        threads = str(Path(folder) / "threads.db")
        async with AsyncSqliteSaver.from_conn_string(threads) as saver:
            await ask(assistant(rag, saver), given.question, thread)
        async with AsyncSqliteSaver.from_conn_string(threads) as saver:
            kept = (await assistant(rag, saver).aget_state(thread)).values
            print(f"\nThe thread has {len(kept['messages'])} messages, {kept['coderag_tokens']:,} tokens of answer:")
            print(f"  {kept['report']}")
            for one in kept["citations"]:
                print(f"  {one['path']}:{one['start_line']}-{one['end_line']}")


async def ask(graph: CompiledStateGraph[State, None, State, State], question: str, thread: RunnableConfig) -> None:
    """Print the steps of the inner graph, and the answer as it comes."""
    start = State(messages=[HumanMessage(question)])  # type: ignore[typeddict-item]  # the nodes write the rest
    steps: AsyncIterator[Any] = graph.astream(start, thread, stream_mode=["custom", "updates"], subgraphs=True)
    line_end = ""
    async for place, mode, said in steps:
        if mode == "custom" and said.get("kind") == "text":
            print(said["text"], end="", flush=True)
            line_end = "\n"
        elif mode == "updates" and place:
            print(f"{line_end}[{', '.join(said)}]")


if __name__ == "__main__":
    asyncio.run(main())
