"""Sign-ins at the provider that have begun. Each can be finished once, by the browser that began it."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import delete, func, select

from coderag.errors import AuthenticationError
from coderag.server.identity.secret_texts import create_secret, hash_secret, matches_digest
from coderag.server.sealing import MasterKey
from coderag.server.storage.columns import get_time
from coderag.server.storage.database import Database
from coderag.server.storage.models import SignInAttempt

ATTEMPT_LIFE: Final = timedelta(minutes=10)
"""Time in which a person has to sign in at the provider."""

MAX_ATTEMPTS: Final = 10_000
"""Maximum attempts at the same time; further ones replace the oldest."""


@dataclass(frozen=True, slots=True)
class PendingSignIn:
    """A sign-in that has begun.

    Attributes:
        nonce: Value that the ID token must have.
        verifier: Secret of PKCE, which the exchange of the code needs.
        next_path: Path of the page to go to afterwards.
        browser_digest: Digest of the secret of the browser that began it.
    """

    nonce: str = field(repr=False)
    verifier: str = field(repr=False)
    next_path: str
    browser_digest: str = field(repr=False)


class SignInAttempts:
    """Pending sign-ins in the database. Shared by threads and processes.

    Args:
        database: Database of the server.
        master_key: Key that seals them.
        clock: Returns the current time.
    """

    def __init__(self, database: Database, master_key: MasterKey, clock: Callable[[], datetime] = get_time) -> None:
        self._database = database
        self._master_key = master_key
        self._clock = clock

    def add(self, next_path: str, browser_secret: str) -> tuple[str, PendingSignIn]:
        """Add a sign-in and return its state parameter with it."""
        state = create_secret()
        pending = PendingSignIn(create_secret(), create_secret(), next_path, hash_secret(browser_secret))
        now = self._clock()
        with self._database.begin() as session:
            session.execute(delete(SignInAttempt).where(SignInAttempt.expires_at <= now))
            surplus = (session.scalar(select(func.count()).select_from(SignInAttempt)) or 0) - MAX_ATTEMPTS + 1
            if surplus > 0:
                oldest = select(SignInAttempt.state_digest).order_by(SignInAttempt.expires_at).limit(surplus)
                session.execute(delete(SignInAttempt).where(SignInAttempt.state_digest.in_(oldest)))
            sealed = self._master_key.seal(json.dumps(asdict(pending)))
            session.add(SignInAttempt(state_digest=hash_secret(state), sealed=sealed, expires_at=now + ATTEMPT_LIFE))
        return state, pending

    def take(self, state: str, browser_secret: str) -> PendingSignIn:
        """Take a sign-in out, so that its state cannot be used again.

        Raises:
            AuthenticationError: The state is unknown, used, too old, or of another browser.
        """
        own = delete(SignInAttempt).where(SignInAttempt.state_digest == hash_secret(state))
        with self._database.begin() as session:
            row = session.execute(own.returning(SignInAttempt.sealed, SignInAttempt.expires_at)).one_or_none()
        if row is None or row.expires_at <= self._clock():
            message = "the sign-in is unknown, was finished before, or took too long"
            raise AuthenticationError(message, hint="Begin to sign in again.")
        pending = PendingSignIn(**json.loads(self._master_key.open(row.sealed)))
        if not matches_digest(browser_secret, pending.browser_digest):
            raise AuthenticationError("the sign-in was begun by another browser", hint="Begin to sign in again.")
        return pending
