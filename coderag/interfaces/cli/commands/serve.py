"""``coderag serve``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from coderag.interfaces.cli.options import DebugOption, JsonOption

BackgroundOption = Annotated[
    bool, typer.Option("--background", help="Start it in the background, and return when it responds.")
]
StopOption = Annotated[bool, typer.Option("--stop", help="Stop the running service after its current requests.")]
StatusOption = Annotated[bool, typer.Option("--status", help="Print the address and state of the running service.")]
HostOption = Annotated[
    str,
    typer.Option(
        "--host", metavar="ADDRESS", help="With --port: address to listen on. Default: 127.0.0.1.", show_default=False
    ),
]
PortOption = Annotated[
    int | None,
    typer.Option(
        "--port",
        metavar="N",
        min=0,
        max=65_535,
        help="Also serve agents and programs over TCP; 0 picks a free port.",
        show_default=False,
    ),
]
AllowRootOption = Annotated[
    list[Path] | None,
    typer.Option("--allow-root", metavar="PATH", help="Only repositories in this folder. Repeatable."),
]
IdleOption = Annotated[
    float | None,
    typer.Option(
        "--idle-minutes",
        metavar="N",
        min=0,
        help="In the background: stop after this time without a request. Default: service.idle_minutes.",
        show_default=False,
    ),
]
MaxRepositoriesOption = Annotated[
    int | None,
    typer.Option(
        "--max-repositories",
        metavar="N",
        min=1,
        help="Maximum number of open repositories. Default: service.max_repositories.",
        show_default=False,
    ),
]
WatchOption = Annotated[bool, typer.Option("--no-watch", help="Do not watch open repositories for edits.")]
CertOption = Annotated[
    Path | None, typer.Option("--tls-cert", metavar="FILE", help="Certificate, for TLS on --port.", show_default=False)
]
KeyOption = Annotated[
    Path | None, typer.Option("--tls-key", metavar="FILE", help="Key of the certificate.", show_default=False)
]
InsecureOption = Annotated[
    bool, typer.Option("--insecure", help="Allow a --host that other machines can reach without TLS.")
]
TokenFileOption = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        help="Store the token in this file, so that it stays the same. Created if missing.",
        show_default=False,
    ),
]
ShowTokenOption = Annotated[bool, typer.Option("--show-token", help="Print the access token.")]
NoUnixOption = Annotated[
    bool, typer.Option("--no-unix-socket", help="Use loopback TCP instead of a Unix socket, as on Windows.")
]
ChildOption = Annotated[bool, typer.Option("--as-background", hidden=True)]


def serve(  # noqa: PLR0913  # one parameter an option
    *,
    background: BackgroundOption = False,
    stop: StopOption = False,
    status: StatusOption = False,
    host: HostOption = "",
    port: PortOption = None,
    allow_root: AllowRootOption = None,
    idle_minutes: IdleOption = None,
    max_repositories: MaxRepositoriesOption = None,
    no_watch: WatchOption = False,
    tls_cert: CertOption = None,
    tls_key: KeyOption = None,
    insecure: InsecureOption = False,
    token_file: TokenFileOption = None,
    show_token: ShowTokenOption = False,
    no_unix_socket: NoUnixOption = False,
    as_background: ChildOption = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Keep repositories open for fast commands and agents.

    While it runs, commands such as `search` use it instead of loading everything themselves. It serves REST and MCP to this
    user over a Unix socket, and over TCP with --port. All requests need its token.
    """
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli.commands import service_control
    from coderag.interfaces.cli.output.streams import Output

    output = Output(as_json)
    if background + stop + status > 1:
        raise typer.BadParameter("--background, --stop and --status cannot be combined.")
    if stop:
        service_control.end_service(output)
    elif status:
        service_control.print_status(output, show_token=show_token)
    else:
        option_values: dict[str, Any] = {
            "host": host or ("127.0.0.1" if port is not None else ""),
            "port": port or 0,
            "allowed_roots": tuple(root.absolute() for root in allow_root or ()),
            "idle_minutes": idle_minutes,
            "max_repositories": max_repositories,
            "watch": not no_watch,
            "tls_cert": tls_cert.absolute() if tls_cert else None,
            "tls_key": tls_key.absolute() if tls_key else None,
            "insecure": insecure,
            "unix_sockets": not no_unix_socket,
        }
        if host and port is None:
            raise typer.BadParameter("it requires --port.", param_hint="--host")
        token_file = token_file.absolute() if token_file else None
        if background:
            service_control.start_service(option_values, token_file, output, show_token=show_token)
        else:
            service_control.run_service(
                option_values, token_file, output, show_token=show_token, as_background=as_background
            )
