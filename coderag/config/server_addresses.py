"""Addresses of model servers: defaults, validation, comparison."""

from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from coderag.errors import ConfigurationError

DEFAULT_ADDRESSES: Final = {
    "ollama": "http://localhost:11434",
    "openai": "https://api.openai.com/v1",
    "voyage": "https://api.voyageai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "gemini": "https://generativelanguage.googleapis.com",
}
"""Default address by provider."""


def parse_server_address(base_url: str, setting: str) -> str:
    """Validate a server address.

    Raises:
        ConfigurationError: It is not a URL, or contains credentials; the message names `setting` but not the address.
    """
    hint = "Write it as http://localhost:11434 or https://example.org/v1."
    try:
        parts = urlsplit(base_url)
        is_usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        message = f"{setting} is not the address of a server"
        raise ConfigurationError(message, hint=hint)
    if "@" in parts.netloc or parts.query or parts.fragment:
        message = f"{setting} may not hold a user name, a password or a query"
        raise ConfigurationError(message, hint=hint)
    return base_url.rstrip("/")


def is_same_server(address: str, other: str) -> bool:
    """Return whether two addresses have the same scheme, host and port."""
    return _parse_origin(address) == _parse_origin(other)


def is_this_machine(address: str) -> bool:
    """Return whether an address is a loopback address."""
    host = urlsplit(address).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _parse_origin(address: str) -> tuple[str, str | None, int]:
    parts = urlsplit(address)
    return parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
