"""Accepted host names of the service, against DNS rebinding."""

import ipaddress
import socket
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from coderag.interfaces.serve.options import is_loopback

_LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class KnownHosts:
    """Host names of the service.

    Attributes:
        host: Listening address; empty for this machine only.
    """

    host: str = ""
    _names: frozenset[str] = field(init=False)
    _is_open: bool = field(init=False)

    def __post_init__(self) -> None:
        """Collect the names."""
        is_open = _is_unspecified(self.host)
        names = {self.host.lower(), socket.gethostname().lower()} if self.host and not is_loopback(self.host) else set()
        object.__setattr__(self, "_names", _LOOPBACK_NAMES | names)
        object.__setattr__(self, "_is_open", is_open)

    def is_host(self, value: str) -> bool:
        """Return whether a ``Host`` refers to the service. If it listens on all addresses, any IP address does."""
        name = _parse_host_name(value)
        return name in self._names or (self._is_open and _is_address(name))

    def is_origin(self, value: str) -> bool:
        """Return whether an ``PatternOrigin`` is this machine or the service."""
        try:
            parts = urlsplit(value)
        except ValueError:
            return False
        return parts.scheme in ("http", "https") and self.is_host(parts.netloc)


def _parse_host_name(value: str) -> str:
    try:
        return (urlsplit(f"//{value}").hostname or "") if "@" not in value else ""
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_unspecified(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_unspecified
    except ValueError:
        return False
