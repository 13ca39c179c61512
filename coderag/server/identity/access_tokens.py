"""Access tokens of the provider, by which programs act for people who have signed in before."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import select

from coderag.errors import AuthenticationError
from coderag.server.access.principal import Principal
from coderag.server.access.roles import Scope
from coderag.server.identity.principals import PROVIDER_CREDENTIAL, PrincipalLoader
from coderag.server.identity.tokens import TokenVerifier
from coderag.server.storage.columns import ID_CHARS
from coderag.server.storage.database import Database
from coderag.server.storage.models import User

SCOPE_PREFIX: Final = "coderag:"
"""Beginning of the scopes of a token that mean something here, such as ``coderag:index``."""

_MAX_SCOPES: Final = frozenset({Scope.READ, Scope.INDEX})
"""Scopes that a token can have: programs administer with API keys only."""

_MAX_TIME: Final = 253_402_300_799
"""Last second that `datetime` can express; a token may name a later one."""


class AccessTokenService:
    """Access tokens. Shared by threads.

    Args:
        database: Database of the server.
        loader: Loader of principals.
        verifier: Verifier of tokens.
        issuer: Issuer of the accounts.
    """

    def __init__(self, database: Database, loader: PrincipalLoader, verifier: TokenVerifier, issuer: str) -> None:
        self._database = database
        self._loader = loader
        self._verifier = verifier
        self._issuer = issuer

    def authenticate(self, token: str, address: str) -> Principal:
        """Return the principal of a token.

        Raises:
            AuthenticationError: The token is not acceptable, or its person has no account or a disabled one.
            ProviderUnavailableError: The keys of the provider cannot be fetched.
        """
        claims = self._verifier.verify_access_token(token)
        own = select(User).where(User.oidc_issuer == self._issuer, User.oidc_subject == claims["sub"])
        with self._database.read() as session:
            user = session.scalar(own)
            if user is None:
                message = "nobody has signed in here with the account of this token"
                raise AuthenticationError(message, hint="Sign in once in the browser.")
            principal = self._loader.load(
                session,
                user,
                kind="agent",
                credential_id=_build_credential_id(claims),
                scopes=_read_scopes(claims),
                repository_ids=None,
                address=address,
            )
        return replace(principal, expires_at=datetime.fromtimestamp(int(min(claims["exp"], _MAX_TIME)), UTC))


def _read_scopes(claims: Mapping[str, Any]) -> list[str]:
    """Return the scopes of a token; to read is the least."""
    words = claims.get("scope", claims.get("scp"))  # Microsoft calls it scp
    listed = words.split() if isinstance(words, str) else ()
    named = {word.removeprefix(SCOPE_PREFIX) for word in listed if word.startswith(SCOPE_PREFIX)}
    return sorted(named.intersection(_MAX_SCOPES) | {Scope.READ})


def _build_credential_id(claims: Mapping[str, Any]) -> str:
    """Build an id that stays the same when a program renews its token, so that its rate limit does, too."""
    client = claims.get("azp") or claims.get("client_id") or ""
    digest = hashlib.sha256(f"{claims['sub']}\n{client}".encode("utf-8", "replace")).hexdigest()
    return f"{PROVIDER_CREDENTIAL}{digest}"[:ID_CHARS]
