"""Audit entries of MCP: whatever reads a repository names it, and a caller cannot name another one."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from starlette.exceptions import HTTPException

from coderag.interfaces.mcp.server import make_server
from coderag.interfaces.server.access_gate import AccessGate, ViewLoader
from coderag.interfaces.server.mcp_gate import McpGate
from coderag.server.access.principal import Principal
from coderag.server.access.roles import Level, Role
from coderag.server.access.visible_workspace import VisibleRepository, VisibleWorkspace

ADA = Principal("a" * 32, "Ada", Role.VIEWER, "key", "k1")


class Audit:
    def __init__(self) -> None:
        self.entries: list[tuple[str, list[str], str]] = []

    def record(self, principal: Any, action: str, *, outcome: str = "allowed", **_: Any) -> None:
        self.entries.append((action, [], outcome))

    def record_repositories(self, principal: Any, action: str, repository_ids: Any, **_: Any) -> None:
        self.entries.append((action, list(repository_ids), "allowed"))

    def hash_question(self, text: str) -> str:
        return "hash"


class Pool:
    async def serve(self, principal: Any, view: Any, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})


def send(message: Any, tmp_path, names=("shop", "team/app")) -> tuple[list[Any], Any]:
    visible = [VisibleRepository(name, name, tmp_path / name, Level.READ) for name in names]
    audit = Audit()
    gate = McpGate(AccessGate(ViewLoader(None, lambda _: visible), audit, {}), Pool())  # type: ignore[arg-type]

    async def app(scope: Any, receive: Any, send_part: Any) -> None:
        await gate.serve(ADA, scope, receive, send_part)

    async def post() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://server") as client:
            return await client.post("/mcp", json={"jsonrpc": "2.0", "id": 7, **message})

    return audit.entries, asyncio.run(post()).json()


def read(uri: str) -> dict[str, Any]:
    return {"method": "resources/read", "params": {"uri": uri}}


def get_prompt(**arguments: str) -> dict[str, Any]:
    return {"method": "prompts/get", "params": {"name": "onboard_me", "arguments": arguments}}


def complete(argument: str, **known: str) -> dict[str, Any]:
    params = {"argument": {"name": argument, "value": "s"}, "context": {"arguments": known}}
    return {"method": "completion/complete", "params": params}


def call(**arguments: Any) -> dict[str, Any]:
    return {"method": "tools/call", "params": {"name": "coderag_explain", "arguments": arguments}}


@pytest.mark.parametrize(
    ("message", "repositories"),
    [
        (read("coderag://shop/symbol/pay"), ["shop"]),
        (read("coderag://team%2Fapp/map"), ["team/app"]),
        (get_prompt(repository="shop"), ["shop"]),
        (complete("name", repository="shop"), ["shop"]),
        (call(name="pay", repository="shop"), ["shop"]),
        (call(name="pay", repository="shop", root="team/app"), ["shop"]),
        (call(name="pay", repository="", root="team/app"), [""]),
    ],
)
def test_entry_names_the_repository_that_is_read(message, repositories, tmp_path):
    entries, reply = send(message, tmp_path)
    assert entries == [("repository.read", repositories, "allowed")]
    assert reply == {}


def test_prompt_without_a_repository_reads_the_only_one(tmp_path):
    entries, _ = send(get_prompt(), tmp_path, names=("shop",))
    assert entries == [("repository.read", ["shop"], "allowed")]


@pytest.mark.parametrize("message", [read("coderag://repositories"), complete("repository")])
def test_lists_of_repositories_read_none(message, tmp_path):
    entries, _ = send(message, tmp_path)
    assert entries == [("repositories.list", [""], "allowed")]


@pytest.mark.parametrize(
    "message", [read("coderag://vault/map"), read("CODERAG://shop/map"), get_prompt(repository="vault")]
)
def test_hidden_repositories_are_denied_in_the_form_of_the_protocol(message, tmp_path):
    entries, reply = send(message, tmp_path)
    assert entries == [("repository.read", [], "denied")]
    assert reply["id"] == 7
    assert "unknown repository" in reply["error"]["message"]


@pytest.mark.parametrize(
    "body", [b'{"method":"ping","method":"tools/call"}', b"{", b"\xff\xfe{}", b"[" * 2_000, b'{"id":NaN}', b"[]"]
)
def test_what_the_gate_cannot_read_reaches_no_server(body, tmp_path):
    gate = McpGate(AccessGate(ViewLoader(None, lambda _: []), Audit(), {}), Pool())  # type: ignore[arg-type]

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body}

    async def refuse(message: Any) -> None:
        pytest.fail("a server has replied")

    with pytest.raises(HTTPException) as caught:
        asyncio.run(gate.serve(ADA, {"type": "http", "method": "POST", "headers": []}, receive, refuse))
    assert caught.value.status_code == 400


def test_every_resource_and_prompt_has_an_entry(tmp_path):
    server = make_server(VisibleWorkspace(None, [], "ada"))  # type: ignore[arg-type]

    async def list_messages() -> list[dict[str, Any]]:
        templates = [template.uri_template for template in await server.list_resource_templates()]
        uris = [
            uri.replace("{repository}", "shop").replace("{+path}", "a.py").replace("{name}", "pay") for uri in templates
        ]
        prompts = [{"name": prompt.name, "arguments": {"repository": "shop"}} for prompt in await server.list_prompts()]
        assert len(uris) > 3
        assert len(prompts) > 3
        return [*map(read, uris), *({"method": "prompts/get", "params": params} for params in prompts)]

    for message in asyncio.run(list_messages()):
        entries, _ = send(message, tmp_path)
        assert entries == [("repository.read", ["shop"], "allowed")], json.dumps(message)
