"""Options of the service."""

import ipaddress
import os
import socket
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from coderag.config.sections import ServiceSettings
from coderag.errors import ConfigurationError
from coderag.service.runtime_folder import write_private_file

HAS_UNIX_SOCKETS: Final = hasattr(socket, "AF_UNIX") and sys.platform != "win32"
_MIN_TOKEN_CHARS: Final = 16


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Options of a service process.

    Attributes:
        host: Network address to listen on; empty for none.
        port: Port on that address; 0 takes a free one.
        allowed_roots: Folders in or below which repositories may lie; empty allows any folder that may be indexed.
        idle_minutes: Minutes without a request after which it ends; 0 for never.
        tls_cert, tls_key: Files for TLS on that address.
        insecure: Whether a reachable address may be served without TLS.
        unix_sockets: Whether local commands use a Unix socket; otherwise the loopback.
    """

    host: str = ""
    port: int = 0
    allowed_roots: tuple[Path, ...] = ()
    idle_minutes: float = 0.0
    max_repositories: int = 8
    watch: bool = True
    request_s: float = 120.0
    requests_per_minute: int = 1_200
    tools: Literal["all", "single"] = "all"
    tls_cert: Path | None = None
    tls_key: Path | None = None
    insecure: bool = False
    unix_sockets: bool = HAS_UNIX_SOCKETS

    @property
    def scheme(self) -> str:
        """``https`` with TLS, else ``http``."""
        return "https" if self.tls_cert else "http"

    def with_settings(self, settings: ServiceSettings) -> "ServeOptions":
        """Return the options, completed from the settings."""
        return replace(
            self,
            request_s=settings.request_s,
            requests_per_minute=settings.requests_per_minute,
            tools=settings.tools,
        )

    def check(self) -> None:
        """Validate the options.

        Raises:
            ConfigurationError: A reachable address has no TLS, or a file is missing.
        """
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ConfigurationError("TLS needs a certificate and its key", hint="Give both --tls-cert and --tls-key.")
        for file in (self.tls_cert, self.tls_key):
            if file is not None and not os.access(file, os.R_OK):
                raise ConfigurationError(f"{file}: cannot be read", hint="Check the path.")
        for root in self.allowed_roots:
            if not root.is_dir():
                raise ConfigurationError(f"{root}: no such directory", hint="Check --allow-root.")
        if self.host and not is_loopback(self.host) and not (self.tls_cert or self.insecure):
            raise ConfigurationError(
                f"{self.host} is reachable from the network without encryption",
                hint="Give --tls-cert and --tls-key, or --insecure behind a proxy that encrypts.",
            )


def is_loopback(host: str) -> bool:
    """Return whether an address is a loopback address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def read_token(path: Path, new_token: str) -> str:
    """Read the token from a file, so that it survives restarts.

    Args:
        path: The file; a missing one is created, readable by this user only.
        new_token: Token to write to a missing file.

    Raises:
        ConfigurationError: It holds no valid token, or others can read it.
    """
    try:
        if sys.platform != "win32" and path.stat().st_mode & 0o077:
            raise ConfigurationError(f"{path}: other users can read this token", hint=f"chmod 600 {path}")
        token = path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        write_private_file(path, new_token.encode() + b"\n")
        return new_token
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: no token can be read: {error}", hint="Check --token-file.") from error
    if len(token) < _MIN_TOKEN_CHARS or not token.isprintable() or " " in token:
        message = f"{path}: holds no token of at least {_MIN_TOKEN_CHARS} letters and digits in one line"
        raise ConfigurationError(message, hint="Remove the file: the next start creates a new one.")
    return token
