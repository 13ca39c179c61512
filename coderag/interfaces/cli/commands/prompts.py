"""``coderag prompts``: prompts of language models and a project's custom texts."""

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from coderag.errors import CodeRAGError, ConfigurationError
from coderag.interfaces.cli.options import DebugOption, JsonOption, RepoOption
from coderag.interfaces.cli.output.streams import Output, escape_controls
from coderag.interfaces.cli.typer_ext.light_group import LightGroup, show_help_without_command
from coderag.interfaces.error_table import find_error_row

if TYPE_CHECKING:
    from coderag.interfaces.cli.output.report import ReportRow
    from coderag.prompting import Prompts

prompts: Final = typer.Typer(name="prompts", cls=LightGroup, invoke_without_command=True, rich_markup_mode=None)


@dataclass(frozen=True, slots=True)
class PromptReport:
    """A prompt in its effective form.

    Attributes:
        path: File of the custom text; empty if the packaged one is used.
        error: Error of the custom text; empty if it is valid.
        hint: Suggested action.
    """

    name: str
    version: int
    variables: list[str]
    purpose: str
    path: str = ""
    error: str = ""
    hint: str = ""


def _complete_names(start: str) -> list[str]:
    from coderag.prompting import list_prompt_names

    return [name for name in list_prompt_names() if name.startswith(start)]


def _check_name(name: str) -> str:
    from coderag.prompting import list_prompt_names

    if name not in list_prompt_names():
        matches = get_close_matches(name, list_prompt_names(), n=1)
        suggestion = f" Did you mean {matches[0]!r}?" if matches else ""
        raise typer.BadParameter(f"unknown prompt {name!r}.{suggestion} 'coderag prompts list' lists all.")
    return name


NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="A prompt.", callback=_check_name, autocompletion=_complete_names)
]
PackagedOption = Annotated[
    bool, typer.Option("--packaged", help="Print the packaged text, even if there is a custom one.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite the project's custom text.")]


_NOT_USED = "ignored, as this repository is not trusted (see `coderag trust`)"


@prompts.callback()
def group(ctx: typer.Context) -> None:
    """Show and replace the prompts of language models.

    A project's custom prompt is .coderag/prompts/NAME.md; it applies from the next question on.
    """
    show_help_without_command(ctx)


@prompts.command(name="list")
def list_(*, repo: RepoOption = None, as_json: JsonOption = False, debug: DebugOption = False) -> None:
    """List all prompts with purpose, version, variables and custom texts."""
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli.output.report import print_report
    from coderag.prompting import list_prompt_names

    output = Output(as_json)
    own = _load_prompts(repo)
    reports = [_make_report(own, name) for name in list_prompt_names()]
    if as_json:
        output.write_json({"folder": own.folder, "prompts": reports, "unknown": own.list_unknown()})
        return
    print_report(
        f"custom prompts: {own.folder or _NOT_USED}", [row for report in reports for row in _make_rows(report)], output
    )
    _note_unknown(own, output)


@prompts.command()
def show(
    name: NameArgument,
    *,
    packaged: PackagedOption = False,
    repo: RepoOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Print the effective text of a prompt.

    The text above the line <!-- user --> is the system message, the text below it the user message.
    """
    del debug  # read in main, before anything can fail
    from coderag.prompting import PACKAGED, read_prompt_text

    output = Output(as_json)
    own = PACKAGED if packaged else _load_prompts(repo)
    prompt = own.load(name)
    if as_json:
        system, user = prompt.parts
        output.write_json(_make_report(own, name), system=system.strip(), user=user.strip())
        return
    output.write(
        escape_controls(
            Path(prompt.source).read_text(encoding="utf-8-sig") if prompt.source else read_prompt_text(name)
        )
    )


@prompts.command()
def copy(
    name: NameArgument,
    *,
    force: ForceOption = False,
    repo: RepoOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Copy the package's text to .coderag/prompts/NAME.md, to be edited there."""
    del debug  # read in main, before anything can fail
    from coderag.prompting import read_prompt_text
    from coderag.stores.disk import create_index_directory, map_storage_errors, replace_file

    output = Output(as_json)
    path = _load_prompts(repo).get_path(name)
    if path is None:
        message = "custom prompts are ignored: this repository is not trusted"
        raise ConfigurationError(message, hint="Review and allow its settings with `coderag trust`.")
    existed = path.exists()
    if existed and not force:
        raise ConfigurationError(f"{path} already exists", hint="--force overwrites it.")
    with map_storage_errors(f"make {path.parent}"):
        create_index_directory(path.parent.parent)
        path.parent.mkdir(exist_ok=True)
    replace_file(path, read_prompt_text(name).encode())
    if as_json:
        output.write_json({"path": path, "overwritten": existed})
        return
    output.write(str(path))
    output.note("Edit it, then run `coderag prompts check`. git ignores it: share it with `git add --force`.")


@prompts.command()
def check(*, repo: RepoOption = None, as_json: JsonOption = False, debug: DebugOption = False) -> None:
    """Check the project's custom prompts: front matter, variables and size."""
    del debug  # read in main, before anything can fail
    output = Output(as_json)
    own = _load_prompts(repo)
    reports = [_make_report(own, name) for name in own.list_overridden()]
    if as_json:
        output.write_json({"folder": own.folder, "prompts": reports, "unknown": own.list_unknown()})
    else:
        for report in reports:
            verdict = f"invalid: {report.error}" if report.error else f"version {report.version}, valid"
            output.write(escape_controls(f"{report.name}: {verdict}"))
            if report.hint:
                output.note(f"hint: {report.hint}")
        if not reports:
            output.note(f"no custom prompts in {own.folder}" if own.folder else f"custom prompts: {_NOT_USED}")
        _note_unknown(own, output)
    if any(report.error for report in reports):
        raise typer.Exit(find_error_row(ConfigurationError("")).exit_code)


def _load_prompts(repo: Path | None) -> "Prompts":
    """Load the prompts of the command's repository."""
    from coderag.config.repository_root import find_root, resolve_folder
    from coderag.config.settings import Settings
    from coderag.config.trust import is_trusted
    from coderag.prompting import Prompts
    from coderag.stores.index_locations import find_prompts_folder

    root = resolve_folder(find_root(repo))
    return Prompts(find_prompts_folder(root, Settings.load(root, trusted=is_trusted(root))))


def _make_report(own: "Prompts", name: str) -> PromptReport:
    from coderag.prompting import load_prompt

    packaged, error, hint = load_prompt(name), "", ""
    try:
        prompt = own.load(name)
    except CodeRAGError as fault:
        prompt, error, hint = packaged, str(fault), fault.hint
    path = prompt.source or (str(own.get_path(name)) if error else "")
    return PromptReport(name, prompt.version, sorted(packaged.variables), packaged.purpose, path, error, hint)


def _make_rows(report: PromptReport) -> "list[ReportRow]":
    from coderag.interfaces.cli.output.report import ReportRow

    summary = f"version {report.version}; variables: {', '.join(report.variables) or 'none'}"
    rows = [ReportRow(report.name, report.purpose), ReportRow("", summary, "dim")]
    if report.error:
        rows.append(ReportRow("", f"custom text is invalid: {report.error}", "red"))
    elif report.path:
        rows.append(ReportRow("", f"custom text: {report.path}", "yellow"))
    return rows


def _note_unknown(own: "Prompts", output: Output) -> None:
    for name in own.list_unknown():
        output.note(f"{name}.md matches no prompt and is not read: 'coderag prompts list' lists all")
