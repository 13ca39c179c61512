"""Precomputed replies that open a session, sent before anything slow is imported.

``handshake.json`` holds the replies of the server of `coderag.interfaces.mcp.server`. A test compares the two; ``python
tools/mcp_handshake.py`` regenerates the file.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

from coderag import __version__
from coderag.interfaces.mcp.framing import Message

HANDSHAKE_FILE: Final = Path(__file__).with_name("handshake.json")
VERSION_PLACEHOLDER: Final = "{version}"
"""Placeholder for the version of CodeRAG in the file."""

PROTOCOL_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"


class Handshake:
    """Precomputed replies to the request that opens a session.

    Args:
        profile: Tools that the client gets.
    """

    def __init__(self, profile: Literal["all", "single"]) -> None:
        text = HANDSHAKE_FILE.read_text(encoding="utf-8").replace(VERSION_PLACEHOLDER, __version__)
        replies = json.loads(text)[profile]
        self._initialize_results: Mapping[str, Message] = replies["initialize"]
        self._discover_results: Mapping[str, Message] = replies["discover"]

    def initialize(self, params: object) -> Message | None:
        """Return the result of ``initialize``; None if the server must validate these parameters itself."""
        match params:
            case {"protocolVersion": str() as version, "capabilities": dict() as capabilities, "clientInfo": client}:
                is_usual = _is_implementation(client) and all(
                    isinstance(capability, dict) for capability in capabilities.values()
                )
                return self._initialize_results.get(version, self._latest_result) if is_usual else None
            case _:
                return None

    def discover(self, params: object) -> Message | None:
        """Return the result of ``server/discover``; None if the server must validate these parameters itself."""
        meta = params.get("_meta") if isinstance(params, dict) else None
        if not isinstance(meta, dict) or not isinstance(meta.get(CAPABILITIES_KEY), dict):
            return None
        return self._discover_results.get(str(meta.get(PROTOCOL_KEY)))

    @property
    def _latest_result(self) -> Message:
        """Result for a client that supports none of the versions."""
        return self._initialize_results[max(self._initialize_results)]


def _is_implementation(client: Any) -> bool:  # noqa: ANN401  # anything a client sends
    return isinstance(client, dict) and isinstance(client.get("name"), str) and isinstance(client.get("version"), str)
