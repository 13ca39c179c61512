"""State of a team server in memory: accounts, teams, repositories, jobs and an audit record."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from coderag.server.access.roles import Level, Role

WIKI_ERROR = "wiki.example.org refused the token. Check that it is valid."
COMMIT = "3f1d6bb0c0ffee0123456789abcdef0123456789"


Item = dict[str, Any]


def format_time(**ago: float) -> str:
    """Return the time some while ago."""
    return (datetime.now(UTC) - timedelta(**ago)).isoformat()


@dataclass
class TeamState:
    """Everything that the server holds, as its replies show it. Tests read and change it."""

    users: list[Item] = field(default_factory=list)
    teams: list[Item] = field(default_factory=list)
    repositories: list[Item] = field(default_factory=list)
    credentials: list[Item] = field(default_factory=list)
    keys: list[Item] = field(default_factory=list)
    sessions: list[Item] = field(default_factory=list)
    jobs: list[Item] = field(default_factory=list)
    audit: list[Item] = field(default_factory=list)
    secrets: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    methods: list[str] = field(default_factory=lambda: ["key", "oidc"])
    ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def next_id(self) -> str:
        """Return a new id."""
        return f"id{next(self.ids):04}"

    def find_user(self, name: str) -> Item:
        """Return the account with a name."""
        return next(user for user in self.users if user["name"] == name)


def make_state(*, extra_users: int = 0) -> TeamState:
    """Make a server with an account of each role, a team, a repository, jobs and an audit record."""
    state = TeamState()
    for role in Role:
        state.users.append(_make_user(state, f"The {role.value}", role))
    state.users.append(_make_user(state, "Build server", Role.MEMBER, kind="service"))
    state.users += [_make_user(state, f"Person {number:03}", Role.MEMBER) for number in range(extra_users)]
    state.credentials.append(
        {"id": state.next_id(), "name": "shop deploy key", "kind": "deploy_key", "host": "git.example.org"}
        | {"details": {"fingerprint": "SHA256:mVPw"}}
        | {"created_at": format_time(days=30)}
    )
    shop = _make_repository(state, "shop", commit=COMMIT, indexed_at=format_time(hours=2))
    state.repositories += [shop, _make_repository(state, "payments")]
    member, viewer = state.find_user("The member"), state.find_user("The viewer")
    state.teams.append(
        {
            "id": state.next_id(),
            "name": "Shop team",
            "oidc_group": "shop",
            "created_at": format_time(days=20),
            "members": [_make_member(member), {**_make_member(viewer), "is_from_oidc": True}],
            "grants": [
                _make_grant(state, shop, None, Level.ADMINISTER),
                _make_grant(state, shop, shop["sources"][0], Level.READ),
            ],
        }
    )
    finished = {"started_at": format_time(hours=2, seconds=48), "ended_at": format_time(hours=2)}
    state.jobs = [
        _make_job(state, shop, "running", "push", progress={"stage": "embed", "done": 120, "total": 480}),
        _make_job(state, state.repositories[1], "failed", "add", error="git.example.org refused the credential"),
        _make_job(state, shop, "done", "schedule", commit=COMMIT, source_errors={"wiki": WIKI_ERROR}) | finished,
    ]
    actions = itertools.cycle(
        [
            ("repository.read", "allowed"),
            ("users.manage", "allowed"),
            ("repository.read", "denied"),
            ("sign_in", "failed"),
        ]
    )
    for sequence in range(1, 131):
        action, outcome = next(actions)
        state.audit.append(
            {"sequence": sequence, "time": format_time(minutes=131 - sequence), "actor_id": member["id"]}
            | {"actor": "The member", "credential_id": "", "address": "10.0.0.7", "action": action, "outcome": outcome}
            | {"repository_id": shop["id"], "repository": "shop", "detail": '{"question": "sha256:4be1…"}'}
        )
    state.sessions = [
        {"id": "own", "address": "127.0.0.1", "created_at": format_time(minutes=1), "is_current": True}
        | {"expires_at": format_time(hours=-11)},
        {"id": "phone", "address": "10.0.0.8", "created_at": format_time(hours=3), "is_current": False}
        | {"expires_at": format_time(hours=-9)},
    ]
    return state


def _make_user(state: TeamState, name: str, role: Role, *, kind: str = "person") -> Item:
    email = f"{name.lower().replace(' ', '.')}@example.org" if kind == "person" else None
    times = {"created_at": format_time(days=40), "seen_at": format_time(hours=5)}
    return {
        "id": state.next_id(),
        "kind": kind,
        "name": name,
        "email": email,
        "role": role.value,
        "is_active": True,
        **times,
    }


def _make_member(user: Item) -> Item:
    return {name: user[name] for name in ("id", "name", "email", "role")} | {"is_from_oidc": False}


def make_source(state: TeamState, name: str, **values: Any) -> Item:
    """Make a source as an administrator sees it."""
    settings = {"system": "confluence", "address": "https://wiki.example.org", "spaces": ["SHOP"], "timeout_s": 90}
    return {
        "id": state.next_id(),
        "name": name,
        "kind": "documentation",
        "is_on_server": True,
        "settings": settings,
        "items": 1_204,
        "error": WIKI_ERROR,
        "synced_at": format_time(days=1),
    } | values


def _make_repository(state: TeamState, name: str, **values: Any) -> Item:  # fields of a reply
    return {
        "id": state.next_id(),
        "name": name,
        "url": f"https://git.example.org/acme/{name}.git",
        "branch": "",
        "credential_id": None,
        "team_id": None,
        "interval_minutes": 60,
        "has_webhook": False,
        "commit": "",
        "indexed_at": None,
        "next_sync_at": format_time(minutes=-40),
        "created_at": format_time(days=10),
        "sources": [make_source(state, "wiki")],
    } | values


def _make_grant(state: TeamState, repository: Item, source: Item | None, level: Level) -> Item:
    return {
        "id": state.next_id(),
        "repository": repository["name"],
        "source": source["name"] if source else None,
        "level": level.name.lower(),
    }


def _make_job(state: TeamState, repository: Item, job_state: str, reason: str, **values: Any) -> Item:
    return {
        "id": state.next_id(),
        "repository": repository["name"],
        "repository_id": repository["id"],
        "reason": reason,
        "state": job_state,
        "attempts": 1,
        "progress": {},
        "error": "",
        "source_errors": {},
        "commit": "",
        "created_at": format_time(minutes=4),
        "started_at": format_time(minutes=3),
        "ended_at": None,
    } | values
