"""``coderag enrich``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coderag.errors import InvalidQueryError
from coderag.interfaces.cli.options import DebugOption, JsonOption, RepoOption
from coderag.interfaces.cli.output.streams import Output
from coderag.interfaces.error_table import PARTIAL_INDEX

if TYPE_CHECKING:
    from coderag.app import CodeRAG

BudgetOption = Annotated[
    str | None, typer.Option("--budget", metavar="TIME", help="Time limit: 90s, 10m, 2h.", show_default=False)
]
CostOption = Annotated[
    float | None,
    typer.Option("--max-cost", metavar="AMOUNT", min=0, help="Cost limit, by the prices in 'llm'.", show_default=False),
]  # fmt: skip
LimitOption = Annotated[
    int | None, typer.Option("--limit", metavar="N", min=1, help="Maximum number of code units.", show_default=False)
]
IncludeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--include", metavar="ROLE", help="Include code of this role: test, generated, vendored.", show_default=False
    ),
]
WatchOption = Annotated[bool, typer.Option("--watch", help="Keep running, and summarise again on each index change.")]
PlanOption = Annotated[bool, typer.Option("--plan", help="Only print the planned requests and their cost.")]
FromOption = Annotated[
    Path | None,
    typer.Option("--from", metavar="FILE", help="Import summaries written elsewhere: JSON lines.", show_default=False),
]  # fmt: skip


def enrich(  # noqa: PLR0913  # one parameter an option
    *,
    budget: BudgetOption = None,
    max_cost: CostOption = None,
    limit: LimitOption = None,
    include: IncludeOption = None,
    watch: WatchOption = False,
    plan: PlanOption = False,
    given: FromOption = None,
    repo: RepoOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Summarise code with the language model of 'llm', most used code first.

    Searches continue meanwhile and see the summaries step by step. Ctrl-C stops it; the next run continues from there. Exits
    with 5 if some code could not be summarised; the next run tries it again.
    """
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli.indexed_engine import open_local_engine

    if given is not None and (budget or max_cost is not None or limit or include or watch or plan):
        raise InvalidQueryError("--from cannot be combined with other options of 'enrich'")
    if plan and (budget or max_cost is not None or watch):
        raise InvalidQueryError("--plan can only be combined with --limit and --include")
    budget_s = parse_duration(budget) if budget else None
    output = Output(as_json)
    rag = open_local_engine(repo, output)
    if plan:
        _print_plan(rag, limit, include, output)
    elif given is not None:
        _import_summaries(rag, given, output)
    else:
        from coderag.interfaces.cli.commands.enrich_run import run_enrichment

        run_enrichment(rag, (budget_s, max_cost, limit), tuple(include or ()), output, watch=watch)


def parse_duration(text: str) -> float:
    """Parse a duration such as ``90s``, ``10m``, ``1h30m`` or ``45`` (seconds) to seconds.

    Raises:
        InvalidQueryError: It is not a duration.
    """
    import re

    match = re.fullmatch(
        r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m(?:in)?)?(?:(\d+(?:\.\d+)?)s?)?", text.strip().lower()
    )
    if not match or not any(match.groups()):
        raise InvalidQueryError(f"{text!r} is not a duration", hint="Write it as 90s, 10m, 2h or 1h30m.")
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return hours * 3_600 + minutes * 60 + seconds


def _print_plan(rag: "CodeRAG", limit: int | None, include: list[str] | None, output: Output) -> None:
    from coderag.interfaces.cli.commands.enrich_run import make_plan_rows
    from coderag.interfaces.cli.output.report import print_report

    with output.show_status("looking at the code"):
        planned = rag.summaries.plan(limit=limit, include=tuple(include or ()))
    if output.as_json:
        output.write_json(planned)
    else:
        print_report(f"plan for {rag.root} (nothing is sent)", make_plan_rows(planned), output)


def _import_summaries(rag: "CodeRAG", path: Path, output: Output) -> None:
    from coderag.interfaces.cli.commands.enrich_run import make_report_rows
    from coderag.interfaces.cli.output.report import print_report

    with output.show_status("taking the summaries"):
        report = rag.summaries.import_file(path)
    if output.as_json:
        output.write_json(report)
    else:
        print_report(f"took summaries for {rag.root}", make_report_rows(report), output)
    if report.unknown:
        raise typer.Exit(PARTIAL_INDEX)
