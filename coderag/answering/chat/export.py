"""Export of a conversation as Markdown or JSON."""

import json
from collections.abc import Sequence
from typing import Literal

from coderag.answering.chat.state import Exchange

ExportFormat = Literal["markdown", "json"]


def export_conversation(thread: str, exchanges: Sequence[Exchange], format: ExportFormat) -> str:  # noqa: A002  # as of `context`
    """Export a conversation as text that ends with a newline."""
    if format == "json":
        return json.dumps({"thread": thread, "exchanges": exchanges}, indent=2, ensure_ascii=False) + "\n"
    return "\n".join([f"# Conversation {thread}\n", *map(_format_exchange, exchanges)])


def _format_exchange(exchange: Exchange) -> str:
    quoted_text = "\n".join(f"> {line}".rstrip() for line in exchange["text"].split("\n"))
    question = exchange["question"]
    understood = f"\n*Understood as: {question}*\n" if question and question != exchange["text"] else ""
    cited = "".join(f"{number}. `{cited['place']}`\n" for number, cited in enumerate(exchange["cited"], 1))
    sources = f"\nCited:\n\n{cited}" if cited else ""
    heading = f"## {exchange['asked']}, {exchange['generator']}"
    return f"{heading}\n\n{quoted_text}\n{understood}\n{exchange['answer'].strip()}\n{sources}"
