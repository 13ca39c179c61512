"""Routes for repositories, credentials, jobs, the audit record and the state of the server."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from coderag.server.access.principal import Principal
from coderag.server.access.roles import Level, Role
from coderag.server.audit.audit_log import AuditLog
from coderag.server.sealing import MasterKey
from coderag.server.storage.models import AuditEntry, HostedRepository
from tests.support.server_accounts import make_principal
from tests.support.server_services import ServerWorld, make_world
from tests.unit.server.admin.conftest import Send

UNKNOWN = "0" * 32
TOKEN = "glpat-very-secret-token"


class SteppingClock:
    """A clock that is a day later at each look."""

    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.time += timedelta(days=1)
        return self.time


@pytest.fixture
def audit(world: ServerWorld) -> AuditLog:
    """The record, from 2 January 2026 on with an entry each day."""
    world.audit = AuditLog(
        world.database,
        MasterKey(bytes(32)),
        world.settings.audit,
        world.settings.data / "audit.counter",
        clock=SteppingClock(),
    )
    return world.audit


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/repositories/{id}", None),
        ("PATCH", "/repositories/{id}", {"interval_minutes": 60}),
        ("POST", "/repositories/{id}/sync", None),
        ("POST", "/repositories/{id}/webhook", None),
        ("GET", "/repositories/{id}/sources", None),
    ],
)
def test_a_hidden_repository_is_like_one_that_does_not_exist(
    send: Send, hidden: str, method: str, path: str, body: object
) -> None:
    options = {} if body is None else {"json": body}
    replies = [send(Role.MEMBER, method, path.format(id=each), **options) for each in (hidden, UNKNOWN)]
    assert [reply.status_code for reply in replies] == [404, 404]
    assert replies[0].text.replace(hidden, UNKNOWN) == replies[1].text
    assert replies[0].headers == replies[1].headers


def test_only_visible_repositories_are_listed(send: Send, shop: str) -> None:
    listed = send(Role.VIEWER, "GET", "/repositories").json()["items"]
    assert [(item["id"], item["level"]) for item in listed] == [(shop, "read")]
    assert send(Role.AUDITOR, "GET", "/repositories").json() == {"items": [], "next": None}
    first = send(Role.OWNER, "GET", "/repositories?limit=1").json()
    second = send(Role.OWNER, "GET", "/repositories", params={"limit": 1, "cursor": first["next"]}).json()
    assert [item["name"] for item in first["items"] + second["items"]] == ["hidden", "shop"]


def test_a_repository_is_added_with_a_job(send: Send, world: ServerWorld) -> None:
    body = {"name": "tools", "url": "https://git.example.org/tools.git", "interval_minutes": 60}
    added = send(Role.ADMIN, "POST", "/repositories", json=body)
    assert added.status_code == 201, added.text
    assert added.json()["next_sync_at"] is not None
    assert [job.reason for job in world.queue.list([added.json()["id"]])] == ["add"]
    assert send(Role.ADMIN, "POST", "/repositories", json=body).status_code == 409


def test_administration_of_a_repository_changes_its_schedule_only(send: Send, world: ServerWorld, shop: str) -> None:
    path = f"/repositories/{shop}"
    assert send(Role.MEMBER, "PATCH", path, json={"interval_minutes": 30}).json()["interval_minutes"] == 30
    for field, value in (("url", "https://git.example.org/x"), ("branch", "x"), ("credential_id", None)):
        reply = send(Role.MEMBER, "PATCH", path, json={field: value})
        assert (reply.status_code, field in reply.json()["detail"]) == (403, True)
    assert send(Role.ADMIN, "PATCH", path, json={"branch": "next", "name": "store"}).json()["name"] == "store"
    assert world.repositories.find(shop).branch == "next"
    reader = make_principal(Role.MEMBER, levels={shop: Level.INDEX})
    assert send(reader, "PATCH", path, json={"interval_minutes": 30}).status_code == 403
    assert send(reader, "POST", f"{path}/webhook").status_code == 403


def test_credentials_of_a_repository_are_shown_to_managers_only(send: Send, world: ServerWorld, shop: str) -> None:
    credential = world.credentials.create("forge", "token", "git.example.org", TOKEN)
    team = world.accounts.teams.create(make_principal(Role.ADMIN), "core")
    world.repositories.update(shop, credential_id=credential.id, team_id=team.id)
    assert send(Role.ADMIN, "GET", f"/repositories/{shop}").json()["credential_id"] == credential.id
    seen = send(Role.MEMBER, "GET", f"/repositories/{shop}").json()
    assert (seen["credential_id"], seen["team_id"]) == (None, None)


def test_a_manual_job_is_joined_and_cancelled(send: Send, shop: str) -> None:
    jobs = [send(Role.MEMBER, "POST", f"/repositories/{shop}/sync") for _ in range(2)]
    assert [job.status_code for job in jobs] == [202, 202]
    job = jobs[0].json()
    assert job == jobs[1].json()
    assert (job["repository"], job["reason"], job["state"]) == ("shop", "manual", "queued")
    assert send(Role.VIEWER, "GET", f"/jobs/{job['id']}").json() == job
    assert send(Role.VIEWER, "DELETE", f"/jobs/{job['id']}").status_code == 403
    assert send(Role.MEMBER, "DELETE", f"/jobs/{job['id']}").json()["state"] == "cancelled"
    assert send(Role.MEMBER, "DELETE", f"/jobs/{job['id']}").status_code == 422
    only_reader = make_principal(Role.MEMBER, levels={shop: Level.READ})
    assert send(only_reader, "POST", f"/repositories/{shop}/sync").status_code == 403


def test_jobs_of_hidden_repositories_are_not_there(send: Send, world: ServerWorld, shop: str, hidden: str) -> None:
    secret, own = world.queue.submit(hidden, "push"), world.queue.submit(shop, "push")
    assert [job["id"] for job in send(Role.MEMBER, "GET", "/jobs").json()["items"]] == [own.id]
    for method in ("GET", "DELETE"):
        replies = [send(Role.MEMBER, method, f"/jobs/{job}") for job in (secret.id, UNKNOWN)]
        assert [reply.status_code for reply in replies] == [404, 404]
        assert replies[0].text.replace(secret.id, UNKNOWN) == replies[1].text
    replies = [send(Role.MEMBER, "GET", f"/jobs?repository={name}") for name in ("hidden", "nowhre")]
    assert [reply.status_code for reply in replies] == [404, 404]
    assert len(send(Role.ADMIN, "GET", "/jobs?repository=hidden&state=queued").json()["items"]) == 1
    first = send(Role.ADMIN, "GET", "/jobs?limit=1").json()
    rest = send(Role.ADMIN, "GET", "/jobs", params={"cursor": first["next"]}).json()
    assert [job["id"] for job in first["items"] + rest["items"]] == [own.id, secret.id]
    assert rest["next"] is None


def test_a_webhook_secret_is_shown_once_and_sealed(send: Send, world: ServerWorld, shop: str) -> None:
    created = send(Role.MEMBER, "POST", f"/repositories/{shop}/webhook")
    assert created.status_code == 201
    assert created.json()["url"] == f"https://code.example.org/hooks/{shop}"
    secret = created.json()["secret"]
    seen = send(Role.MEMBER, "GET", f"/repositories/{shop}")
    assert (seen.json()["has_webhook"], secret in seen.text) == (True, False)
    with world.database.read() as session:
        sealed = session.get_one(HostedRepository, shop).sealed_webhook_secret
    assert sealed is not None
    assert secret.encode() not in sealed


def test_a_removed_repository_is_gone(send: Send, shop: str) -> None:
    assert send(Role.MEMBER, "DELETE", f"/repositories/{shop}").status_code == 403
    assert send(Role.ADMIN, "DELETE", f"/repositories/{shop}").status_code == 204
    assert send(Role.ADMIN, "GET", f"/repositories/{shop}").status_code == 404


def test_only_visible_sources_are_listed(send: Send, world: ServerWorld, shop: str) -> None:
    admin = make_principal(Role.ADMIN, levels={shop: Level.ADMINISTER})
    wiki = world.accounts.grants.find_source(admin, shop, "wiki")
    caller = make_principal(Role.VIEWER, levels={shop: Level.READ}, source_ids={wiki.id: Level.READ})
    listed = send(caller, "GET", f"/repositories/{shop}/sources").json()["items"]
    assert [(source["id"], source["name"], source["settings"]) for source in listed] == [(wiki.id, "wiki", None)]
    assert len(send(Role.ADMIN, "GET", f"/repositories/{shop}/sources").json()["items"]) == 2


def test_no_reply_has_the_secret_of_a_credential(send: Send, world: ServerWorld, shop: str) -> None:
    body = {"name": "forge", "kind": "gitlab_token", "host": "git.example.org", "secret": TOKEN, "user": "bot"}
    created = send(Role.ADMIN, "POST", "/credentials", json=body)
    assert created.status_code == 201, created.text
    assert created.json()["details"] == {"user": "bot"}
    replies = [
        created,
        send(Role.ADMIN, "GET", "/credentials"),
        send(Role.ADMIN, "POST", "/credentials", json=body),
        send(Role.ADMIN, "POST", "/credentials", json={**body, "kind": "password"}),
        send(Role.ADMIN, "POST", "/credentials", json={**body, "name": "x", "secret": TOKEN + " \x00"}),
        send(Role.ADMIN, "POST", "/credentials", json={**body, "name": "x", "host": "bad host"}),
    ]
    assert [reply.status_code for reply in replies] == [201, 200, 409, 422, 422, 422]
    assert not any(TOKEN in reply.text for reply in replies)
    path = f"/credentials/{created.json()['id']}"
    world.repositories.update(shop, credential_id=created.json()["id"])
    assert send(Role.ADMIN, "DELETE", path).status_code == 422  # the shop uses it
    world.repositories.update(shop, credential_id=None)
    assert send(Role.ADMIN, "DELETE", path).status_code == 204
    assert send(Role.ADMIN, "DELETE", path).status_code == 404


def test_the_audit_record_is_searched_newest_first(
    send: Send, audit: AuditLog, shop: str, principals: dict[Role, Principal]
) -> None:
    admin = principals[Role.ADMIN]
    audit.record(admin, "users.manage")
    for _ in range(3):
        audit.record(principals[Role.MEMBER], "repository.read", repository_id=shop)

    def list_sequences(role: Role = Role.AUDITOR, **query: object) -> list[int]:
        reply = send(role, "GET", "/audit", params={"until": "2026-01-06T00:00:00Z", **query})
        return [entry["sequence"] for entry in reply.json()["items"]]

    assert list_sequences() == [4, 3, 2, 1]
    for filters in ({"actor": "admin"}, {"actor": admin.user_id}, {"action": "users.manage"}):
        assert list_sequences(**filters) == [1]
    assert list_sequences(Role.OWNER, repository="shop") == list_sequences(repository=shop) == [4, 3, 2]
    assert list_sequences(repository="shop") == []  # an auditor does not know its name
    assert list_sequences(since="2026-01-03T00:00:00Z", until="2026-01-04T01:00:00+01:00") == [2]
    page = send(Role.OWNER, "GET", "/audit?limit=3&until=2026-01-06T00:00:00Z").json()
    assert page["next"] == "2"
    assert list_sequences(before=page["next"]) == [1]
    assert page["items"][0]["repository"] == "shop"
    assert send(Role.AUDITOR, "GET", f"/audit?repository={shop}").json()["items"][0]["repository"] == shop


def test_the_audit_record_is_exported_as_lines(send: Send, audit: AuditLog) -> None:
    for _ in range(3):
        audit.record(None, "search", detail={"question": "wo ist die Prüfung?"})
    reply = send(Role.AUDITOR, "GET", "/audit/export?since=2026-01-03T00:00:00Z&until=2026-01-05T00:00:00Z")
    assert reply.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in reply.text.splitlines()]
    assert [line["sequence"] for line in lines] == [2, 3]
    assert lines[0]["detail"] == {"question": "wo ist die Prüfung?"}
    assert len(lines[0]["mac"]) == 64
    assert send(Role.AUDITOR, "GET", "/audit/export?until=2020-01-01T00:00:00Z").text == ""


def test_damage_of_the_audit_record_is_reported(send: Send, world: ServerWorld) -> None:
    for _ in range(3):
        world.audit.record(None, "search")
    intact = send(Role.AUDITOR, "POST", "/audit/verify").json()
    assert intact == {"is_intact": True, "count": 4, "problem": ""}  # with that of the request itself
    with world.database.begin() as session:
        session.get_one(AuditEntry, 2).actor = "somebody else"
    damaged = send(Role.AUDITOR, "POST", "/audit/verify").json()
    assert (damaged["is_intact"], damaged["problem"] != "") == (False, True)


def test_settings_are_shown_without_secrets(send: Send, world: ServerWorld, tmp_path) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    other = make_world(
        folder,
        database_url="postgresql://coderag:pa55word@db.example.org/coderag",
        oidc={"issuer": "https://id.example.org", "client_secret": "s3cret"},
    )
    other.database.close()
    world.settings = other.settings
    reply = send(Role.ADMIN, "GET", "/settings")
    assert "pa55word" not in reply.text
    assert "s3cret" not in reply.text
    settings = reply.json()
    assert (settings["database_url"], settings["oidc"]["client_secret"]) == ("set", "set")
    assert settings["oidc"]["issuer"] == "https://id.example.org"
    assert settings["repositories"]["schemes"] == ["https", "ssh"]


def test_the_overview_counts(send: Send, world: ServerWorld, shop: str) -> None:
    world.queue.submit(shop, "push")
    overview = send(Role.ADMIN, "GET", "/overview").json()
    assert (overview["accounts"], overview["repositories"], overview["queued_jobs"]) == (5, 2, 1)
    assert (overview["database"], overview["indexed_repositories"]) == ("sqlite", 0)
