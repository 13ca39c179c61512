"""``coderag chat``."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from coderag.interfaces.cli.options import DebugOption, JsonOption, NoIndexOption, RepoOption
from coderag.interfaces.cli.output.streams import Output

if TYPE_CHECKING:
    from coderag.app import CodeRAG

_THREAD_HELP = "Continue the conversation with this id, or start one with this name."
_YES_HELP = "Confirm without asking: sending long prompts (chat.confirm_tokens), deletion."

ThreadOption = Annotated[str | None, typer.Option("--thread", "-t", metavar="ID", help=_THREAD_HELP)]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Continue the last conversation.")]
NewOption = Annotated[bool, typer.Option("--new", help="Start a new conversation (the default).")]
ListOption = Annotated[bool, typer.Option("--list", help="List the conversations and exit.")]
ExportOption = Annotated[str | None, typer.Option("--export", metavar="ID", help="Export a conversation and exit.")]
DeleteOption = Annotated[
    str | None, typer.Option("--delete", metavar="ID", help="Delete a conversation permanently and exit.")
]
FormatOption = Annotated[
    Literal["markdown", "json"] | None, typer.Option("--format", "-f", help="Format of --export. Default: markdown.")
]
FileOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Output file of --export. Default: standard output."),
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help=_YES_HELP)]


def chat(  # noqa: PLR0913  # one parameter an option
    *,
    thread: ThreadOption = None,
    resume: ResumeOption = False,
    new: NewOption = False,
    list_: ListOption = False,
    export: ExportOption = None,
    delete: DeleteOption = None,
    form: FormatOption = None,
    file: FileOption = None,
    yes: YesOption = False,
    no_index: NoIndexOption = False,
    repo: RepoOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Chat about a repository: follow-ups such as "who calls that?" use the earlier turns.

    In a terminal, /help lists the chat commands. From a pipe, each line is a question, and --json prints a JSON object a line.
    """
    _check_exclusive(
        {
            "--thread": thread is not None,
            "--resume": resume,
            "--new": new,
            "--list": list_,
            "--export": export is not None,
            "--delete": delete is not None,
        }
    )
    if export is None and (form or file):
        raise typer.BadParameter("it requires --export.", param_hint="--output" if file else "--format")
    from coderag.interfaces.cli.commands.chat.threads import delete_thread, export_thread, print_threads
    from coderag.interfaces.cli.indexed_engine import open_local_engine

    output = Output(as_json)
    rag = open_local_engine(repo, output)
    if list_:
        print_threads(rag.open_chat_threads(), output)
    elif export is not None:
        export_thread(rag.open_chat_threads(), export, form or ("json" if as_json else "markdown"), file, output)
    elif delete is not None:
        delete_thread(rag.open_chat_threads(), delete, output, yes=yes)
    else:
        code = _run_session(rag, thread, output, resume=resume, yes=yes, may_index=not no_index, debug=debug)
        if code:
            raise typer.Exit(code)


def _check_exclusive(flags: dict[str, bool]) -> None:
    """Reject incompatible options."""
    names = [name for name, is_given in flags.items() if is_given]
    if len(names) > 1:
        raise typer.BadParameter(f"it cannot be combined with {names[0]}.", param_hint=names[1])


def _run_session(
    rag: "CodeRAG", thread: str | None, output: Output, *, resume: bool, yes: bool, may_index: bool, debug: bool
) -> int:
    """Run the chat until the user or the input ends it; return the exit code."""
    from coderag.interfaces.cli.commands.chat.session import ChatSession
    from coderag.interfaces.cli.commands.chat.threads import find_last_thread
    from coderag.interfaces.cli.indexed_engine import ask_indexed

    conversation = rag.chat(find_last_thread(rag.open_chat_threads()) if resume else thread)
    ask_indexed(rag, lambda engine: engine.build_chat_context(), output, may_index=may_index, activity="loading")
    session = ChatSession(rag, conversation, output, yes=yes, debug=debug)
    if output.is_terminal and sys.stdin is not None and sys.stdin.isatty():
        from coderag.interfaces.cli.commands.chat.repl import run_repl

        run_repl(session)
        return 0
    from coderag.interfaces.cli.commands.chat.line_input import answer_lines

    return answer_lines(session)
