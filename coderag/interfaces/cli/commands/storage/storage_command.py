"""``coderag storage``: the group and its commands."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from coderag.errors import ConfigurationError
from coderag.interfaces.cli.options import DebugOption, JsonOption, RepoOption
from coderag.interfaces.cli.output.streams import Output, escape_controls
from coderag.interfaces.cli.typer_ext.light_command import LightCommand
from coderag.interfaces.cli.typer_ext.light_group import LightGroup, show_help_without_command

if TYPE_CHECKING:
    from coderag.schema.object_storage import TransferProgress
    from coderag.stores.object_storage.object_index import ObjectIndex

storage: Final = typer.Typer(name="storage", cls=LightGroup, invoke_without_command=True, rich_markup_mode=None)

VerifyOption = Annotated[
    bool, typer.Option("--verify", help="Check that all published data exists in full, and upload what does not.")
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only count what would be deleted.")]


@storage.callback()
def group(ctx: typer.Context) -> None:
    """Share the index with other machines through object storage, set by storage.url.

    `coderag index` publishes by itself, and searches fetch what is newer.
    """
    show_help_without_command(ctx)


@storage.command(cls=LightCommand)
def push(
    *, verify: VerifyOption = False, repo: RepoOption = None, as_json: JsonOption = False, debug: DebugOption = False
) -> None:
    """Publish the index of this machine."""
    del debug  # read in main, before anything can fail
    output, index = Output(as_json), _open_index(repo)
    with _show_progress() as progress:
        report = index.push(verify=verify, on_progress=progress)
    if as_json:
        output.write_json(report)
        return
    verb = "published" if report.changed else "already published:"
    uploaded = f"{_format_bytes(report.uploaded_bytes)} of {_format_bytes(report.bytes)} uploaded"
    text = f"{verb} generation {report.generation} of {report.repository}, {uploaded} in {report.elapsed_s:.1f} s"
    output.write(escape_controls(text))


@storage.command(cls=LightCommand)
def pull(*, repo: RepoOption = None, as_json: JsonOption = False, debug: DebugOption = False) -> None:
    """Fetch the published index, and verify and repair the local copy.

    Replaces a local index that was not published; `coderag index` then adds local changes again.
    """
    del debug  # read in main, before anything can fail
    output, index = Output(as_json), _open_index(repo)
    with _show_progress() as progress:
        report = index.pull(on_progress=progress)
    if as_json:
        output.write_json(report)
        return
    verb = "fetched" if report.changed else "already here:"
    fetched = f"{_format_bytes(report.fetched_bytes)} of {_format_bytes(report.bytes)} downloaded"
    repaired = f", {report.repaired_files:,} damaged files repaired" if report.repaired_files else ""
    text = f"{verb} generation {report.generation} of {report.repository}, {fetched} in {report.elapsed_s:.1f} s"
    output.write(escape_controls(f"{text}{repaired}"))


@storage.command(name="status", cls=LightCommand)
def status_(*, repo: RepoOption = None, as_json: JsonOption = False, debug: DebugOption = False) -> None:
    """Compare the index of this machine with the published one."""
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli.output.report import ReportRow, print_report

    output = Output(as_json)
    state = _open_index(repo).status()
    if as_json:
        output.write_json(state)
        return
    published = "none" if state.published is None else f"generation {state.published}, {_format_bytes(state.bytes)}"
    rows = [
        ReportRow("state", state.state, "green" if state.state == "equal" else "yellow"),
        ReportRow("published", published),
        ReportRow("by", state.writer or "nobody"),
        ReportRow("local", "none" if state.local is None else f"generation {state.local}"),
        ReportRow("grace", "not set up" if state.grace_s is None else f"{state.grace_s / 3600:g} h"),
    ]
    print_report(state.place, rows, output)


@storage.command(cls=LightCommand)
def collect(
    *, dry_run: DryRunOption = False, repo: RepoOption = None, as_json: JsonOption = False, debug: DebugOption = False
) -> None:
    """Delete published data that no repository of the store uses, after its grace time."""
    del debug  # read in main, before anything can fail
    output, index = Output(as_json), _open_index(repo)
    with output.show_status("comparing"):
        report = index.collect(dry_run=dry_run)
    if as_json:
        output.write_json(report)
        return
    verb = "would delete" if dry_run else "deleted"
    size = f"{report.blobs:,} blobs ({_format_bytes(report.bytes)})"
    output.write(f"{verb} {report.manifests:,} manifests and {size}; {report.kept_blobs:,} blobs stay")


def _open_index(repo: Path | None) -> "ObjectIndex":
    from coderag.config.repository_root import find_root, resolve_folder
    from coderag.config.settings import Settings
    from coderag.config.trust import is_trusted
    from coderag.interfaces.cli.restriction_warning import warn_of_restrictions
    from coderag.stores.index_locations import open_object_index

    root = resolve_folder(find_root(repo))
    settings = Settings.load(root, trusted=is_trusted(root))
    warn_of_restrictions(root, [(restriction.key, restriction.place) for restriction in settings.restrictions])
    index = open_object_index(root, settings)
    if index is None:
        hint = "Set it to s3://bucket/prefix in .coderag.yaml or CODERAG_STORAGE__URL."
        raise ConfigurationError("storage.url is not set", hint=hint)
    return index


def _format_bytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


@contextmanager
def _show_progress() -> "Iterator[Callable[[TransferProgress], None] | None]":
    """Yield the callback of a progress bar, or None if standard error is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    from coderag.interfaces.cli.output.console import SideConsole

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=SideConsole(), transient=True) as progress:
        task = progress.add_task("connecting", total=None)

        def show(step: "TransferProgress") -> None:
            progress.update(task, description=step.stage, completed=step.done, total=step.total)

        yield show
