"""Whatever an account sends to a team server: it replies as its description says, and does nothing that its role may not.

`REST_EXAMPLES=200` makes so many requests for each operation and role, new ones in every run, instead of one that is always
the same, as three of the roles. Requests are about a repository that the account may administer, one that it may not see, and
objects of others.
"""

import asyncio
import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection

from coderag.interfaces.rest.app import PREFIX
from coderag.interfaces.server.app import ROUTE_ACTIONS, TeamApp
from coderag.server.access.roles import ROLE_ACTIONS, Action, Level, Role
from coderag.server.accounts.operator import make_operator
from coderag.server.storage.models import Job
from tests.support.composed_server import ComposedServer
from tests.support.hosted_worlds import IDS, WORDS, build_repositories
from tests.support.rest_fuzzing import CONFORMANCE, check_operations, describe, draw_real

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]  # as other property tests, see tests/conftest.py

EXAMPLES = int(os.environ.get("REST_EXAMPLES", "0"))
FEW = 1
JOB = "d" * 32
OWN, HIDDEN, SPARE = 0, 1, 2
_LIMITS = {"requests_per_minute": 0, "account_requests_per_minute": 0, "team_requests_per_minute": 0}
_NOT_DESCRIBED = {
    "GET /freshness/events",  # does not end
    "GET /.well-known/oauth-protected-resource",
    "GET /.well-known/oauth-protected-resource/mcp",
}
_NAMES = (f"settle_{WORDS[OWN]}", f"{WORDS[OWN]}/core.py", f"{WORDS[OWN]}/core.py:3", "README.md")


class LifespanApp:
    """An app that its client may start and stop."""

    def __init__(self, app: TeamApp) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve a request, or the lifespan."""
        if scope["type"] != "lifespan":
            await self._app(scope, receive, send)
            return
        while (message := await receive())["type"] != "lifespan.shutdown":
            await send({"type": f"{message['type']}.complete"})
        await send({"type": "lifespan.shutdown.complete"})


class FuzzedServer:
    """A team server with an account for each role, repositories, and a team, an account and a job of others."""

    def __init__(self, folder: Any) -> None:
        build_repositories(folder / "repositories", 3)
        data = folder / "data"
        data.mkdir()
        (data / "repositories").symlink_to(folder / "repositories")
        self.server = ComposedServer(data, limits=_LIMITS)
        for number in (OWN, HIDDEN, SPARE):
            self.server.host(IDS[number], WORDS[number])
        context = self.server.context
        with context.database.begin() as session:
            session.add(Job(id=JOB, repository_id=IDS[OWN], reason="add", state="done"))
        levels = {IDS[OWN]: Level.ADMINISTER}
        accounts = {role: self.server.create_member(role, levels, role) for role in Role}
        self.keys = {role: self.server.create_key(account) for role, account in accounts.items()}
        operator = make_operator(context.database)
        self.other = context.accounts.users.create_person(operator, "Bob", "bob@example.org", Role.MEMBER).id
        self.team = context.accounts.teams.create(operator, "others").id
        self.schema = schemathesis.openapi.from_dict(describe(read_description(self.server)))
        self.schema.app = LifespanApp(TeamApp(context, asyncio.Event()))

    def send_all(self, role: Role | None, mode: GenerationMode, checks: list[Any]) -> dict[str, set[int]]:
        """Send requests as a role, or without a key; return the statuses of each route."""
        statuses = check_operations(
            self.schema,
            mode,
            checks,
            self.prepare,
            examples=EXAMPLES or FEW,
            is_derandomized=not EXAMPLES,
            headers={"host": "127.0.0.1"} | ({"authorization": f"Bearer {self.keys[role]}"} if role else {}),
        )
        return {label.replace(f" {PREFIX}/", " /"): seen for label, seen in statuses.items()}

    def prepare(self, case: Any, data: st.DataObject) -> None:
        """Have most requests be about something that is there."""
        may_remove = case.method == "DELETE" and case.path.endswith("/server/repositories/{repository_id}")
        ids = {
            "repository_id": (IDS[SPARE],) if may_remove else (IDS[OWN], IDS[HIDDEN]),
            "job_id": (JOB,),
            "user_id": (self.other,),
            "team_id": (self.team,),
            "thread": ("talk",),
            "session": ("work",),
        }
        draw_real(data, case.path_parameters, ids)
        reals = {
            **dict.fromkeys(("name", "path", "start", "end"), _NAMES),
            **dict.fromkeys(("root", "repository"), (WORDS[OWN], WORDS[OWN], WORDS[HIDDEN])),
            "repositories": ([WORDS[OWN]],),
            "query": (f"where is the {WORDS[OWN]} settled?", _NAMES[0]),
            "filters": (None,),
        }
        for values in (case.body, case.query):
            draw_real(data, values, reals, often=5)


def read_description(server: ComposedServer) -> Any:
    """Return the description that the server serves to its owner."""
    [reply] = server.send(server.owner_key, [("GET", "/openapi.json", None)])
    return json.loads(reply.body)


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FuzzedServer]:
    folder = tmp_path_factory.mktemp("fuzzed")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("XDG_DATA_HOME", str(folder / "home"))
        made = FuzzedServer(folder)
    yield made
    made.server.close()


@pytest.mark.parametrize("role", [*Role, None] if EXAMPLES else [Role.OWNER, Role.MEMBER, None])
def test_a_role_gets_replies_as_described_and_does_nothing_that_it_may_not(
    fuzzed: FuzzedServer, role: Role | None
) -> None:
    statuses = fuzzed.send_all(role, GenerationMode.POSITIVE, CONFORMANCE)
    actions = {route.replace(":path}", "}"): action for route, action in ROUTE_ACTIONS.items()}
    not_asked = {route for route in actions if route not in statuses and " /web/" not in route}
    assert not_asked == _NOT_DESCRIBED, "all routes are asked"
    allowed = ROLE_ACTIONS[role] if role else {Action.PUBLIC}
    exceeded = {route: seen for route, seen in statuses.items() if actions[route] not in allowed and min(seen) < 400}
    assert exceeded == {}
    if role not in (None, Role.AUDITOR):
        assert len([route for route, seen in statuses.items() if min(seen) < 300]) > len(allowed)


@pytest.mark.parametrize("role", [Role.OWNER, Role.VIEWER] if EXAMPLES else [Role.VIEWER])
def test_requests_against_the_description_are_refused_as_described(fuzzed: FuzzedServer, role: Role) -> None:
    statuses = fuzzed.send_all(role, GenerationMode.NEGATIVE, [*CONFORMANCE, negative_data_rejection])
    assert {route: seen for route, seen in statuses.items() if not any(400 <= status < 500 for status in seen)} == {}
