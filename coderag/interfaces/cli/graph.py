"""``coderag graph``: who calls, imports, extends and tests what, each with the line of evidence."""

from collections.abc import Callable
from typing import Annotated, Final

import typer

from coderag.interfaces.cli._graph_export import export, import_
from coderag.interfaces.cli._graph_options import (
    CandidatesOption,
    DotOption,
    Level,
    LimitOption,
    MermaidOption,
    NameArgument,
    make_view,
)
from coderag.interfaces.cli._graph_questions import QUESTIONS, Question
from coderag.interfaces.cli._group import LightGroup, show_help_alone
from coderag.interfaces.cli._light_command import LightCommand
from coderag.interfaces.cli._options import DebugOption, JsonOption, NoIndexOption, RepoOption

DepthOption = Annotated[int, typer.Option("--depth", metavar="N", min=1, help="Steps to follow.")]
StartArgument = Annotated[
    str, typer.Argument(metavar="FROM", help="Where it starts: a name, as for 'callers'.", show_default=False)
]
EndArgument = Annotated[str, typer.Argument(metavar="TO", help="Where it ends: likewise.", show_default=False)]
FileArgument = Annotated[str, typer.Argument(metavar="PATH", help="A file, seen from the root.", show_default=False)]
LevelOption = Annotated[Level, typer.Option("--level", help="Circles of imports, or of calls.")]
KindOption = Annotated[
    str | None, typer.Option("--kind", "-k", metavar="KIND", help="Only this kind, such as class.", show_default=False)
]
MostOption = Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, help="Results, at most.")]

graph: Final = typer.Typer(name="graph", cls=LightGroup, invoke_without_command=True, rich_markup_mode=None)


@graph.callback()
def group(ctx: typer.Context) -> None:
    """Say who calls, imports, extends and tests what.

    Each answer has its line of evidence, who resolved it, and how surely (0 to 1).
    """
    show_help_alone(ctx)


def _walking(question: Question) -> Callable[..., None]:
    """Return the command of a question that may be followed for several steps."""

    def command(  # noqa: PLR0913  # one parameter an option
        name: NameArgument,
        *,
        depth: DepthOption = question.depth,
        candidates: CandidatesOption = False,
        limit: LimitOption = None,
        mermaid: MermaidOption = False,
        dot: DotOption = False,
        no_index: NoIndexOption = False,
        repo: RepoOption = None,
        as_json: JsonOption = False,
        debug: DebugOption = False,
    ) -> None:
        del debug  # read in main, before anything can fail
        view = make_view(
            as_json=as_json,
            mermaid=mermaid,
            dot=dot,
            no_index=no_index,
            repo=repo,
            limit=limit,
            candidates=candidates,
        )
        from coderag.interfaces.cli._graph_answers import answer

        answer(question, name, view, depth=depth)

    return command


def _direct(question: Question) -> Callable[..., None]:
    """Return the command of a question that has one step."""

    def command(  # noqa: PLR0913  # one parameter an option
        name: NameArgument,
        *,
        candidates: CandidatesOption = False,
        limit: LimitOption = None,
        mermaid: MermaidOption = False,
        dot: DotOption = False,
        no_index: NoIndexOption = False,
        repo: RepoOption = None,
        as_json: JsonOption = False,
        debug: DebugOption = False,
    ) -> None:
        del debug
        view = make_view(
            as_json=as_json,
            mermaid=mermaid,
            dot=dot,
            no_index=no_index,
            repo=repo,
            limit=limit,
            candidates=candidates,
        )
        from coderag.interfaces.cli._graph_answers import answer

        answer(question, name, view)

    return command


for _question in QUESTIONS:
    _make = _walking if _question.depth else _direct
    graph.command(_question.name, cls=LightCommand, help=_question.help)(_make(_question))


@graph.command(cls=LightCommand)
def path(  # noqa: PLR0913
    start: StartArgument,
    end: EndArgument,
    *,
    candidates: CandidatesOption = False,
    mermaid: MermaidOption = False,
    dot: DotOption = False,
    no_index: NoIndexOption = False,
    repo: RepoOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Show the shortest way from one declaration to another."""
    del debug
    view = make_view(as_json=as_json, mermaid=mermaid, dot=dot, no_index=no_index, repo=repo, candidates=candidates)
    from coderag.interfaces.cli import _graph_answers

    _graph_answers.path(start, end, view)


@graph.command(cls=LightCommand)
def cycles(  # noqa: PLR0913
    *,
    level: LevelOption = "files",
    limit: LimitOption = None,
    mermaid: MermaidOption = False,
    dot: DotOption = False,
    no_index: NoIndexOption = False,
    repo: RepoOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """List files that import one another in circles.

    With --level symbols: functions that call one another.
    """
    del debug
    view = make_view(as_json=as_json, mermaid=mermaid, dot=dot, no_index=no_index, repo=repo, limit=limit)
    from coderag.interfaces.cli import _graph_answers

    _graph_answers.cycles(level, view)


@graph.command(cls=LightCommand)
def hotspots(
    *,
    limit: MostOption = 20,
    kind: KindOption = None,
    no_index: NoIndexOption = False,
    repo: RepoOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """List what the most depends on, by calls and imports."""
    del debug
    view = make_view(as_json=as_json, mermaid=False, dot=False, no_index=no_index, repo=repo, limit=limit)
    from coderag.interfaces.cli import _graph_answers

    _graph_answers.hotspots(kind, limit, view)


@graph.command(cls=LightCommand)
def outline(
    file: FileArgument,
    *,
    mermaid: MermaidOption = False,
    dot: DotOption = False,
    no_index: NoIndexOption = False,
    repo: RepoOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Show the declarations of a file, nested."""
    del debug
    view = make_view(as_json=as_json, mermaid=mermaid, dot=dot, no_index=no_index, repo=repo)
    from coderag.interfaces.cli import _graph_answers

    _graph_answers.outline(file, view)


graph.command()(export)
graph.command("import")(import_)
