"""Webhooks of git servers: a push that is proven by the repository's secret queues a job."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs

from coderag.errors import AuthenticationError, InvalidValueError
from coderag.server.jobs.queue import JobQueue
from coderag.server.repositories.names import is_id
from coderag.server.sealing import MasterKey
from coderag.server.storage.database import Database
from coderag.server.storage.models import HostedRepository, WebhookDelivery

MAX_BODY_BYTES: Final = 25 << 20
"""Maximum size of a delivery; GitHub sends no larger one."""

_MAX_PARSED_BYTES: Final = 1 << 20
_SIGNATURE_PREFIX: Final = "sha256="
_FORM: Final = "application/x-www-form-urlencoded"
_DELIVERY_HEADERS: Final = ("x-github-delivery", "x-gitea-delivery", "idempotency-key", "x-gitlab-event-uuid")
_EVENT_HEADERS: Final = ("x-github-event", "x-gitea-event", "x-gitlab-event")
_PUSH_EVENTS: Final = frozenset({"push", "push hook"})
_BRANCH_PREFIX: Final = "refs/heads/"


@dataclass(frozen=True, slots=True)
class WebhookOutcome:
    """Outcome of a delivery.

    Attributes:
        job_id: Id of the job that was queued or joined; None if the delivery needs none.
    """

    job_id: str | None = None


class WebhookReceiver:
    """Receiver of deliveries. Thread-safe.

    Args:
        database: The database.
        master_key: Key that seals the secrets.
        queue: Queue of jobs.
    """

    def __init__(self, database: Database, master_key: MasterKey, queue: JobQueue) -> None:
        self._database = database
        self._master_key = master_key
        self._queue = queue

    def open(self, repository_id: str, headers: Mapping[str, str]) -> "WebhookDeliveryReader":
        """Begin a delivery. An unknown repository looks like a wrong signature, at every step.

        Args:
            repository_id: Id of the repository.
            headers: Headers of the request, with names in lower case.
        """
        with self._database.read() as session:
            repository = session.get(HostedRepository, repository_id) if is_id(repository_id) else None
        # A repository without a secret gets one that nobody has.
        sealed = repository.sealed_webhook_secret if repository is not None else None
        decoy = self._master_key.seal(self._master_key.derive("webhook").hex())
        secret = self._master_key.open(sealed or decoy)
        branch = repository.branch if repository is not None else ""
        return WebhookDeliveryReader(self, repository_id, branch, secret.encode(), headers)

    def submit(self, repository_id: str, delivery: str) -> WebhookOutcome:
        """Queue a job for a delivery that is proven, unless it was taken before."""
        digest = hashlib.sha256(delivery.encode()).hexdigest()
        with self._database.begin() as session:
            # The lock of the repository lets a delivery that is sent twice at once count once.
            if session.get(HostedRepository, repository_id, with_for_update=True) is None:
                return WebhookOutcome()
            if session.get(WebhookDelivery, (repository_id, digest)) is not None:
                return WebhookOutcome()
            session.add(WebhookDelivery(repository_id=repository_id, delivery=digest))
            return WebhookOutcome(self._queue.submit(repository_id, "push", session=session).id)


class WebhookDeliveryReader:
    """A delivery whose body is read in parts; its signature is computed as they come.

    Args:
        receiver: Its receiver.
        repository_id: Id of the repository in its URL.
        branch: Branch that the repository follows; empty for the default one.
        secret: Secret of the repository, or one that nobody has.
        headers: Headers of the request, with names in lower case.
    """

    def __init__(
        self, receiver: WebhookReceiver, repository_id: str, branch: str, secret: bytes, headers: Mapping[str, str]
    ) -> None:
        self._receiver = receiver
        self._repository_id = repository_id
        self._branch = branch
        self._secret = secret
        self._headers = headers
        self._mac = hmac.new(secret, digestmod=hashlib.sha256)
        self._digest = hashlib.sha256()
        self._body: bytes | None = b""
        self._size = 0

    def feed(self, part: bytes) -> None:
        """Take a part of the body.

        Raises:
            InvalidValueError: It is too large.
        """
        self._size += len(part)
        if self._size > MAX_BODY_BYTES:
            raise InvalidValueError(f"the body has more than {MAX_BODY_BYTES:,} bytes")
        self._mac.update(part)
        self._digest.update(part)
        # The rest of a large body is only checked: its push is taken as one to the followed branch.
        if self._body is not None:
            self._body = self._body + part if self._size <= _MAX_PARSED_BYTES else None

    def finish(self) -> WebhookOutcome:
        """Queue a job if the delivery is proven and concerns the branch that is followed.

        Raises:
            AuthenticationError: The repository is unknown, or the signature is wrong.
            InvalidValueError: The body of a proven delivery is not JSON.
        """
        if not self._is_proven():
            raise AuthenticationError(
                "the signature of the webhook is wrong", hint="Check the webhook's URL and secret."
            )
        event = next((self._headers[name] for name in _EVENT_HEADERS if name in self._headers), "")
        if event.lower() not in _PUSH_EVENTS:
            return WebhookOutcome()
        if self._body is not None and not is_followed_push(self._parse(self._body), self._branch):
            return WebhookOutcome()
        named = (f"{name}:{self._headers[name]}" for name in _DELIVERY_HEADERS if self._headers.get(name))
        return self._receiver.submit(self._repository_id, next(named, f"sha256:{self._digest.hexdigest()}"))

    def _is_proven(self) -> bool:
        computed = self._mac.hexdigest().encode()
        github = self._headers.get("x-hub-signature-256", "").removeprefix(_SIGNATURE_PREFIX).encode()
        gitea = self._headers.get("x-gitea-signature", "").encode()
        gitlab = self._headers.get("x-gitlab-token", "").encode()
        # All are compared, so that the time shows nothing.
        proofs = (
            hmac.compare_digest(github, computed),
            hmac.compare_digest(gitea, computed),
            hmac.compare_digest(hashlib.sha256(gitlab).digest(), hashlib.sha256(self._secret).digest()),
        )
        return any(proofs)

    def _parse(self, body: bytes) -> Mapping[str, Any]:
        try:
            if self._headers.get("content-type", "").partition(";")[0].strip().lower() == _FORM:
                body = parse_qs(body.decode("ascii"), strict_parsing=True)["payload"][0].encode()
            payload = json.loads(body)
        except (ValueError, KeyError, RecursionError) as error:
            hint = "Set the webhook's content type to application/json."
            raise InvalidValueError("the body of the webhook is not JSON", hint=hint) from error
        if not isinstance(payload, dict):
            raise InvalidValueError("the body of the webhook is not an object", hint="Send a push event.")
        return payload


def is_followed_push(payload: Mapping[str, Any], branch: str) -> bool:
    """Return whether a push changes the branch that a repository follows.

    Args:
        payload: Body of a push event of GitHub, GitLab or Gitea.
        branch: The branch; empty for the default one, which the payload names.
    """
    reference, after = payload.get("ref"), payload.get("after")
    if not isinstance(reference, str) or not reference.startswith(_BRANCH_PREFIX):
        return False  # a tag
    if payload.get("deleted") is True or (isinstance(after, str) and after and not after.strip("0")):
        return False
    parts = (payload.get("repository"), payload.get("project"))
    names = [part.get("default_branch") for part in parts if isinstance(part, dict)]
    default = next((name for name in names if isinstance(name, str) and name), None)
    followed = branch or default
    return followed is None or reference == _BRANCH_PREFIX + followed
