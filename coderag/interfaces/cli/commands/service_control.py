"""Start, status and end of the service for ``coderag serve``."""

import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from coderag import __version__
from coderag.errors import CodeRAGError, ServiceError
from coderag.interfaces.cli.output.streams import Output
from coderag.interfaces.error_table import find_error_row
from coderag.service.discovery import ensure_runtime_folder, find_service, get_log_file, is_service_alive, read_address
from coderag.service.service_address import ServiceAddress

if TYPE_CHECKING:
    from coderag.interfaces.serve.options import ServeOptions


def run_service(
    option_values: Mapping[str, Any], token_file: Path | None, output: Output, *, show_token: bool, as_background: bool
) -> None:
    """Serve in this process until stopped.

    Args:
        option_values: Values of `ServeOptions` from the command line; None if not given.
        token_file: File that stores the token.
        output: Destination of notes.
        show_token: Print the token.
        as_background: Whether this is the background process.

    Raises:
        ServiceError: Another service runs, or an address is unavailable.
        ConfigurationError: The options are invalid.
    """
    import secrets

    from coderag.interfaces.serve.options import read_token
    from coderag.interfaces.serve.service import AlreadyServedError, serve

    options = _make_options(option_values, ends_when_idle=as_background)
    options.check()
    token = read_token(token_file, secrets.token_urlsafe(32)) if token_file else ""
    if as_background:
        logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
        logging.getLogger("coderag").setLevel(logging.INFO)

    def print_address(address: ServiceAddress) -> None:
        _note_address(address, output, show_token=show_token)
        output.note("Stop it with Ctrl-C or 'coderag serve --stop'.")

    try:
        serve(options, print_address, token=token, log=get_log_file() if as_background else None)
    except AlreadyServedError as error:
        if as_background:  # another process was faster, which is equivalent
            output.note("a service of this user is already running")
            return
        hint = "See 'coderag serve --status'; stop it with 'coderag serve --stop'."
        raise ServiceError("a service of this user is already running", hint=hint) from error


def start_service(
    option_values: Mapping[str, Any], token_file: Path | None, output: Output, *, show_token: bool
) -> None:
    """Start a background service and wait until it responds. Arguments and errors as in `run_service`."""
    from coderag.service.launcher import start_in_background

    _make_options(option_values, ends_when_idle=True).check()
    with output.show_status("starting"):
        address, is_new = start_in_background(_build_arguments(option_values, token_file))
    if output.as_json:
        output.write_json({"started": is_new, **_to_record(address, show_token=show_token)})
        return
    output.note("the service started" if is_new else "the service is already running, with its original options")
    _note_address(address, output, show_token=show_token)
    output.note("Stop it with 'coderag serve --stop'.")


def end_service(output: Output) -> None:
    """Stop the running service.

    Raises:
        ServiceError: It does not stop.
    """
    from coderag.service.launcher import stop_service

    with output.show_status("ending"):
        address = stop_service()
    if output.as_json:
        output.write_json({"stopped": address is not None, "pid": address.pid if address else None})
    else:
        output.note(f"the service (process {address.pid}) stopped" if address else "no service is running")


def print_status(output: Output, *, show_token: bool) -> None:
    """Print address and activity of the service; exit as for `ServiceError` if none runs."""
    address = read_address()
    if address is None or not is_service_alive(address):
        if output.as_json:
            output.write_json({"running": False})
        else:
            output.write("no service is running")
            output.note("Start one with 'coderag serve --background'.")
        raise typer.Exit(find_error_row(ServiceError("")).exit_code)
    fields = {**_to_record(address, show_token=show_token), **_query_status(address)}
    if output.as_json:
        output.write_json({"running": True, **fields})
        return
    from coderag.interfaces.cli.output.report import ReportRow, print_report

    rows = [ReportRow(name.replace("_", " "), _format_value(value)) for name, value in fields.items()]
    print_report("service", rows, output)


def _make_options(option_values: Mapping[str, Any], *, ends_when_idle: bool) -> "ServeOptions":
    """Build the options from the command line, else the environment, else the defaults."""
    from coderag.config.settings import Settings
    from coderag.interfaces.serve.options import ServeOptions

    settings = Settings.load(ensure_runtime_folder()).service  # a folder without settings: only the environment counts
    values: dict[str, Any] = {
        "idle_minutes": settings.idle_minutes if ends_when_idle else 0.0,
        "max_repositories": settings.max_repositories,
        **{name: value for name, value in option_values.items() if value is not None},
    }
    values["watch"] = values["watch"] and settings.watch
    return ServeOptions(**values).with_settings(settings)


def _build_arguments(option_values: Mapping[str, Any], token_file: Path | None) -> list[str]:
    """Return the equivalent command-line arguments."""
    arguments: list[str] = []
    if option_values["host"]:
        arguments += ["--host", option_values["host"], "--port", str(option_values["port"])]
    for name in ("idle_minutes", "max_repositories", "tls_cert", "tls_key"):
        if option_values[name] is not None:
            arguments += [f"--{name.replace('_', '-')}", str(option_values[name])]
    for root in option_values["allowed_roots"]:
        arguments += ["--allow-root", str(root)]
    if token_file:
        arguments += ["--token-file", str(token_file)]
    flags = {
        "--no-watch": not option_values["watch"],
        "--insecure": option_values["insecure"],
        "--no-unix-socket": not option_values["unix_sockets"],
    }
    return arguments + [flag for flag, is_set in flags.items() if is_set]


def _note_address(address: ServiceAddress, output: Output, *, show_token: bool) -> None:
    """Note the addresses of the service on standard error."""
    output.note(f"commands of this user: {address.http}")
    if address.url:
        output.note(f"REST: {address.url}/api/v1 (described by {address.url}/openapi.json)")
        output.note(f"MCP: {address.url}/mcp (streamable HTTP), {address.url}/sse (for old clients)")
    output.note(f"token: {address.token}" if show_token else "The token is hidden; print it with --show-token.")


def _to_record(address: ServiceAddress, *, show_token: bool) -> dict[str, Any]:
    usable = find_service()
    return {
        "pid": address.pid,
        "version": address.version,
        "started": address.started,
        "http": address.http,
        "mcp": address.mcp,
        "url": address.url,
        "usable": usable is not None and usable.pid == address.pid,
        "log": str(get_log_file()),
        **({"token": address.token} if show_token else {}),
    }


def _query_status(address: ServiceAddress) -> dict[str, Any]:
    """Return the service's own status; empty for another version, whose format may differ."""
    from coderag.service.client import STATUS_PATH, ServiceClient

    if address.version != __version__:
        return {}
    try:
        reply = ServiceClient(address).call("GET", STATUS_PATH)
    except CodeRAGError:
        return {}
    return {name: reply[name] for name in ("requests", "sessions", "idle_s", "repositories") if name in reply}


def _format_value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no: it has another version or another environment"
    return ", ".join(map(str, value)) or "none" if isinstance(value, list) else str(value) or "none"
