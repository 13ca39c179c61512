"""Health of the server on this machine, asked over HTTP."""

from dataclasses import dataclass
from typing import Final, Literal

import httpx

from coderag.server.settings import ServerSettings

_TIMEOUT_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class ServerHealth:
    """Health of a server.

    Attributes:
        state: `ready`; `not ready` if it responds but cannot work; `not running` if nothing responds.
        address: Address that was asked.
    """

    state: Literal["ready", "not ready", "not running"]
    address: str


def check_health(settings: ServerSettings) -> ServerHealth:
    """Ask the server that these settings describe."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104  # nothing binds to it
    host = f"[{host}]" if ":" in host else host
    address = f"{'https' if settings.tls_cert else 'http'}://{host}:{settings.port}"
    try:
        # The certificate is for the public name, not for the address of this machine.
        reply = httpx.get(f"{address}/readyz", timeout=_TIMEOUT_S, verify=False, trust_env=False)  # noqa: S501
    except (httpx.HTTPError, httpx.InvalidURL):
        return ServerHealth("not running", address)
    return ServerHealth("ready" if reply.status_code == httpx.codes.OK else "not ready", address)
