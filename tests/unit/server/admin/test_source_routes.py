"""Routes for sources of repositories: who may do what, and that no token comes back."""

from collections.abc import Mapping

import pytest

from coderag.config.source_sections import SECTIONS_BY_SYSTEM, RemoteSourceSection
from coderag.server.access.principal import Principal
from coderag.server.access.roles import Level, Role
from coderag.server.jobs.queue import JobQueue
from coderag.server.storage.models import RepositorySource
from tests.support.server_accounts import make_principal
from tests.support.server_services import ServerWorld
from tests.unit.server.admin.conftest import Send

TOKEN = "token-of-the-tracker"  # made up
SETTINGS = {"address": "https://tracker.example", "user": "a@b.example", "projects": ["SHOP"]}
BODY = {"system": "jira", "settings": SETTINGS}


def address(shop: str, name: str = "", suffix: str = "") -> str:
    return f"/repositories/{shop}/sources" + (f"/{name}{suffix}" if name else "")


def finish_job(world: ServerWorld, errors: Mapping[str, str]) -> str:
    """Run the queued job of a repository to its end; return its id."""
    job = JobQueue(world.database).claim("w")
    assert job is not None
    assert world.queue.finish(job.id, "w", "abc", errors)
    return job.id


def test_source_is_added_changed_listed_and_removed(send: Send, world: ServerWorld, shop: str) -> None:
    added = send(Role.ADMIN, "PUT", address(shop, "jira"), json={**BODY, "token": TOKEN})
    assert added.status_code == 200, added.text
    assert added.json() | {"id": ""} == {
        "id": "",
        "name": "jira",
        "kind": "backlog",
        "is_on_server": True,
        "settings": {"system": "jira", **SETTINGS},
        "items": 0,
        "error": "",
        "synced_at": None,
    }
    changed = send(
        Role.ADMIN, "PUT", address(shop, "jira"), json=BODY | {"settings": {**SETTINGS, "projects": ["PAY"]}}
    )
    assert changed.json()["settings"]["projects"] == ["PAY"]
    listed = send(Role.ADMIN, "GET", address(shop))
    assert [(entry["name"], entry["is_on_server"]) for entry in listed.json()["items"]] == [
        ("jira", True),
        ("tracker", False),
        ("wiki", False),
    ]
    assert send(Role.ADMIN, "DELETE", address(shop, "jira")).status_code == 204
    assert send(Role.ADMIN, "DELETE", address(shop, "jira")).status_code == 404
    audit = [(entry.action, entry.detail) for entry in world.audit.export()]
    assert [action for action, _ in audit] == ["repositories.manage"] * 2 + ["repository.read"] + [
        "repositories.manage"
    ] * 2
    assert '"source":"jira","system":"jira"' in audit[0][1]
    assert TOKEN not in f"{audit}{added.text}{changed.text}{listed.text}"


def test_readers_see_the_state_of_a_source_but_not_its_settings(send: Send, world: ServerWorld, shop: str) -> None:
    send(Role.ADMIN, "PUT", address(shop, "jira"), json={**BODY, "token": TOKEN})
    assert len(send(Role.VIEWER, "GET", address(shop)).json()["items"]) == 0  # this viewer has no source
    with world.database.read() as session:
        ids = {source.id: Level.READ for source in session.query(RepositorySource) if source.name == "jira"}
    reader = make_principal(Role.VIEWER, levels={shop: Level.READ}, source_ids=ids)
    (source,) = send(reader, "GET", address(shop)).json()["items"]
    assert (source["name"], source["settings"]) == ("jira", None)
    assert "tracker.example" not in send(reader, "GET", address(shop)).text


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({**BODY, "token": ""}, "body.token"),
        (BODY, "token: is missing"),
        ({**BODY, "token": "x", "settings": {**SETTINGS, "token": "y"}}, "settings.token: belongs beside"),
        ({**BODY, "token": "x", "settings": {**SETTINGS, "address": "http://tracker.example"}}, "needs https"),
        ({**BODY, "token": "x", "settings": {**SETTINGS, "credential_file": "/etc/x"}}, "names a file of the server"),
        ({"system": "files", "settings": {"path": "/etc"}, "token": "x"}, "body.system"),
        ({**BODY, "token": "x", "settings": {"address": {"a": "b"}}}, "body.settings.address"),
        ({**BODY, "token": "x", "extra": 1}, "body.extra"),
    ],
)
def test_bad_settings_are_refused_by_name(
    send: Send, world: ServerWorld, shop: str, body: dict[str, object], message: str
) -> None:
    reply = send(Role.OWNER, "PUT", address(shop, "jira"), json=body)
    assert (reply.status_code, message in reply.text) == (422, True), reply.text
    assert world.queue.list([shop]) == []


def test_stored_token_is_not_sent_to_another_host(send: Send, shop: str) -> None:
    send(Role.OWNER, "PUT", address(shop, "jira"), json={**BODY, "token": TOKEN})
    moved = {**BODY, "settings": {**SETTINGS, "address": "https://thief.example"}}
    reply = send(Role.OWNER, "PUT", address(shop, "jira"), json=moved)
    assert (reply.status_code, "another server" in reply.text) == (422, True)


def test_synchronisation_is_a_job_of_the_repository(send: Send, world: ServerWorld, shop: str) -> None:
    with world.database.read() as session:
        ids = {source.id: Level.READ for source in session.query(RepositorySource) if source.name == "wiki"}
    indexer = make_principal(Role.MEMBER, levels={shop: Level.INDEX}, source_ids=ids)
    reply = send(indexer, "POST", address(shop, "wiki", "/sync"))
    assert (reply.status_code, reply.json()["state"]) == (202, "queued")
    again = send(indexer, "POST", address(shop, "wiki", "/sync"), json={"full": True})
    assert again.json()["id"] == reply.json()["id"]
    hidden, missing = (send(indexer, "POST", address(shop, name, "/sync")) for name in ("tracker", "nothing"))
    assert (hidden.status_code, missing.status_code) == (404, 404)
    assert hidden.text.replace("tracker", "nothing") == missing.text
    assert send(Role.VIEWER, "POST", address(shop, "wiki", "/sync")).status_code == 403
    assert len(world.queue.list([shop])) == 1


def test_errors_of_sources_are_shown_to_those_who_see_the_source(
    send: Send, world: ServerWorld, shop: str, principals: dict[Role, Principal]
) -> None:
    send(Role.OWNER, "POST", address(shop, "wiki", "/sync"))
    job = finish_job(world, {"wiki": "wiki.example refused the key."})
    shown = send(Role.OWNER, "GET", f"/jobs/{job}").json()
    assert (shown["state"], shown["source_errors"]) == ("done", {"wiki": "wiki.example refused the key."})
    assert send(Role.OWNER, "GET", "/jobs").json()["items"] == [shown]
    for path in (f"/jobs/{job}", "/jobs"):
        assert "wiki" not in send(Role.VIEWER, "GET", path).text


def test_systems_have_the_fields_of_their_settings_but_no_secrets_and_files(send: Send) -> None:
    systems = {
        system["name"]: system["fields"] for system in send(Role.OWNER, "GET", "/source-systems").json()["items"]
    }
    assert set(systems) == {
        name for name, section in SECTIONS_BY_SYSTEM.items() if issubclass(section, RemoteSourceSection)
    }
    jira = {field["name"]: field for field in systems["jira"]}
    assert set(jira) == {"address", "user", "projects", "jql", "timeout_s", "deletions_hours"}
    assert (jira["address"]["is_required"], jira["projects"]["type"], jira["projects"]["default"]) == (True, "list", [])
    assert [name for name, field in jira.items() if field["is_general"]] == ["deletions_hours", "timeout_s"]
    sharepoint = {field["name"]: field["type"] for field in systems["sharepoint"]}
    assert (sharepoint["pages"], "certificate_file" in sharepoint) == ("flag", False)
