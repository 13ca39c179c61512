"""Where the warm service of this user is: a file in the runtime directory that names its addresses and its token."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """How to reach a running service.

    Attributes:
        pid: Its process.
        version: Of CodeRAG; clients of another version do not use it.
        http: Where it speaks HTTP: ``unix:/path`` or ``http://127.0.0.1:port``.
        mcp: Where it speaks MCP line by line, see `coderag.interfaces.mcp.lines`: ``unix:/path`` or ``tcp:127.0.0.1:port``.
        token: Opens both.
        started: When it was started, ISO 8601.
        environment: Fingerprint of what of its environment decides on answers; clients with another one do not use it.
    """

    pid: int
    version: str
    http: str
    mcp: str
    token: str
    started: str
    environment: str = ""


def runtime_directory() -> Path:
    """Return the folder of the file, of the sockets and of the log, which only this user may enter; it is made if missing."""
    raise NotImplementedError


def find_service() -> ServiceAddress | None:
    """Return the service that this process can use: one that runs, of this version and environment; else None."""
    return None
