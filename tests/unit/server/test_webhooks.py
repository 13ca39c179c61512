"""Webhooks of GitHub, GitLab and Gitea: what is proven queues one job, and nothing else is learnt or done."""

import hashlib
import hmac
import json
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from urllib.parse import urlencode

import pytest
from fastapi import FastAPI
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from coderag.interfaces.rest.problems import install_handlers
from coderag.interfaces.server.webhook_routes import ROUTE_ACTIONS, router
from coderag.server.access.roles import Action
from coderag.server.webhooks import MAX_BODY_BYTES, is_followed_push
from tests.support.server_world import ServerWorld

PUSH = {"ref": "refs/heads/main", "after": "a" * 40, "repository": {"default_branch": "main"}}


@pytest.fixture
def world(tmp_path):
    server = ServerWorld(tmp_path)
    app = FastAPI()
    install_handlers(app)
    app.include_router(router)
    app.state.server = SimpleNamespace(database=server.database, master_key=server.master_key, queue=server.queue)
    repository = server.add_repository("shop")
    secret = server.repositories.create_webhook_secret(repository)
    with TestClient(app, raise_server_exceptions=False) as client:
        yield SimpleNamespace(
            client=client, server=server, queue=server.queue, repository=repository, secret=secret, app=app
        )
    server.close()


def encode(payload):
    return json.dumps(payload).encode()


def sign(secret, body):
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def build_headers(kind, secret, body, *, delivery="1", event="push"):
    match kind:
        case "github":
            headers = {"x-github-event": event, "x-github-delivery": delivery}
            headers["x-hub-signature-256"] = "sha256=" + sign(secret, body)
        case "gitea":
            headers = {"x-gitea-event": event, "x-gitea-delivery": delivery, "x-gitea-signature": sign(secret, body)}
        case _:
            event = {"push": "Push Hook", "ping": "Job Hook"}[event]
            headers = {"x-gitlab-event": event, "x-gitlab-event-uuid": delivery, "x-gitlab-token": secret}
    return {**headers, "content-type": "application/json"}


def deliver(world, kind="github", payload=PUSH, *, secret=None, repository=None, **options):
    body = payload if isinstance(payload, bytes) else encode(payload)
    headers = build_headers(kind, secret or world.secret, body, **options)
    return world.client.post(f"/hooks/{repository or world.repository}", content=body, headers=headers)


KINDS = pytest.mark.parametrize("kind", ["github", "gitlab", "gitea"])


@KINDS
def test_a_push_queues_a_job(world, kind):
    reply = deliver(world, kind)
    assert reply.status_code == 202
    (job,) = world.queue.list(None)
    assert (reply.json(), job.reason, job.repository_id) == ({"job_id": job.id}, "push", world.repository)


@KINDS
def test_a_wrong_secret_and_an_unknown_repository_have_the_same_reply(world, kind):
    without_secret = world.server.add_repository("without-secret")
    replies = [
        deliver(world, kind, secret="wrong"),
        deliver(world, kind, repository="0" * 32),
        deliver(world, kind, repository=without_secret),
        deliver(world, kind, repository="not-an-id"),
        deliver(world, kind, repository="%00"),
        deliver(world, kind, payload=b"no json", repository="0" * 32),
        deliver(world, kind, payload=b"no json", secret="wrong"),
        deliver(world, kind, secret="wrong", event="ping"),
        world.client.post(f"/hooks/{world.repository}", content=encode(PUSH), headers={"x-github-event": "push"}),
    ]
    assert {reply.status_code for reply in replies} == {401}
    assert len({reply.content for reply in replies}) == 1
    assert len({json.dumps(sorted(reply.headers.items())) for reply in replies}) == 1
    assert world.queue.list(None) == []


def test_a_signature_of_other_bytes_proves_nothing(world):
    headers = build_headers("github", world.secret, encode(PUSH))
    reply = world.client.post(f"/hooks/{world.repository}", content=encode(PUSH) + b" ", headers=headers)
    assert reply.status_code == 401


def test_a_secret_that_was_replaced_is_refused(world):
    new = world.server.repositories.create_webhook_secret(world.repository)
    assert deliver(world).status_code == 401
    assert deliver(world, secret=new).status_code == 202


def test_a_secret_of_another_repository_is_refused(world):
    other = world.server.add_repository("other")
    world.server.repositories.create_webhook_secret(other)
    assert deliver(world, repository=other).status_code == 401


@KINDS
def test_a_repeated_delivery_does_nothing(world, kind):
    first = deliver(world, kind).json()["job_id"]
    world.queue.claim("w")
    world.queue.finish(first, "w", "abc")
    assert deliver(world, kind).json() == {"job_id": None}
    assert world.queue.count()["queued"] == 0
    assert deliver(world, kind, delivery="2").json()["job_id"] is not None


def test_a_delivery_without_an_id_is_known_by_its_body(world):
    body = encode(PUSH)
    headers = build_headers("github", world.secret, body)
    del headers["x-github-delivery"]
    url = f"/hooks/{world.repository}"
    assert world.client.post(url, content=body, headers=headers).json()["job_id"] is not None
    assert world.client.post(url, content=body, headers=headers).json() == {"job_id": None}


def test_a_storm_of_a_thousand_deliveries_joins_one_job(world):
    running = deliver(world, delivery="first").json()["job_id"]
    world.queue.claim("w")

    def send(number):
        for _ in range(20):  # a database that is busy for long asks for another delivery
            reply = deliver(world, ["github", "gitlab", "gitea"][number % 3], delivery=str(number))
            if reply.status_code != 503:
                break
        return reply

    with ThreadPoolExecutor(16) as executor:
        replies = list(executor.map(send, range(1000)))
    assert {reply.status_code for reply in replies} == {202}
    jobs = {reply.json()["job_id"] for reply in replies}
    assert len(jobs) == 1
    assert running not in jobs
    assert world.queue.count() == {"queued": 1, "running": 1}


@pytest.mark.parametrize(
    ("change", "is_followed"),
    [
        ({}, True),
        ({"ref": "refs/heads/other"}, False),
        ({"ref": "refs/heads/main/x"}, False),
        ({"ref": "refs/tags/main"}, False),
        ({"ref": None}, False),
        ({"ref": "refs/heads/trunk", "repository": {"default_branch": "trunk"}}, True),
        ({"ref": "refs/heads/trunk", "repository": {}, "project": {"default_branch": "trunk"}}, True),
        ({"ref": "refs/heads/any", "repository": {}}, True),
        ({"ref": "refs/heads/any", "repository": "odd"}, True),
        ({"deleted": True}, False),
        ({"after": "0" * 40}, False),
    ],
)
def test_only_pushes_to_the_followed_branch_count(world, change, is_followed):
    reply = deliver(world, payload={**PUSH, **change})
    assert reply.status_code == 202
    assert (reply.json()["job_id"] is not None) == is_followed


def test_a_repository_with_a_branch_of_its_own_follows_that(world):
    world.server.repositories.update(world.repository, branch="release")
    world.queue.cancel(world.queue.list(None)[0].id)
    assert deliver(world).json() == {"job_id": None}
    assert deliver(world, payload={**PUSH, "ref": "refs/heads/release"}, delivery="2").json()["job_id"]


@KINDS
def test_other_events_are_accepted_and_ignored(world, kind):
    reply = deliver(world, kind, event="ping", payload={"zen": "x"})
    assert (reply.status_code, reply.json()) == (202, {"job_id": None})


def test_a_form_as_github_can_send_it_is_read(world):
    body = urlencode({"payload": json.dumps(PUSH)}).encode()
    headers = build_headers("github", world.secret, body) | {"content-type": "application/x-www-form-urlencoded"}
    reply = world.client.post(f"/hooks/{world.repository}", content=body, headers=headers)
    assert reply.json()["job_id"] is not None


@pytest.mark.parametrize("body", [b"", b"no json", b"[]", b"[" * 100_000, b"\xff\xfe", b"1"])
def test_a_proven_body_that_is_no_push_is_an_error_with_a_hint(world, body):
    reply = deliver(world, payload=body)
    assert (reply.status_code, reply.headers["content-type"]) == (422, "application/problem+json")
    assert reply.json()["hint"]
    assert world.queue.list(None) == []


def test_a_large_push_is_proven_and_taken_without_being_kept(world):
    body = encode({**PUSH, "ref": "refs/heads/other", "commits": ["x" * 3_000_000]})
    assert deliver(world, payload=body).json()["job_id"] is not None
    assert deliver(world, payload=body, secret="wrong").status_code == 401


def test_a_body_over_the_limit_is_refused_for_every_repository_alike(world):
    body = b"x" * (MAX_BODY_BYTES + 1)
    replies = [deliver(world, payload=body), deliver(world, payload=body, repository="0" * 32)]
    parts = (body[start : start + (1 << 20)] for start in range(0, len(body), 1 << 20))  # without a length
    headers = build_headers("github", world.secret, body)
    replies.append(world.client.post(f"/hooks/{world.repository}", content=parts, headers=headers))
    assert {reply.status_code for reply in replies} == {413}
    assert len({reply.content for reply in replies}) == 1


def test_the_route_has_an_action_and_a_description(world):
    assert dict(ROUTE_ACTIONS) == {"POST /hooks/{repository_id}": Action.PUBLIC}
    assert world.secret not in json.dumps(world.app.openapi())


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["ref", "after", "deleted", "repository", "project", "default_branch"]), inner, max_size=4
    ),
    max_leaves=12,
)  # fmt: skip


@given(
    st.dictionaries(st.sampled_from(["ref", "after", "deleted", "repository", "project"]), _JSON), st.text(max_size=5)
)
def test_any_payload_is_followed_or_not(payload, branch):
    assert is_followed_push(payload, branch) in (True, False)
