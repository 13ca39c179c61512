"""``coderag eval``: quality measured on golden sets."""

from pathlib import Path
from typing import Annotated, Final

import typer

from coderag.interfaces.cli.options import DebugOption, JsonOption, RepoOption
from coderag.interfaces.cli.output.streams import Output
from coderag.interfaces.cli.typer_ext.light_group import LightGroup, show_help_without_command

GoldenArgument = Annotated[
    Path,
    typer.Argument(
        metavar="GOLDEN", help="Questions with their answers: JSON lines, or a YAML list.", show_default=False
    ),
]
EngineOption = Annotated[
    str, typer.Option("--engine", "-e", metavar="NAME", help="What answers: coderag, bm25 or semble.")
]
OffOption = Annotated[
    list[str] | None,
    typer.Option(
        "--off",
        metavar="SIGNAL",
        help="A channel or ranking signal to switch off; may be given several times.",
        show_default=False,
    ),
]
TopKOption = Annotated[int, typer.Option("--top-k", "-n", metavar="N", min=1, help="Results of each question.")]
BudgetsOption = Annotated[
    list[int] | None,
    typer.Option(
        "--budget",
        "-b",
        metavar="TOKENS",
        help="Size of a context; may be given several times. Default: 8000.",
        show_default=False,
    ),
]
AnswersOption = Annotated[bool, typer.Option("--answers", help="Check answers too: citations and claims.")]
OutOption = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="FILE", help="Keep the run as JSON.", show_default=False)
]
MarkdownOption = Annotated[
    Path | None, typer.Option("--markdown", metavar="FILE", help="Write a report in Markdown.", show_default=False)
]
HtmlOption = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Write a report as one HTML page.", show_default=False)
]
BaselineOption = Annotated[
    Path | None,
    typer.Option("--baseline", metavar="RUN", help="An earlier run to compare with.", show_default=False),
]
FailUnderOption = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-under",
        metavar="METRIC=VALUE",
        help="Exit with 6 if the mean is lower (of a time: higher), as in hit@5=0.85.",
        show_default=False,
    ),
]
ThresholdsOption = Annotated[
    Path | None,
    typer.Option(
        "--thresholds", metavar="FILE", help="Such values as TOML, a table for each golden set.", show_default=False
    ),
]
RunArgument = Annotated[
    Path, typer.Argument(metavar="BEFORE", help="A run that 'eval run --out' kept.", show_default=False)
]
OtherArgument = Annotated[Path, typer.Argument(metavar="AFTER", help="Another kept run.", show_default=False)]
FailOption = Annotated[bool, typer.Option("--fail-on-regression", help="Exit with 6 if the second is worse.")]

MineOutOption = Annotated[
    Path, typer.Option("--out", "-o", metavar="FILE", help="Where the golden set is written.", show_default=False)
]
FromOption = Annotated[str, typer.Option("--from", metavar="SOURCES", help="commits, tests, or both with a comma.")]
LimitOption = Annotated[int, typer.Option("--limit", metavar="N", min=1, help="Questions of each source, at most.")]
SinceOption = Annotated[
    str,
    typer.Option(
        "--since", metavar="REV|DATE", help="Only later commits: v2.0, 2024-05-01, '6 months ago'.", show_default=False
    ),
]
OverwriteOption = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]
TimeOption = Annotated[str, typer.Option("--budget", metavar="TIME", help="How long to search: 90s, 5m, 1h.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Write nothing.")]
SeedOption = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the split and the search.")]

eval_: Final = typer.Typer(
    name="eval",
    cls=LightGroup,
    invoke_without_command=True,
    rich_markup_mode=None,
    short_help="Measure how good the results are.",
)


@eval_.callback()
def group(ctx: typer.Context) -> None:
    """Measure how good the results are, on questions whose answers are known."""
    show_help_without_command(ctx)


@eval_.command(short_help="Measure the results on a golden set.")
def run(  # noqa: PLR0913  # one parameter an option
    golden: GoldenArgument,
    *,
    engine: EngineOption = "coderag",
    off: OffOption = None,
    top_k: TopKOption = 10,
    budget: BudgetsOption = None,
    answers: AnswersOption = False,
    out: OutOption = None,
    markdown: MarkdownOption = None,
    html: HtmlOption = None,
    baseline: BaselineOption = None,
    fail_under: FailUnderOption = None,
    thresholds: ThresholdsOption = None,
    repo: RepoOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Ask the questions of a golden set, and tell how good the results are.

    The repository is indexed first, or its index brought up to date.
    """
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli.commands.eval.run import EvalOptions, run_evaluation

    plan = EvalOptions(
        golden=golden,
        repo=repo,
        engine=engine,
        off=tuple(off or ()),
        top_k=top_k,
        budgets=tuple(budget or ()),
        answers=answers,
        out=out,
        markdown=markdown,
        html=html,
        baseline=baseline,
        fail_under=tuple(fail_under or ()),
        thresholds=thresholds,
    )
    run_evaluation(plan, Output(as_json))


@eval_.command()
def compare(
    before: RunArgument,
    after: OtherArgument,
    *,
    fail_on_regression: FailOption = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Compare two kept runs, question by question.

    Says which metrics surely changed, which questions moved, and which settings, channels and signals differ.
    """
    del debug
    from coderag.interfaces.cli.commands.eval.comparison import compare_files

    compare_files(before, after, Output(as_json), fail=fail_on_regression)


@eval_.command(short_help="Make a golden set of history and tests.")
def mine(  # noqa: PLR0913  # one parameter an option
    *,
    out: MineOutOption,
    sources: FromOption = "commits,tests",
    limit: LimitOption = 100,
    since: SinceOption = "",
    force: OverwriteOption = False,
    repo: RepoOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Make a golden set of the repository's own history and tests.

    What commits and tests say becomes questions; the code that they changed or call, the answers.
    """
    del debug
    from coderag.interfaces.cli.commands.eval.mining import MineOptions, mine_golden_set

    plan = MineOptions(repo=repo, sources=sources, limit=limit, since=since, out=out, force=force)
    mine_golden_set(plan, Output(as_json))


@eval_.command(short_help="Search better weights for this repository.")
def tune(
    golden: GoldenArgument,
    *,
    budget: TimeOption = "5m",
    dry_run: DryRunOption = False,
    seed: SeedOption = 0,
    repo: RepoOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Search weights and sizes that suit this repository better than the defaults.

    Half of the questions choose them, the other half judge; they go into .coderag.yaml only if the gain is sure.
    """
    del debug
    from coderag.interfaces.cli.commands.eval.tuning import TuneOptions, tune_settings

    plan = TuneOptions(golden=golden, repo=repo, budget=budget, dry_run=dry_run, seed=seed)
    tune_settings(plan, Output(as_json))
