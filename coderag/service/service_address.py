"""Address and token of the running service."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """How to reach a running service.

    Attributes:
        pid: Its process.
        version: Of CodeRAG; clients of another version do not use it.
        http: Where it speaks HTTP: ``unix:/path`` or ``http://127.0.0.1:port``.
        mcp: Where it speaks MCP line by line, see `coderag.interfaces.mcp.line_session`: ``unix:/path`` or ``tcp:127.0.0.1:port``.
        token: Opens both.
        started: When it was started, ISO 8601.
        environment: Fingerprint of what of its environment decides on answers; clients with another one do not use it.
        url: Where it speaks HTTP to everybody who may reach it, such as ``https://host:port``; empty if nowhere.
        request_s: Seconds that a request to it may take.
    """

    pid: int
    version: str
    http: str
    mcp: str
    token: str
    started: str
    environment: str = ""
    url: str = ""
    request_s: float = 120.0
