"""``coderag server backup``: backups of the database, the audit counter and the master key."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from coderag.interfaces.cli.commands.server.opening import explain_missing_extra, load_settings, open_server
from coderag.interfaces.cli.commands.server.options import ServerPlace, make_place
from coderag.interfaces.cli.commands.server.secret_input import SecretFileOption, SecretStdinOption, read_secret
from coderag.interfaces.cli.options import DebugOption, JsonOption
from coderag.interfaces.cli.output.streams import Output
from coderag.interfaces.cli.typer_ext.light_command import LightCommand
from coderag.interfaces.cli.typer_ext.light_group import LightGroup, show_help_without_command
from coderag.interfaces.cli.typer_ext.option_groups import expand_options
from coderag.server.access.roles import Action

if TYPE_CHECKING:
    from coderag.server.backup_archive import BackupManifest

backup: Final = typer.Typer(name="backup", cls=LightGroup, invoke_without_command=True, rich_markup_mode=None)

TargetArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="File to create, as backup.tar.gz.", show_default=False, readable=False)
]
ArchiveArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="The backup.", show_default=False, readable=False)
]
WithKeyOption = Annotated[
    bool, typer.Option("--with-key", help="Include the master key, encrypted with a passphrase that you choose.")
]
HasKeyOption = Annotated[
    bool, typer.Option("--with-key", help="Restore the master key, too, with the passphrase of the backup.")
]
MissingKeyOption = Annotated[
    bool,
    typer.Option("--without-key", help="Restore although the master key is lost. Stored secrets cannot be read then."),
]


@backup.callback()
def group(ctx: typer.Context) -> None:
    """Create, verify and restore backups. Mirrors and indexes are made again after a restore."""
    show_help_without_command(ctx)


@backup.command(cls=LightCommand)
@expand_options("place", make_place)
def create(
    target: TargetArgument,
    *,
    with_key: WithKeyOption = False,
    secret_stdin: SecretStdinOption = False,
    secret_file: SecretFileOption = None,
    place: ServerPlace,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Write a backup while the server runs, and check it.

    Without --with-key, keep the master key elsewhere: a restored database is useless without it.
    """
    del debug  # read in main, before anything can fail
    output = Output(as_json)
    passphrase = _read_passphrase(with_key, secret_stdin, secret_file, is_repeated=True)
    with open_server(place) as server, server.record(Action.SERVER_OPERATE, "backup create", file=str(target)):
        from coderag.server.backup import create_backup

        with output.show_status("backing up"):
            manifest = create_backup(server.settings, target, passphrase=passphrase)
    _print_manifest(f"wrote {target}", manifest, output)
    if not with_key:
        output.note("The master key is not in the backup: keep a copy of it elsewhere.")


@backup.command(cls=LightCommand)
def verify(archive: ArchiveArgument, *, as_json: JsonOption = False, debug: DebugOption = False) -> None:
    """Check that a backup is complete and undamaged."""
    del debug  # as above
    with explain_missing_extra():
        from coderag.server.backup import verify_backup

    _print_manifest(f"{archive} is complete", verify_backup(archive), Output(as_json))


@backup.command(cls=LightCommand)
@expand_options("place", make_place)
def restore(  # noqa: PLR0913  # one parameter an option
    archive: ArchiveArgument,
    *,
    with_key: HasKeyOption = False,
    without_key: MissingKeyOption = False,
    secret_stdin: SecretStdinOption = False,
    secret_file: SecretFileOption = None,
    place: ServerPlace,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Restore a backup into an empty data folder and database. Nothing that is there is overwritten.

    Put the master key into the data folder first, or give --with-key. All browser sessions and agent tokens end.
    """
    del debug  # as above
    output = Output(as_json)
    if with_key and without_key:
        raise typer.BadParameter("--with-key and --without-key cannot be combined.")
    passphrase = _read_passphrase(with_key, secret_stdin, secret_file, is_repeated=False)
    settings = load_settings(place)
    with explain_missing_extra():
        from coderag.server.restore import restore_backup

    with output.show_status("restoring"):
        report = restore_backup(archive, settings, passphrase=passphrase, allow_missing_key=without_key)
    if report.has_key:  # without it, nothing can be added to the record
        with open_server(place) as server, server.record(Action.SERVER_OPERATE, "backup restore", file=str(archive)):
            pass
    _print_manifest(f"restored {archive}", report.manifest, output)
    output.note("Start the server: its workers fetch and index all repositories again.")


def _read_passphrase(
    with_key: bool,  # the option
    secret_stdin: bool,  # the option
    secret_file: Path | None,
    *,
    is_repeated: bool,
) -> str | None:
    if with_key:
        return read_secret("passphrase", from_stdin=secret_stdin, file=secret_file, is_repeated=is_repeated)
    if secret_stdin or secret_file is not None:
        raise typer.BadParameter("a passphrase needs --with-key.")
    return None


def _print_manifest(title: str, manifest: "BackupManifest", output: Output) -> None:
    from coderag.interfaces.cli.output.report import ReportRow, print_report

    if output.as_json:
        output.write_json(manifest.model_dump(mode="json"))
        return
    rows = [
        ReportRow("created", f"{manifest.created_at:%Y-%m-%d %H:%M} UTC, by version {manifest.version}"),
        ReportRow("database", f"{manifest.database}, revision {manifest.revision}"),
        ReportRow("master key", "included, encrypted" if manifest.has_key else "not included"),
        ReportRow("repositories", f"{manifest.repositories:,}"),
    ]
    print_report(title, rows, output)
