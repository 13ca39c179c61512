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
    str, typer.Option("--engine", "-e", metavar="NAME", help="Search engine to measure: coderag, bm25 or semble.")
]
OffOption = Annotated[
    list[str] | None,
    typer.Option(
        "--off",
        metavar="SIGNAL",
        help="Channel or ranking signal to disable; repeatable.",
        show_default=False,
    ),
]
TopKOption = Annotated[
    int, typer.Option("--top-k", "-n", metavar="N", min=1, help="Number of results for each question.")
]
BudgetsOption = Annotated[
    list[int] | None,
    typer.Option(
        "--budget",
        "-b",
        metavar="TOKENS",
        help="Token budget of a context; repeatable. Default: 8000.",
        show_default=False,
    ),
]
AnswersOption = Annotated[bool, typer.Option("--answers", help="Also check the citations and claims of answers.")]
OutOption = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="FILE", help="Save the run as JSON.", show_default=False)
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
        help="Exit with 6 if the mean is lower (higher, for times), as in hit@5=0.85.",
        show_default=False,
    ),
]
ThresholdsOption = Annotated[
    Path | None,
    typer.Option(
        "--thresholds",
        metavar="FILE",
        help="TOML file of such thresholds, a table for each golden set.",
        show_default=False,
    ),
]
RunArgument = Annotated[
    Path, typer.Argument(metavar="BEFORE", help="A run saved by 'eval run --out'.", show_default=False)
]
OtherArgument = Annotated[Path, typer.Argument(metavar="AFTER", help="Another saved run.", show_default=False)]
FailOption = Annotated[bool, typer.Option("--fail-on-regression", help="Exit with 6 if the second is worse.")]

MineOutOption = Annotated[
    Path, typer.Option("--out", "-o", metavar="FILE", help="File for the golden set.", show_default=False)
]
FromOption = Annotated[
    str, typer.Option("--from", metavar="SOURCES", help="commits, tests, or both, separated by a comma.")
]
LimitOption = Annotated[
    int, typer.Option("--limit", metavar="N", min=1, help="Maximum number of questions from each source.")
]
SinceOption = Annotated[
    str,
    typer.Option(
        "--since", metavar="REV|DATE", help="Only later commits: v2.0, 2024-05-01, '6 months ago'.", show_default=False
    ),
]
OverwriteOption = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]
TimeOption = Annotated[str, typer.Option("--budget", metavar="TIME", help="Time limit of the search: 90s, 5m, 1h.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Write nothing.")]
SeedOption = Annotated[int, typer.Option("--seed", metavar="N", help="Random seed of the split and the search.")]

eval_: Final = typer.Typer(
    name="eval",
    cls=LightGroup,
    invoke_without_command=True,
    rich_markup_mode=None,
    short_help="Measure the quality of results.",
)


@eval_.callback()
def group(ctx: typer.Context) -> None:
    """Measure the quality of results on questions with known answers."""
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
    """Run the questions of a golden set and measure the results.

    The repository is indexed first, or its index updated.
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
    """Compare two saved runs, question by question.

    Lists significant changes of metrics, changed questions, and differing settings, channels and signals.
    """
    del debug
    from coderag.interfaces.cli.commands.eval.comparison import compare_files

    compare_files(before, after, Output(as_json), fail=fail_on_regression)


@eval_.command(short_help="Mine a golden set from history and tests.")
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
    """Mine a golden set from the repository's history and tests.

    Commit messages and tests become questions; the code that they changed or call becomes the answers.
    """
    del debug
    from coderag.interfaces.cli.commands.eval.mining import MineOptions, mine_golden_set

    plan = MineOptions(repo=repo, sources=sources, limit=limit, since=since, out=out, force=force)
    mine_golden_set(plan, Output(as_json))


@eval_.command(short_help="Tune weights for this repository.")
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

    Half of the questions select them, the other half validate. They are written to .coderag.yaml only if the gain is
    significant.
    """
    del debug
    from coderag.interfaces.cli.commands.eval.tuning import TuneOptions, tune_settings

    plan = TuneOptions(golden=golden, repo=repo, budget=budget, dry_run=dry_run, seed=seed)
    tune_settings(plan, Output(as_json))
