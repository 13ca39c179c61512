"""CodeRAG as the retriever of a LlamaIndex query engine, which writes the answer and names its sources.

Run it with ``python examples/retriever.py [repository] [question] [--model provider:name]``.
"""

import re
from collections.abc import Sequence

from llama_index.core.llms import LLM, ChatMessage
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import ResponseMode
from models import arguments, llm

from coderag import Filters, as_retriever

_SOURCE = re.compile(r"^path: (?P<path>.*)\nstart_line: (?P<line>.*)\n.*\nname: (?P<name>.*)$", re.MULTILINE)


def engine(repository: str, model: LLM) -> RetrieverQueryEngine:
    """Return a query engine over a repository's code, without its tests."""
    retriever = as_retriever(repository, top_k=4, filters=Filters(roles=("source",)), index=True)
    return RetrieverQueryEngine.from_args(retriever, llm=model, response_mode=ResponseMode.COMPACT)


def script(messages: Sequence[ChatMessage]) -> ChatMessage:
    """Reply as a model would that is shown the code: name the declarations in it."""
    shown = _SOURCE.findall(messages[-1].content or "")
    names = ", ".join(f"`{name}` ({path}:{line})" for path, line, name in shown)
    return ChatMessage(role="assistant", content=f"Look at {names}." if shown else "There is no code about that.")


def main() -> None:
    """Ask one question, and show the answer with its sources."""
    given = arguments("CodeRAG as the retriever of a query engine.", "how are vectors stored")
    reply = engine(given.repository, llm(given.model, script)).query(given.question)
    print(reply)
    for source in reply.source_nodes:
        place = source.node.metadata
        print(f"  {source.score:.2f}  {place['path']}:{place['start_line']}-{place['end_line']}  {place['signature']}")


if __name__ == "__main__":
    main()
