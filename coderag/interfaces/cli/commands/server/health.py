"""Health of the server's processes on this machine, asked over HTTP."""

from dataclasses import dataclass
from typing import Final, Literal

import httpx

from coderag.server.run_files import build_local_address, list_local_addresses
from coderag.server.settings import ServerSettings

_TIMEOUT_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class ServerHealth:
    """Health of a process of a server.

    Attributes:
        state: `ready`; `not ready` if it responds but cannot work; `not running` if nothing responds.
        address: Address that was asked.
    """

    state: Literal["ready", "not ready", "not running"]
    address: str


def check_health(settings: ServerSettings) -> list[ServerHealth]:
    """Ask the processes on this machine that serve the data folder; without any, the address of the settings."""
    configured = build_local_address(settings.host, settings.port, is_encrypted=settings.tls_cert is not None)
    return [_ask(address) for address in list_local_addresses(settings.data) or [configured]]


def _ask(address: str) -> ServerHealth:
    try:
        # The certificate is for the public name, not for the address of this machine.
        reply = httpx.get(f"{address}/readyz", timeout=_TIMEOUT_S, verify=False, trust_env=False)  # noqa: S501
    except (httpx.HTTPError, httpx.InvalidURL):
        return ServerHealth("not running", address)
    return ServerHealth("ready" if reply.status_code == httpx.codes.OK else "not ready", address)
