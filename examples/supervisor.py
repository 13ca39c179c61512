"""A supervisor that delegates: CodeRAG finds the code, a coder says what to change.

The supervisor is a model that only decides who is next. The coder sees what CodeRAG found, within a token budget that
is part of the state. Run it with ``python examples/supervisor.py [repository] [task] [--model provider:name]``.
"""

import asyncio
import re
from collections.abc import Sequence
from typing import Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command
from models import arguments, chat_model
from pydantic import BaseModel, Field

from coderag import CodeState, as_node

SUPERVISOR = (
    "You lead a team. Have `coderag` find the code that the user's task is about, then `coder` write the change; "
    "after that you are done. Places that were found so far: {places}."
)
CODER = "You are a programmer. Say what to change, and name each place as path:line. Rely on this code only:\n\n{code}"


class State(MessagesState, CodeState):
    """The conversation, what CodeRAG found, and what the supervisor wants."""

    task: str
    token_budget: int


class Delegation(BaseModel):
    """Who is next, and what they are to do."""

    to: Literal["coderag", "coder", "nobody"]
    task: str = Field(description="A question for coderag, an order for coder.")


def team(repository: str, model: BaseChatModel) -> CompiledStateGraph[State, None, State, State]:
    """Return the graph of the supervisor and the two that it delegates to."""

    async def supervisor(state: State) -> Command[Literal["coderag", "coder", "__end__"]]:
        places = ", ".join(f"{one['path']}:{one['start_line']}" for one in state.get("citations", ())) or "none"
        prompt = [SystemMessage(SUPERVISOR.format(places=places)), *state["messages"]]
        chosen = await model.with_structured_output(Delegation).ainvoke(prompt)
        next_one = Delegation.model_validate(chosen)
        return Command(goto="__end__" if next_one.to == "nobody" else next_one.to, update={"task": next_one.task})

    async def coder(state: State) -> dict[str, list[AIMessage]]:
        prompt = [SystemMessage(CODER.format(code=state["code_context"])), HumanMessage(state["task"])]
        reply = await model.ainvoke(prompt)
        return {"messages": [AIMessage(reply.text, name="coder")]}

    builder = StateGraph(State)
    builder.add_node("supervisor", supervisor)
    # The code goes to the coder by the state, not into the conversation, which the supervisor reads each time.
    builder.add_node("coderag", as_node(repository, question_key="task", keys={"messages": None}, index=True))
    builder.add_node("coder", coder)
    builder.add_edge(START, "supervisor")
    builder.add_edge("coderag", "supervisor")
    builder.add_edge("coder", "supervisor")
    return builder.compile(name="team")


def script(messages: Sequence[BaseMessage]) -> AIMessage:
    """Reply as a model would: decide as the supervisor, or point at the first declaration found as the coder."""
    rules, last = messages[0].text, messages[-1]
    if not rules.startswith("You lead"):
        found = re.search(r"`(?P<name>[^`]+)` \(\w+\) — (?P<place>\S+)", rules)
        where = f"Change `{found['name']}` at {found['place']}" if found else "There is no code to change"
        return AIMessage(f"{where}, for: {last.text}")
    if last.type == "ai":
        chosen = {"to": "nobody", "task": ""}
    else:
        chosen = {"to": "coderag" if "far: none" in rules else "coder", "task": last.text}
    return AIMessage("", tool_calls=[{"name": "Delegation", "args": chosen, "id": "1"}])


async def main() -> None:
    """Run the team on one task and tell what each does."""
    given = arguments("A supervisor that delegates to CodeRAG and a coder.", "make search results show their language")
    graph = team(given.repository, chat_model(given.model, script))
    start = State(messages=[HumanMessage(given.question)], token_budget=2_000, task="")
    async for step in graph.astream(start, stream_mode="updates"):
        for node, update in step.items():
            tell(node, update)


def tell(node: str, update: State) -> None:
    """Print what a node did."""
    if node == "supervisor":
        print(f"supervisor  {update['task'] or 'done'}")
    elif node == "coderag":
        print(f"coderag     {update['coderag_evidence']}, {update['coderag_tokens']:,} tokens:")
        for one in update["citations"]:
            print(f"            {one['path']}:{one['start_line']}-{one['end_line']} {one.get('name', '')}")
    else:
        print(f"coder       {update['messages'][-1].text}")


if __name__ == "__main__":
    asyncio.run(main())
