"""``coderag diff``."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coderag.errors import InvalidQueryError
from coderag.interfaces.cli.options import DebugOption, JsonOption, NoIndexOption, RepoOption
from coderag.interfaces.cli.output.streams import Output, escape_controls, escape_line
from coderag.schema.change_review import DEFAULT_MAX_TESTS, ChangeTarget

if TYPE_CHECKING:
    from coderag.interfaces.change_report import ReportLine
    from coderag.schema.change_review import ChangeReview

_MAX_PATCH_BYTES = 50_000_000
_CHANGE_HELP = (
    "Revisions as 'main..HEAD' or 'main...HEAD', or a revision to compare the working tree with. "
    "Or a file with a patch, '-' for standard input. Default: the working tree against HEAD."
)

ChangeArgument = Annotated[str, typer.Argument(metavar="CHANGE", help=_CHANGE_HELP, show_default=False)]
StagedOption = Annotated[bool, typer.Option("--staged", help="Review the staged changes.")]
MaxTestsOption = Annotated[int, typer.Option("--max-tests", metavar="N", min=0, help="Maximum number of listed tests.")]
DepthOption = Annotated[int, typer.Option("--depth", metavar="N", min=1, max=5, help="Calls to follow to dependents.")]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Print Markdown for a pull request.")]
SarifOption = Annotated[
    bool, typer.Option("--sarif", help="Print SARIF 2.1.0: unchanged users of what changed its signature.")
]
CommandsOption = Annotated[bool, typer.Option("--commands", help="Print only the commands that run the tests.")]


def diff(  # noqa: PLR0913  # one parameter an option
    change: ChangeArgument = "",
    *,
    staged: StagedOption = False,
    max_tests: MaxTestsOption = DEFAULT_MAX_TESTS,
    depth: DepthOption = 1,
    markdown: MarkdownOption = False,
    sarif: SarifOption = False,
    commands: CommandsOption = False,
    no_index: NoIndexOption = False,
    repo: RepoOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Review a change: what depends on it, which tests to run, what else to look at.

    The tests are ranked: with --max-tests 20 the likeliest 20 are listed.
    """
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli.indexed_engine import ask_indexed, open_local_engine

    if markdown + sarif + commands + as_json > 1:
        raise typer.BadParameter("give one of --json, --markdown, --sarif and --commands.")
    if staged and change:
        raise typer.BadParameter("it cannot be combined with revisions or a patch.", param_hint="--staged")
    output = Output(as_json)
    target = _read_target(change, staged=staged)
    rag = open_local_engine(repo, output)
    review = ask_indexed(
        rag,
        lambda engine: engine.review_change(
            target.revisions, staged=target.staged, patch=target.patch, max_tests=max_tests, depth=depth
        ),
        output,
        may_index=not no_index,
        activity="reviewing the change",
    )
    if as_json:
        from coderag.schema.records import to_record

        output.write_json(to_record(review), root=rag.root)
    elif sarif:
        from coderag.interfaces.change_sarif import build_sarif

        output.write_json(build_sarif(review))
    elif markdown:
        from coderag.interfaces.change_markdown import format_markdown

        output.write(escape_controls(format_markdown(review)))
    elif commands:
        for command in review.tests.commands:
            output.write(escape_line(command))
    else:
        _print_review(review, output)


def _read_target(change: str, *, staged: bool) -> ChangeTarget:
    """Return the change that an argument means; a file of the name is a patch."""
    if change == "-":
        return ChangeTarget(patch=sys.stdin.buffer.read(_MAX_PATCH_BYTES + 1))
    if change and Path(change).is_file():
        try:
            return ChangeTarget(patch=Path(change).read_bytes())
        except OSError as error:
            raise InvalidQueryError(f"cannot read the patch {change}: {error.strerror or error}") from error
    return ChangeTarget(change, staged)


def _print_review(review: "ChangeReview", output: Output) -> None:
    from coderag.interfaces.change_report import build_sections, format_title

    if not review.files:
        output.note(f"nothing differs: {format_title(review)}")
        return
    lines = [format_title(review)]
    for section in build_sections(review):
        if section.title == "Limits":
            for line in section.lines:
                output.note(line.text)
            continue
        lines += ["", section.title, *_format_lines(section.lines, 1)]
        lines += [f"  and {section.n_left_out:,} more"] if section.n_left_out else []
    output.write("\n".join(lines))


def _format_lines(lines: "Sequence[ReportLine]", depth: int) -> list[str]:
    """Return ``place  name  text  code``, nested lines indented."""
    formatted = []
    for line in lines:
        parts = [escape_line(part) for part in (line.place, line.name, line.text, line.code) if part]
        formatted.append("  " * depth + "  ".join(parts))
        formatted += _format_lines(line.children, depth + 1)
    return formatted
