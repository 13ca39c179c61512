"""``coderag ask``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coderag.interfaces.cli.options import (
    BudgetOption,
    DebugOption,
    JsonOption,
    NoIndexOption,
    QueryArgument,
    RepoOption,
    make_filters,
    read_query,
    resolve_typed_paths,
)
from coderag.interfaces.cli.output.answer import AnswerPrinter, format_verdict, list_notes
from coderag.interfaces.cli.output.streams import Output
from coderag.interfaces.cli.output.verdict import format_evidence, note_unindexed
from coderag.interfaces.cli.typer_ext.option_groups import expand_options
from coderag.schema.answers import AnswerEvent
from coderag.schema.search import Filters

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from coderag.schema.answers import Answer
    from coderag.schema.engine import Engine

NoStreamOption = Annotated[bool, typer.Option("--no-stream", help="Print the answer only when it is complete.")]


@expand_options("filters", make_filters)
def ask(  # noqa: PLR0913  # one parameter an option
    query: QueryArgument,
    *,
    budget: BudgetOption = None,
    filters: "Filters | None",
    no_index: NoIndexOption = False,
    repo: RepoOption = None,
    no_stream: NoStreamOption = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Answer a question, with citations.

    Each claim is checked against the cited lines on disk. In a terminal the answer is streamed.
    """
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli.indexed_engine import ask_indexed, open_engine

    output = Output(as_json)
    text = read_query(query)
    rag = open_engine(repo, output)
    filters = resolve_typed_paths(filters, rag.root)
    stream = output.is_terminal and not no_stream

    def ask_engine(engine: "Engine") -> "Answer":
        if stream:
            import asyncio  # slow, and `--help` comes this way

            return asyncio.run(
                _print_stream(engine.astream(text, token_budget=budget, filters=filters), engine.root, output)
            )
        return engine.ask(text, token_budget=budget, filters=filters)

    answer = ask_indexed(rag, ask_engine, output, may_index=not no_index, activity="" if stream else "searching")
    if as_json:
        output.write_json(answer)
        return
    if not stream:
        AnswerPrinter(output, rag.root).handle_event(AnswerEvent("answer", answer=answer))
    _print_verdict(answer, output)
    for note in list_notes(answer):
        output.note(note)
    if answer.evidence != "found":
        output.note(format_evidence(answer))
    note_unindexed(answer, output)


async def _print_stream(events: "AsyncIterator[AnswerEvent]", root: Path, output: Output) -> "Answer":
    """Print a streamed answer and return it."""
    printer = AnswerPrinter(output, root)
    answer = None
    try:
        async for event in events:
            printer.handle_event(event)
            answer = event.answer
    finally:
        printer.close()
    assert answer is not None, "the last event is the answer"
    return answer


def _print_verdict(answer: "Answer", output: Output) -> None:
    verdict = format_verdict(answer)
    if not verdict:
        return
    if not output.is_terminal:
        output.write(f"\n{verdict}")
        return
    from rich.text import Text

    console = output.make_console()
    console.print()
    console.print(Text(verdict, style="green" if answer.verified == answer.total else "yellow"))
