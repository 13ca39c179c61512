"""Calls of a virtual user, with checks of each reply."""

import asyncio
import hashlib
import hmac
import json
import random
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import httpx
import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from .origins import MARKER_PATH
from .tally import LoadTally
from .world import HostedOrigin, LoadUser

QUESTIONS: Final = (
    "where are keys checked", "how does a request get its principal", "append an entry to the audit record",
    "group commit of several threads", "read the settings file", "who may see a repository", "parse a cookie",
    "retry after an outage", "rate limit of an account", "restore a backup", "verify the chain", "list the jobs of a team",
)  # fmt: skip
WEIGHTS: Final[Mapping[str, int]] = {
    "search": 40, "context": 12, "ask": 6, "read": 14, "mcp": 6, "jobs": 6, "sign_in": 3, "push": 1,
    "hidden": 8, "list": 4,
}  # fmt: skip
"""Share of each kind of call in a hundred."""

TIMEOUT_S: Final = 150.0
_BUSY: Final = frozenset({429, 503})
_MAX_WAIT_S: Final = 5.0
_NOT_FOUND: Final = 404


class UserCalls:
    """Calls of the users of one client.

    Args:
        url: Address of the server.
        client: HTTP client.
        tally: Record to add to.
        chance: Source of choices.
        began_at: Monotonic time of the start of the run.
    """

    def __init__(
        self, url: str, client: httpx.AsyncClient, tally: LoadTally, chance: random.Random, began_at: float
    ) -> None:
        self._url = url
        self._client = client
        self._tally = tally
        self._chance = chance
        self._began_at = began_at
        self._kinds: dict[str, Callable[[LoadUser], Awaitable[None]]] = {
            "search": self.search, "context": self._pack_context, "ask": self._ask, "read": self._read,
            "mcp": self._call_mcp, "jobs": self._poll_jobs, "sign_in": self._sign_in, "push": self._push,
            "hidden": self._request_hidden, "list": self._list,
        }  # fmt: skip

    async def make_call(self, user: LoadUser) -> None:
        """Make a call of a random kind, and check its reply."""
        kind = self._chance.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        try:
            await self._kinds[kind](user)
        except (httpx.HTTPError, httpx2.HTTPError, TimeoutError, ExceptionGroup) as error:
            self._tally.record_fault("connection", f"{kind}: {type(error).__name__}: {error}")

    async def search(self, user: LoadUser, *, kind: str = "search") -> None:
        """Search a visible repository."""
        entry = self._chance.choice(user.visible)
        body = {"root": entry.origin.name, "query": self._chance.choice(QUESTIONS), "top_k": 10}
        reply = await self._send(kind, user, "POST", "/api/v1/search", json=body)
        if reply is not None and not reply.json()["hits"]:
            self._tally.record_fault("wrong content", f"{kind}: no result in {entry.origin.name}")

    async def _pack_context(self, user: LoadUser) -> None:
        entry = self._chance.choice(user.visible)
        body = {"root": entry.origin.name, "query": self._chance.choice(QUESTIONS), "token_budget": 3_000}
        await self._send("context", user, "POST", "/api/v1/context", json=body)

    async def _ask(self, user: LoadUser) -> None:
        entry = self._chance.choice(user.visible)
        body = {"root": entry.origin.name, "query": self._chance.choice(QUESTIONS)}
        await self._send("ask", user, "POST", "/api/v1/ask", json=body)

    async def _read(self, user: LoadUser) -> None:
        entry = self._chance.choice(user.visible)
        query = {"root": entry.origin.name, "path": MARKER_PATH}
        reply = await self._send("read", user, "GET", "/api/v1/file", params=query)
        if reply is not None and entry.origin.token not in reply.text:
            self._tally.record_fault("wrong content", f"read: {entry.origin.name}: {reply.text[:200]}")

    async def _list(self, user: LoadUser) -> None:
        reply = await self._send("list", user, "GET", "/api/v1/repositories")
        if reply is not None:
            names = {entry["name"] for entry in reply.json()["repositories"]}
            if names != {entry.origin.name for entry in user.visible}:
                self._tally.record_fault("wrong content", f"list: {sorted(names)}")

    async def _poll_jobs(self, user: LoadUser) -> None:
        reply = await self._send("jobs", user, "GET", "/api/v1/server/jobs?limit=10")
        if reply is not None:
            seen = {entry.id for entry in user.visible}
            if strange := [job for job in reply.json()["items"] if job["repository_id"] not in seen]:
                self._tally.record_fault("hidden shown", f"jobs: {strange[0]}")

    async def _request_hidden(self, user: LoadUser) -> None:
        """Ask for a hidden repository by its name, id and folder: none may exist."""
        if not user.hidden:
            return
        entry = self._chance.choice(user.hidden)
        method, path, options = self._chance.choice(
            (
                ("POST", "/api/v1/search", {"json": {"root": entry.origin.name, "query": entry.origin.marker}}),
                ("GET", "/api/v1/file", {"params": {"root": entry.origin.name, "path": MARKER_PATH}}),
                ("POST", "/api/v1/context", {"json": {"root": entry.origin.name, "query": "marker"}}),
                ("GET", f"/api/v1/server/repositories/{entry.id}", {}),
            )
        )
        await self._send("hidden", user, method, path, expected=_NOT_FOUND, **options)

    async def _sign_in(self, user: LoadUser) -> None:
        """Sign in with a key as a browser does, search, and sign out."""
        async with httpx.AsyncClient(base_url=self._url, timeout=TIMEOUT_S, trust_env=False) as browser:
            began = time.monotonic()
            reply = await browser.post("/web/session", json={"key": user.key})
            self._note("sign_in", began)
            if not await self._accept("sign_in", reply):
                return
            headers = {"x-coderag-csrf": reply.json()["csrf"]}
            entry = self._chance.choice(user.visible)
            body = {"root": entry.origin.name, "query": self._chance.choice(QUESTIONS)}
            await self._accept("sign_in", await browser.post("/api/v1/search", json=body, headers=headers))
            await self._accept("sign_in", await browser.delete("/web/session", headers=headers))

    async def _call_mcp(self, user: LoadUser) -> None:
        entry = self._chance.choice(user.visible)
        began = time.monotonic()
        headers = {"authorization": f"Bearer {user.key}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=TIMEOUT_S, trust_env=False) as http,
            Client(streamable_http_client(f"{self._url}/mcp", http_client=http)) as client,
        ):
            arguments = {"query": self._chance.choice(QUESTIONS), "repository": entry.origin.name}
            result = await client.call_tool("coderag_search", arguments)
        self._note("mcp", began)
        text = " ".join(getattr(part, "text", "") for part in result.content)
        if result.is_error:
            self._tally.record_fault("wrong reply", f"mcp: {text[:300]}")
        self._check_hidden("mcp", user, text)

    async def _push(self, user: LoadUser) -> None:
        """Push an edit of any repository, and deliver its webhook as GitHub does."""
        entries = [*user.visible, *user.hidden]
        await self.deliver_push(self._chance.choice(entries))

    async def deliver_push(self, entry: HostedOrigin) -> bool:
        """Push an edit and deliver it; return whether the server has acknowledged it."""
        commit = await asyncio.to_thread(entry.origin.push)
        body = json.dumps({"ref": "refs/heads/main", "after": commit}).encode()
        headers = {
            "content-type": "application/json",
            "x-github-event": "push",
            "x-github-delivery": str(uuid.uuid4()),
            "x-hub-signature-256": f"sha256={hmac.digest(entry.secret.encode(), body, hashlib.sha256).hex()}",
        }
        began = time.monotonic()
        reply = await self._client.post(f"{self._url}/hooks/{entry.id}", content=body, headers=headers)
        self._note("push", began)
        return await self._accept("push", reply)

    async def _send(
        self,
        kind: str,
        user: LoadUser,
        method: str,
        path: str,
        *,
        expected: int = 200,
        **options: Any,  # noqa: ANN401
    ) -> httpx.Response | None:
        """Send a request, and return its reply if it is as expected."""
        headers = {"authorization": f"Bearer {user.key}"}
        began = time.monotonic()
        reply = await self._client.request(method, f"{self._url}{path}", headers=headers, **options)
        self._note(kind, began)
        self._check_hidden(kind, user, reply.text)
        return reply if await self._accept(kind, reply, expected) else None

    def _note(self, kind: str, began: float) -> None:
        self._tally.calls[kind].append((began - self._began_at, time.monotonic() - began))

    async def _accept(self, kind: str, reply: httpx.Response, expected: int = 0) -> bool:
        """Return whether a reply has the expected status, by default any of success; a busy server is waited for."""
        if reply.status_code == expected or (not expected and reply.is_success):
            return True
        if reply.status_code in _BUSY and "retry-after" in reply.headers:
            self._tally.busy[kind] += 1
            await asyncio.sleep(min(_MAX_WAIT_S, float(reply.headers["retry-after"])))
        else:
            self._tally.record_fault(f"status {reply.status_code}", f"{kind}: {reply.text[:300]}")
        return False

    def _check_hidden(self, kind: str, user: LoadUser, text: str) -> None:
        """Record a reply that has the token of a hidden repository, which no caller but its readers ever wrote."""
        self._tally.checked += 1
        for entry in user.hidden:
            if entry.origin.token in text and kind != "hidden":
                self._tally.record_fault("hidden shown", f"{kind}: {user.name} reads of {entry.origin.name}")
