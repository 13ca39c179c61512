"""Address and token of the running service."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """Address of a running service.

    Attributes:
        pid: Process id.
        version: Version of CodeRAG; clients of another version do not use the service.
        http: HTTP address: ``unix:/path`` or ``http://127.0.0.1:port``.
        mcp: Address of MCP by lines, see `coderag.interfaces.mcp.line_session`: ``unix:/path`` or ``tcp:127.0.0.1:port``.
        token: Token for both.
        started: Start time, ISO 8601.
        environment: Fingerprint of the environment that affects answers; clients with another one do not use the
            service.
        url: HTTP address on the network, such as ``https://host:port``; empty for none.
        request_s: Timeout of a request in seconds.
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
