"""The replies that `coderag mcp` gives before the server is there."""

import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from coderag.interfaces.mcp.stdio.handshake import Handshake
from tools.mcp_handshake import ask_server, discover_params, initialize_params

ANEW = "the server answers otherwise now: run `python tools/mcp_handshake.py`"


@pytest.mark.parametrize("profile", ["all", "single"])
@pytest.mark.parametrize("version", [*HANDSHAKE_PROTOCOL_VERSIONS, "1999-01-01", *MODERN_PROTOCOL_VERSIONS])
async def test_initialize_is_answered_as_by_the_server(profile, version) -> None:
    params = initialize_params(version)
    assert Handshake(profile).initialize(params) == await ask_server(profile, "initialize", params), ANEW


@pytest.mark.parametrize("profile", ["all", "single"])
@pytest.mark.parametrize("version", MODERN_PROTOCOL_VERSIONS)
async def test_discover_is_answered_as_by_the_server(profile, version) -> None:
    params = discover_params(version)
    assert Handshake(profile).discover(params) == await ask_server(profile, "server/discover", params), ANEW


@pytest.mark.parametrize("params", [None, {}, {"_meta": 1}, {"_meta": {}}, discover_params("2099-01-01")])
def test_an_odd_discover_is_left_to_the_server(params) -> None:
    assert Handshake("all").discover(params) is None
