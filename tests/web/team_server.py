"""A team server for the pages: its sign-in and administration in memory, and the REST interface of a real index.

It follows the description of the server, and checks what a browser has to send: the cookie and the CSRF token.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from coderag.engine.items.configured_sources import BACKLOG_SYSTEMS
from coderag.interfaces.rest.app import make_app
from coderag.interfaces.web.app import make_web_app
from coderag.interfaces.web.sessions import CSRF_HEADER, KEY_BYTES, WebSessions
from coderag.server.access.roles import MAX_GRANTED_LEVELS, ROLE_ACTIONS, ROLE_LEVELS, Action, Level, Role
from coderag.server.repositories.source_fields import list_systems
from coderag.workspace.workspace import Workspace, WorkspaceOptions
from tests.web.team_state import Item, TeamState, format_time, make_source

PREFIX: Final = "/api/v1/server"
PAGE_ITEMS: Final = 100
COOKIE: Final = "coderag"
CSRF: Final = "csrf-of-the-session"
PROVIDER: Final = "login.example.org"
WEBHOOK_SECRET: Final = "whs_shown-once"  # made up

_START_S: Final = 30.0

Handler = Callable[[Request, Any], Response | Item | None]


class Refusal(Exception):
    """Reply with a problem."""

    def __init__(self, status: HTTPStatus, detail: str, hint: str = "") -> None:
        super().__init__(detail)
        self.problem = {"type": "ServerError", "title": status.phrase, "status": status, "detail": detail, "hint": hint}


class TeamServer:
    """A running server.

    Args:
        state: What it holds.
        workspace: Repositories with an index.

    Attributes:
        url: Its address.
    """

    def __init__(self, state: TeamState, workspace: Workspace) -> None:
        self.state = state
        self.url = ""
        self._rest = make_app(workspace)
        self._web = make_web_app(WebSessions(b"k" * KEY_BYTES))
        self._own = Starlette(routes=[*self._list_routes(), Route("/healthz", lambda _: PlainTextResponse("ok"))])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, as the account of its cookie may."""
        if scope["type"] == "lifespan":
            await self._rest(scope, receive, send)
            return
        path = scope["path"]
        if path.startswith("/api/") and (refusal := self._check(Request(scope))):
            await refusal(scope, receive, send)
        elif path.startswith((PREFIX, "/web/", "/healthz")) or path == "/api/v1/repositories":
            await self._own(scope, receive, send)
        elif path.startswith("/api/"):
            self.state.requests.append(f"{scope['method']} {path}?{scope['query_string'].decode()}")
            await self._rest(scope, receive, send)
        else:
            await self._web(scope, receive, send)

    def _check(self, request: Request) -> Response | None:
        if not self._find_account(request):
            return _to_response(Refusal(HTTPStatus.UNAUTHORIZED, "sign in first"))
        if request.method != "GET" and request.headers.get(CSRF_HEADER) != CSRF:
            return _to_response(Refusal(HTTPStatus.FORBIDDEN, "the CSRF token is missing or wrong"))
        return None

    def _find_account(self, request: Request) -> Item | None:
        identifier = request.cookies.get(COOKIE, "")
        return next((user for user in self.state.users if user["id"] == identifier and user["is_active"]), None)

    def _list_routes(self) -> list[Route]:
        state = self.state
        handlers: dict[str, Handler] = {
            "GET /me": self._get_me,
            "GET /me/sessions": _list(state.sessions),
            "DELETE /me/sessions/{id}": _delete(state.sessions),
            "GET /keys": self._list_keys,
            "POST /keys": self._create_key,
            "DELETE /keys/{id}": self._revoke_key,
            "POST /agent-tokens": self._create_agent_token,
            "GET /users": self._list_users,
            "POST /users": self._create_user,
            "GET /users/{id}": _get(state.users),
            "PATCH /users/{id}": self._change_user,
            "DELETE /users/{id}": _delete(state.users),
            "GET /users/{id}/keys": self._list_keys,
            "POST /users/{id}/keys": self._create_key,
            "DELETE /users/{id}/keys/{key}": self._revoke_key,
            "DELETE /users/{id}/sessions": lambda request, body: None,
            "GET /teams": self._list_teams,
            "POST /teams": self._create_team,
            "GET /teams/{id}": _get(state.teams),
            "PATCH /teams/{id}": _patch(state.teams),
            "DELETE /teams/{id}": _delete(state.teams),
            "PUT /teams/{id}/members/{user}": self._add_member,
            "DELETE /teams/{id}/members/{user}": self._remove_member,
            "PUT /teams/{id}/grants": self._put_grant,
            "DELETE /teams/{id}/grants/{grant}": self._remove_grant,
            "GET /repositories": self._list_repositories,
            "POST /repositories": self._add_repository,
            "GET /repositories/{id}": _get(state.repositories),
            "PATCH /repositories/{id}": _patch(state.repositories),
            "DELETE /repositories/{id}": _delete(state.repositories),
            "POST /repositories/{id}/sync": self._sync,
            "POST /repositories/{id}/webhook": self._create_webhook,
            "GET /repositories/{id}/sources": self._list_sources,
            "PUT /repositories/{id}/sources/{source}": self._put_source,
            "DELETE /repositories/{id}/sources/{source}": self._remove_source,
            "POST /repositories/{id}/sources/{source}/sync": self._sync,
            "GET /source-systems": self._list_systems,
            "GET /credentials": _list(state.credentials),
            "POST /credentials": self._create_credential,
            "DELETE /credentials/{id}": _delete(state.credentials),
            "GET /jobs": self._list_jobs,
            "DELETE /jobs/{id}": self._cancel_job,
            "GET /audit": self._list_audit,
            "POST /audit/verify": lambda request, body: {"is_intact": True, "count": len(state.audit), "problem": ""},
            "GET /audit/export": self._export_audit,
            "GET /overview": self._get_overview,
            "GET /settings": self._get_settings,
        }
        outside: dict[str, Handler] = {
            "GET /api/v1/repositories": self._list_names,
            "GET /web/session": self._read_session,
            "POST /web/session": self._sign_in,
            "DELETE /web/session": self._sign_out,
            "GET /web/oidc/begin": self._begin_oidc,
        }
        table = {**{key.replace(" ", f" {PREFIX}"): handler for key, handler in handlers.items()}, **outside}
        return [Route(key.split()[1], _serve(handler), methods=[key.split()[0]]) for key, handler in table.items()]

    def _read_session(self, request: Request, _: Any) -> Item:  # bodies are JSON
        user = self._find_account(request)
        return (
            self._describe_session(user)
            if user
            else {"signed_in": False, "methods": self.state.methods, "provider": PROVIDER}
        )

    def _describe_session(self, user: Item) -> Item:
        return {
            "signed_in": True,
            "csrf": CSRF,
            "expires_at": format_time(hours=-12),
            "version": "1",
            "user": {name: user[name] for name in ("id", "name", "role")},
            "actions": sorted(ROLE_ACTIONS[Role(user["role"])]),
            "is_team_server": True,
        }

    def _sign_in(self, _: Request, body: Item) -> Response:
        role = body["key"].removeprefix("cr_")
        user = next((user for user in self.state.users if user["role"] == role), None)
        if user is None:
            raise Refusal(HTTPStatus.UNAUTHORIZED, "the key is not valid")
        response = JSONResponse(self._describe_session(user))
        response.set_cookie(COOKIE, user["id"], httponly=True, samesite="lax")
        return response

    def _sign_out(self, *_: Any) -> Response:
        response = JSONResponse({"signed_in": False})
        response.delete_cookie(COOKIE)
        return response

    def _begin_oidc(self, request: Request, _: Any) -> Response:
        """Sign in the member at once, as a provider that knows the browser does."""
        response = RedirectResponse(request.query_params["next"], HTTPStatus.SEE_OTHER)
        response.set_cookie(COOKIE, self.state.find_user("The member")["id"], httponly=True, samesite="lax")
        return response

    def _get_levels(self, user: Item) -> dict[str, str]:
        role = Role(user["role"])
        own = ROLE_LEVELS.get(role)
        if own is not None:
            return {repository["name"]: own.name.lower() for repository in self.state.repositories}
        levels: dict[str, Level] = {}
        for team in self.state.teams:
            if any(member["id"] == user["id"] for member in team["members"]):
                for grant in (grant for grant in team["grants"] if not grant["source"]):
                    levels[grant["repository"]] = min(Level[grant["level"].upper()], MAX_GRANTED_LEVELS[role])
        return {name: level.name.lower() for name, level in levels.items() if level}

    def _get_me(self, request: Request, _: Any) -> Item:
        user = self._require_account(request)
        teams = [team for team in self.state.teams if any(member["id"] == user["id"] for member in team["members"])]
        return {
            **user,
            "actions": sorted(ROLE_ACTIONS[Role(user["role"])]),
            "teams": [{"id": team["id"], "name": team["name"]} for team in teams],
            "repositories": self._get_levels(user),
            "quotas": [{"name": "Requests today", "used": 412, "limit": 10_000}],
        }

    def _require_account(self, request: Request) -> Item:
        user = self._find_account(request)
        assert user is not None
        return user

    def _list_names(self, request: Request, _: Any) -> Item:
        indexed = {repository["name"] for repository in self.state.repositories if repository["indexed_at"]}
        return {
            "repositories": [
                {
                    "name": name,
                    "root": name,
                    "used": "",
                    "is_open": False,
                    "is_indexed": name in indexed,
                    "is_there": True,
                }
                for name in sorted(self._get_levels(self._require_account(request)))
            ]
        }

    def _get_owner_id(self, request: Request) -> str:
        return str(request.path_params["id"]) if "/users/" in request.url.path else self._require_account(request)["id"]

    def _list_keys(self, request: Request, _: Any) -> Response:
        owner = self._get_owner_id(request)
        return _page([key for key in self.state.keys if key["user_id"] == owner], request)

    def _create_key(self, request: Request, body: Item) -> Item:
        return self._make_key(
            self._get_owner_id(request), body["name"], body["scopes"], body["repositories"], body["expires_at"]
        )

    def _create_agent_token(self, request: Request, body: Item) -> Item:
        owner = self._require_account(request)["id"]
        expires_at = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
        return self._make_key(owner, "Agent token", ["read"], body["repositories"], expires_at, kind="agent")

    def _make_key(  # the fields of a key
        self,
        owner: str,
        name: str,
        scopes: list[str],
        repositories: list[str] | None,
        expires_at: str | None,
        kind: str = "key",
    ) -> Item:
        identifier = self.state.next_id()
        secret = f"cr_{identifier}_secret-shown-once"
        key = {
            "id": identifier,
            "user_id": owner,
            "kind": kind,
            "name": name,
            "prefix": identifier,
            "scopes": scopes,
            "repositories": repositories,
            "created_at": format_time(),
            "expires_at": expires_at,
            "used_at": None,
            "revoked_at": None,
        }
        self.state.keys.insert(0, key)
        self.state.secrets.append(secret)
        return {"key": key, "secret": secret}

    def _revoke_key(self, request: Request, _: Any) -> None:
        identifier = request.path_params.get("key", request.path_params["id"])
        _find(self.state.keys, identifier)["revoked_at"] = format_time()

    def _list_users(self, request: Request, _: Any) -> Response:
        text = request.query_params.get("q", "").lower()
        users = sorted(self.state.users, key=lambda user: user["name"])
        return _page([user for user in users if text in f"{user['name']} {user['email']}".lower()], request)

    def _create_user(self, _: Request, body: Item) -> Item:
        if any(user["email"] == body.get("email") for user in self.state.users if body.get("email")):
            raise Refusal(HTTPStatus.CONFLICT, f"the e-mail {body['email']!r} is taken", "Give another one.")
        user = {
            "id": self.state.next_id(),
            "is_active": True,
            "created_at": format_time(),
            "seen_at": None,
            "email": None,
        }
        self.state.users.append(user | body)
        return self.state.users[-1]

    def _change_user(self, request: Request, body: Item) -> Item:
        user = _find(self.state.users, request.path_params["id"])
        user.update(body)
        return user

    def _list_teams(self, request: Request, _: Any) -> Response:
        return _page([{**team, "member_count": len(team["members"])} for team in self.state.teams], request)

    def _create_team(self, _: Request, body: Item) -> Item:
        self.state.teams.append(
            {"id": self.state.next_id(), "created_at": format_time(), "members": [], "grants": [], **body}
        )
        return self.state.teams[-1]

    def _get_team(self, request: Request) -> Item:
        return _find(self.state.teams, request.path_params["id"])

    def _add_member(self, request: Request, _: Any) -> None:
        user = _find(self.state.users, request.path_params["user"])
        self._get_team(request)["members"].append({**user, "is_from_oidc": False})

    def _remove_member(self, request: Request, _: Any) -> None:
        _remove(self._get_team(request)["members"], request.path_params["user"])

    def _put_grant(self, request: Request, body: Item) -> Item:
        grants = self._get_team(request)["grants"]
        key = (body["repository"], body["source"])
        grant = next((grant for grant in grants if (grant["repository"], grant["source"]) == key), None)
        if grant is None:
            grant = {"id": self.state.next_id()}
            grants.append(grant)
        grant |= body
        return grant

    def _remove_grant(self, request: Request, _: Any) -> None:
        _remove(self._get_team(request)["grants"], request.path_params["grant"])

    def _list_repositories(self, request: Request, _: Any) -> Response:
        levels = self._get_levels(self._require_account(request))
        return _page([repository for repository in self.state.repositories if repository["name"] in levels], request)

    def _add_repository(self, _: Request, body: Item) -> Item:
        if body["url"].startswith("file:"):
            raise Refusal(
                HTTPStatus.UNPROCESSABLE_ENTITY, f"the URL {body['url']!r} has the scheme file", "Use https or ssh."
            )
        repository = {
            "id": self.state.next_id(),
            "commit": "",
            "indexed_at": None,
            "next_sync_at": None,
            "has_webhook": False,
        }
        self.state.repositories.append(repository | body | {"created_at": format_time(), "sources": []})
        return self.state.repositories[-1]

    def _sync(self, request: Request, _: Any) -> Item:
        repository = _find(self.state.repositories, request.path_params["id"])
        job = {**self.state.jobs[0], "id": self.state.next_id(), "repository": repository["name"], "state": "queued"}
        job |= {
            "reason": "manual",
            "progress": {},
            "source_errors": {},
            "created_at": format_time(),
            "started_at": None,
        }
        self.state.jobs.insert(0, job)
        return job

    def _create_webhook(self, request: Request, _: Any) -> Item:
        repository = _find(self.state.repositories, request.path_params["id"])
        repository["has_webhook"] = True
        return {"url": f"{self.url}/hooks/{repository['id']}", "secret": WEBHOOK_SECRET}

    def _list_sources(self, request: Request, _: Any) -> Response:
        manages = Action.REPOSITORIES_MANAGE in ROLE_ACTIONS[Role(self._require_account(request)["role"])]
        sources = _find(self.state.repositories, request.path_params["id"])["sources"]
        return _page([source if manages else {**source, "settings": None} for source in sources], request)

    def _list_systems(self, request: Request, _: Any) -> Response:
        return _page(
            [{"name": name, "fields": [asdict(field) for field in fields]} for name, fields in list_systems().items()],
            request,
        )

    def _put_source(self, request: Request, body: Item) -> Item:
        sources = _find(self.state.repositories, request.path_params["id"])["sources"]
        name = request.path_params["source"]
        stored = next((source for source in sources if source["name"] == name), None)
        settings = {"system": body["system"], **body["settings"]}
        if body["token"] is None and stored and stored["settings"]["address"] != settings.get("address"):
            message = "the stored token is not sent to another server"
            raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, message, "Give the token of the new address.")
        if stored is None:
            stored = make_source(self.state, name, items=0)
            sources.append(stored)
        stored |= {"settings": settings, "error": "", "synced_at": None}
        stored["kind"] = "backlog" if body["system"] in BACKLOG_SYSTEMS else "documentation"
        self.state.secrets.append(body["token"])
        self._sync(request, None)
        return stored

    def _remove_source(self, request: Request, _: Any) -> None:
        sources = _find(self.state.repositories, request.path_params["id"])["sources"]
        sources[:] = [source for source in sources if source["name"] != request.path_params["source"]]

    def _create_credential(self, _: Request, body: Item) -> Item:
        shown = {name: body[name] for name in ("name", "kind", "host")}
        self.state.credentials.append({"id": self.state.next_id(), "details": {}, "created_at": format_time(), **shown})
        return self.state.credentials[-1]

    def _list_jobs(self, request: Request, _: Any) -> Response:
        levels = self._get_levels(self._require_account(request))
        repository, wanted = request.query_params.get("repository"), request.query_params.get("state")
        for job in self.state.jobs:
            progress = job["progress"]
            if job["state"] == "running" and progress["done"] < progress["total"]:
                progress["done"] += 40  # a request later, it is farther
        return _page(
            [
                job
                for job in self.state.jobs
                if job["repository"] in levels
                and repository in (None, job["repository"])
                and wanted in (None, job["state"])
            ],
            request,
        )

    def _cancel_job(self, request: Request, _: Any) -> Item:
        job = _find(self.state.jobs, request.path_params["id"])
        job |= {"state": "cancelled", "ended_at": format_time()}
        return job

    def _list_audit(self, request: Request, _: Any) -> Item:
        query = request.query_params
        before = int(query.get("before") or 1 << 62)
        matches = [
            entry
            for entry in reversed(self.state.audit)
            if entry["sequence"] < before
            and all(query.get(name) in (None, entry[name]) for name in ("actor", "action", "repository"))
            and query.get("since", "") <= entry["time"]
        ]
        shown = matches[:PAGE_ITEMS]
        return {"items": shown, "next": str(shown[-1]["sequence"]) if len(matches) > len(shown) else None}

    def _export_audit(self, *_: Any) -> Response:
        return PlainTextResponse(
            "".join(json.dumps(entry) + "\n" for entry in self.state.audit), media_type="application/jsonl"
        )

    def _get_overview(self, *_: Any) -> Item:
        counts = {"accounts": len(self.state.users), "indexed_repositories": 1, "queued_jobs": 0}
        return {"version": "1.2.0", "database": "postgresql", "revision": "0001", **counts}

    def _get_settings(self, *_: Any) -> Item:
        return {
            "public_url": self.url,
            "oidc": {"issuer": f"https://{PROVIDER}", "client_secret": "****"},
            "trusted_proxies": [],
        }


def _serve(handler: Handler) -> Callable[[Request], Any]:
    async def serve(request: Request) -> Response:
        content = await request.body()
        try:
            reply = handler(request, json.loads(content) if content else None)
        except Refusal as refusal:
            return _to_response(refusal)
        except LookupError:
            return _to_response(Refusal(HTTPStatus.NOT_FOUND, "there is no such entry"))
        if reply is None:
            return Response(status_code=HTTPStatus.NO_CONTENT)
        return reply if isinstance(reply, Response) else JSONResponse(reply)

    return serve


def _to_response(refusal: Refusal) -> Response:
    return JSONResponse(refusal.problem, refusal.problem["status"], media_type="application/problem+json")


def _page(items: list[Item], request: Request) -> Response:
    start = int(request.query_params.get("cursor") or 0)
    has_more = start + PAGE_ITEMS < len(items)
    return JSONResponse(
        {"items": items[start : start + PAGE_ITEMS], "next": str(start + PAGE_ITEMS) if has_more else None}
    )


def _list(items: list[Item]) -> Handler:
    return lambda request, _: _page(items, request)


def _find(items: list[Item], identifier: str) -> Item:
    for item in items:
        if item["id"] == identifier:
            return item
    raise LookupError(identifier)


def _get(items: list[Item]) -> Handler:
    return lambda request, _: _find(items, request.path_params["id"])


def _patch(items: list[Item]) -> Handler:
    def patch(request: Request, body: Item) -> Item:
        item = _find(items, request.path_params["id"])
        item.update(body)
        return item

    return patch


def _delete(items: list[Item]) -> Handler:
    return lambda request, _: _remove(items, request.path_params["id"])


def _remove(items: list[Item], identifier: str) -> None:
    items[:] = [item for item in items if item["id"] != identifier]


@contextmanager
def run_team_server(state: TeamState) -> Iterator[TeamServer]:
    """Serve on a free port of the loopback, with the known repositories of this user."""
    with Workspace(WorkspaceOptions(watch=False)) as workspace:
        app = TeamServer(state, workspace)
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", timeout_graceful_shutdown=2))
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            deadline = time.monotonic() + _START_S
            while not server.started:
                assert time.monotonic() < deadline
                time.sleep(0.02)
            app.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
            yield app
        finally:
            server.should_exit = True
            thread.join()
