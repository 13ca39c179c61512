"""Routes for accounts, keys and teams, as the roles that use them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from coderag.server.access.principal import Principal
from coderag.server.access.roles import Level, Role, Scope
from coderag.server.storage.models import BrowserSession
from tests.support.server_accounts import add_user, make_principal
from tests.support.server_services import ServerWorld
from tests.unit.server.admin.conftest import Send

UNKNOWN = "0" * 32


def test_me_has_the_own_account_only(send: Send, principals: dict[Role, Principal]) -> None:
    team = send(Role.ADMIN, "POST", "/teams", json={"name": "core"}).json()
    member = principals[Role.MEMBER].user_id
    assert send(Role.ADMIN, "PUT", f"/teams/{team['id']}/members/{member}").status_code == 204
    caller = replace(principals[Role.MEMBER], team_ids=frozenset({team["id"]}))
    me = send(caller, "GET", "/me").json()
    assert (me["id"], me["role"], me["kind"]) == (member, "member", "person")
    assert me["teams"] == [{"id": team["id"], "name": "core"}]
    assert me["repositories"] == {"shop": "administer"}
    assert me["quotas"] == [
        {"name": "requests today", "used": 7, "limit": 0},
        {"name": "requests of core today", "used": 9, "limit": 50},
    ]
    assert "repository.converse" in me["actions"]
    assert "users.manage" not in me["actions"]


def test_own_sessions_are_listed_and_ended(send: Send, world: ServerWorld, principals: dict[Role, Principal]) -> None:
    own, other = principals[Role.VIEWER].user_id, principals[Role.MEMBER].user_id
    now = datetime.now(UTC)
    with world.database.begin() as session:
        for digest, user, hours in (("a", own, 1), ("b", own, -1), ("c", other, 1)):
            expiry = now + timedelta(hours=hours)
            session.add(BrowserSession(id=digest * 32, digest=digest, user_id=user, expires_at=expiry, address="::1"))
    caller = make_principal(Role.VIEWER, own)
    listed = send(caller, "GET", "/me/sessions").json()
    assert [(item["id"], item["is_current"]) for item in listed["items"]] == [("a" * 32, False)]
    assert send(caller, "DELETE", f"/me/sessions/{'c' * 32}").status_code == 404  # of another account
    agent = replace(caller, kind="agent", scopes=frozenset({Scope.READ}), is_bound=True)
    assert send(agent, "GET", "/me/sessions").status_code == 403
    assert send(agent, "DELETE", f"/me/sessions/{'a' * 32}").status_code == 403
    assert send(caller, "DELETE", f"/me/sessions/{'a' * 32}").status_code == 204
    assert send(caller, "GET", "/me/sessions").json() == {"items": [], "next": None}


def test_an_account_is_created_changed_and_removed(send: Send) -> None:
    body = {"name": "Ann", "email": "Ann@example.org", "role": "viewer"}
    user = send(Role.ADMIN, "POST", "/users", json=body)
    assert user.status_code == 201
    path = f"/users/{user.json()['id']}"
    assert send(Role.ADMIN, "POST", "/users", json=body).status_code == 409
    changed = send(Role.ADMIN, "PATCH", path, json={"role": "member", "is_active": False}).json()
    assert (changed["role"], changed["is_active"], changed["email"]) == ("member", False, "ann@example.org")
    assert send(Role.AUDITOR, "GET", path).json() == changed
    assert send(Role.ADMIN, "PATCH", path, json={"role": "admin"}).status_code == 403
    assert send(Role.OWNER, "PATCH", path, json={"role": "admin"}).status_code == 200
    assert send(Role.ADMIN, "DELETE", path).status_code == 403
    assert send(Role.OWNER, "DELETE", path).status_code == 204
    assert send(Role.OWNER, "GET", path).status_code == 404


def test_the_last_owner_stays(send: Send, principals: dict[Role, Principal]) -> None:
    path = f"/users/{principals[Role.OWNER].user_id}"
    for method, options in (("DELETE", {}), ("PATCH", {"json": {"role": "member"}})):
        reply = send(Role.OWNER, method, path, **options)
        assert (reply.status_code, "last active owner" in reply.json()["detail"]) == (422, True)


def test_accounts_are_listed_in_pages_and_filtered(send: Send) -> None:
    names, cursor = [], ""
    while cursor is not None:
        page = send(Role.AUDITOR, "GET", "/users", params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
        names += [user["name"] for user in page["items"]]
        cursor = page["next"]
    assert names == sorted(str(role) for role in Role)
    assert [user["name"] for user in send(Role.ADMIN, "GET", "/users?q=VIEW").json()["items"]] == ["viewer"]
    assert [user["name"] for user in send(Role.ADMIN, "GET", "/users?role=owner").json()["items"]] == ["owner"]


def test_a_key_shows_its_secret_once(send: Send) -> None:
    expiry = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    body = {"name": "laptop", "scopes": ["read", "index"], "repositories": ["shop"], "expires_at": expiry}
    created = send(Role.MEMBER, "POST", "/keys", json=body)
    assert created.status_code == 201
    secret = created.json()["secret"]
    assert secret.startswith("cr_")
    listed = send(Role.MEMBER, "GET", "/keys")
    assert secret not in listed.text
    assert "digest" not in listed.text
    (key,) = listed.json()["items"]
    assert key == created.json()["key"]
    assert (key["repositories"], key["scopes"], key["kind"]) == (["shop"], ["read", "index"], "key")
    assert send(Role.VIEWER, "DELETE", f"/keys/{key['id']}").status_code == 404  # of another account
    assert send(Role.MEMBER, "DELETE", f"/keys/{key['id']}").status_code == 204
    assert send(Role.MEMBER, "GET", "/keys").json()["items"][0]["revoked_at"] is not None


def test_keys_are_listed_in_pages(send: Send) -> None:
    for number in range(5):
        assert send(Role.VIEWER, "POST", "/keys", json={"name": f"key {number}"}).status_code == 201
    first = send(Role.VIEWER, "GET", "/keys?limit=3").json()
    second = send(Role.VIEWER, "GET", "/keys", params={"limit": 3, "cursor": first["next"]}).json()
    assert [key["name"] for key in first["items"] + second["items"]] == [f"key {number}" for number in range(5)]
    assert second["next"] is None


def test_a_token_is_bound_to_visible_repositories(send: Send) -> None:
    token = send(Role.VIEWER, "POST", "/agent-tokens", json={"repositories": ["shop", "shop"]}).json()
    assert (token["key"]["kind"], token["key"]["repositories"]) == ("agent", ["shop"])
    for path, body in (("/agent-tokens", {}), ("/keys", {"name": "k"})):
        replies = [
            send(Role.VIEWER, "POST", path, json={**body, "repositories": [name]}) for name in ("hidden", "nowhre")
        ]
        assert [reply.status_code for reply in replies] == [404, 404]
        assert replies[0].text.replace("hidden", "nowhre") == replies[1].text


def test_keys_of_accounts_are_made_for_programs_only(
    send: Send, world: ServerWorld, principals: dict[Role, Principal]
) -> None:
    service = send(Role.ADMIN, "POST", "/users", json={"name": "ci", "kind": "service"}).json()
    created = send(Role.ADMIN, "POST", f"/users/{service['id']}/keys", json={"name": "nightly"})
    assert created.status_code == 201
    key = created.json()["key"]
    assert send(Role.ADMIN, "GET", f"/users/{service['id']}/keys").json()["items"] == [key]
    person = principals[Role.VIEWER].user_id
    refused = send(Role.OWNER, "POST", f"/users/{person}/keys", json={"name": "theirs"})
    assert (refused.status_code, "account of a person" in refused.json()["detail"]) == (422, True)
    assert send(Role.ADMIN, "DELETE", f"/users/{person}/keys/{key['id']}").status_code == 404  # of another account
    assert send(Role.ADMIN, "DELETE", f"/users/{service['id']}/keys/{key['id']}").status_code == 204
    # With a key of an account of its own role, an admin could act under another name.
    powerful = add_user(world.database, "deployer", Role.ADMIN, kind="service")
    for method, path in (("POST", "keys"), ("GET", "keys"), ("DELETE", "sessions"), ("DELETE", f"keys/{UNKNOWN}")):
        options = {"json": {"name": "mine"}} if method == "POST" else {}
        assert send(Role.ADMIN, method, f"/users/{powerful}/{path}", **options).status_code == 403
        assert send(Role.OWNER, method, f"/users/{powerful}/{path}", **options).status_code in (200, 201, 404)


def test_a_team_gets_members_and_grants(send: Send, principals: dict[Role, Principal], shop: str) -> None:
    team = send(Role.ADMIN, "POST", "/teams", json={"name": "core", "oidc_group": "dev"}).json()
    path = f"/teams/{team['id']}"
    for _ in range(2):
        assert send(Role.ADMIN, "PUT", f"{path}/members/{principals[Role.VIEWER].user_id}").status_code == 204
    grant = send(Role.ADMIN, "PUT", f"{path}/grants", json={"repository": "shop", "level": "read"}).json()
    again = send(Role.ADMIN, "PUT", f"{path}/grants", json={"repository": "shop", "level": "index"}).json()
    assert again == {"id": grant["id"], "repository": "shop", "source": None, "level": "index"}
    source = send(
        Role.ADMIN, "PUT", f"{path}/grants", json={"repository": "shop", "source": "wiki", "level": "read"}
    ).json()
    details = send(Role.ADMIN, "GET", path).json()
    assert (details["oidc_group"], details["member_count"]) == ("dev", 1)
    assert [member["name"] for member in details["members"]] == ["viewer"]
    assert details["grants"] == [source, again] or details["grants"] == [again, source]
    assert send(Role.AUDITOR, "GET", path).json()["grants"] == []  # it does not see the repository
    assert send(Role.ADMIN, "DELETE", f"{path}/grants/{source['id']}").status_code == 204
    assert send(Role.ADMIN, "DELETE", f"{path}/members/{principals[Role.VIEWER].user_id}").status_code == 204
    assert send(Role.ADMIN, "PATCH", path, json={"oidc_group": None}).json()["oidc_group"] is None
    assert [item["name"] for item in send(Role.AUDITOR, "GET", "/teams").json()["items"]] == ["core"]
    assert send(Role.ADMIN, "DELETE", path).status_code == 204
    assert send(Role.ADMIN, "GET", path).status_code == 404


@pytest.mark.parametrize("body", [{"repository": "hidden"}, {"repository": "hidden", "source": "notes"}])
def test_a_bound_key_cannot_grant_what_it_does_not_see(
    send: Send, principals: dict[Role, Principal], shop: str, body: dict[str, str]
) -> None:
    team = send(Role.ADMIN, "POST", "/teams", json={"name": "core"}).json()
    bound = make_principal(Role.ADMIN, principals[Role.ADMIN].user_id, levels={shop: Level.ADMINISTER})
    path = f"/teams/{team['id']}/grants"
    replies = [
        send(bound, "PUT", path, json={**body, "repository": name, "level": "read"}) for name in ("hidden", "nowhre")
    ]
    assert [reply.status_code for reply in replies] == [404, 404]
    assert replies[0].text.replace("hidden", "nowhre") == replies[1].text
