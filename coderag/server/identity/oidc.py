"""Sign-in with an OpenID Connect provider: authorization code with PKCE."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

from authlib.common.errors import AuthlibBaseError
from authlib.integrations.httpx_client import OAuth2Client

from coderag.errors import AuthenticationError, ConfigurationError
from coderag.server.identity.oidc_accounts import OidcAccounts
from coderag.server.identity.provider import FETCH_ERRORS, OidcProvider, describe_fault, make_provider_error
from coderag.server.identity.secret_texts import create_secret
from coderag.server.identity.sign_in_attempts import SignInAttempts
from coderag.server.identity.tokens import TokenVerifier
from coderag.server.sealing import MasterKey
from coderag.server.settings import OidcSettings
from coderag.server.storage.columns import get_time
from coderag.server.storage.database import Database
from coderag.server.storage.models import User

CALLBACK_PATH: Final = "/web/oidc/callback"

_MAX_PARAMETER_CHARS: Final = 4_096
_MAX_PATH_CHARS: Final = 2_000


@dataclass(frozen=True, slots=True)
class BegunSignIn:
    """A sign-in that has begun.

    Attributes:
        url: Address at the provider to send the browser to.
        browser_secret: Secret that the browser keeps in a cookie, so that no other browser can finish it.
    """

    url: str = field(repr=False)
    browser_secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class FinishedSignIn:
    """A sign-in that has succeeded.

    Attributes:
        user: The account.
        next_path: Path of the page to go to.
    """

    user: User
    next_path: str


class OidcClient:
    """Client of the provider. Shared by threads; its methods wait for the provider and the database.

    Args:
        settings: Settings of the provider.
        public_url: Address of this server that users see.
        database: Database of the server.
        master_key: Key that seals pending sign-ins.
        clock: Returns the current time.

    Raises:
        ConfigurationError: The settings are incomplete.
    """

    def __init__(
        self,
        settings: OidcSettings,
        public_url: str,
        database: Database,
        master_key: MasterKey,
        clock: Callable[[], datetime] = get_time,
    ) -> None:
        parts = urlsplit(public_url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            message = f"public_url {public_url!r} is not a URL"
            raise ConfigurationError(
                message, hint="Sign-in with a provider needs it, such as https://code.example.org."
            )
        base = public_url.rstrip("/")
        self.provider = OidcProvider(settings)
        self.accounts = OidcAccounts(database, settings, clock)
        audiences = (base, f"{base}/", f"{base}/mcp")
        self.verifier = TokenVerifier(
            self.provider, settings.client_id, audiences, settings.leeway_s, lambda: clock().timestamp()
        )
        self._settings = settings
        self._redirect_uri = base + CALLBACK_PATH
        self._attempts = SignInAttempts(database, master_key, clock)

    def begin(self, next_path: str) -> BegunSignIn:
        """Begin a sign-in.

        Args:
            next_path: Path of this server to go to afterwards; anything else becomes ``/``.

        Raises:
            ConfigurationError: The provider is another one than the settings name.
            DatabaseUnavailableError: The database does not answer.
            ProviderUnavailableError: The provider does not answer.
        """
        endpoint = str(self.provider.read_metadata()["authorization_endpoint"])
        browser_secret = create_secret()
        state, pending = self._attempts.add(clean_path(next_path), browser_secret)
        with self.provider.create_client(self._redirect_uri) as client:
            url, _ = client.create_authorization_url(
                endpoint, state=state, code_verifier=pending.verifier, nonce=pending.nonce
            )
        return BegunSignIn(url, browser_secret)

    def finish(self, state: str, code: str, browser_secret: str, issuer: str | None = None) -> FinishedSignIn:
        """Finish a sign-in: exchange the code, verify the ID token, and update the account and its memberships.

        Args:
            state: State parameter of the callback.
            code: Code of the callback.
            browser_secret: Secret of the browser's cookie.
            issuer: Issuer parameter of the callback, if there is one.

        Raises:
            AuthenticationError: State, code or token is not acceptable, or the account is disabled.
            ProviderUnavailableError: The provider does not answer.
        """
        if max(map(len, (state, code, browser_secret))) > _MAX_PARAMETER_CHARS:
            raise AuthenticationError("a parameter of the sign-in is too long", hint="Begin to sign in again.")
        pending = self._attempts.take(state, browser_secret)
        self._check_issuer(issuer)
        with self.provider.create_client(self._redirect_uri) as client:
            tokens = self._exchange(client, code, pending.verifier)
            id_token = tokens.get("id_token")
            if not isinstance(id_token, str):
                raise AuthenticationError("the provider sent no ID token", hint="Ask for the scope openid.")
            claims = self.verifier.verify_id_token(id_token, pending.nonce)
            claims = self._complete(claims, tokens.get("access_token"))
        return FinishedSignIn(self.accounts.update(claims), pending.next_path)

    def _check_issuer(self, issuer: str | None) -> None:
        is_promised = self.provider.read_metadata().get("authorization_response_iss_parameter_supported") is True
        if (issuer is not None or is_promised) and issuer != self.provider.issuer:
            raise AuthenticationError("the reply is from another provider", hint="Begin to sign in again.")

    def _exchange(self, client: OAuth2Client, code: str, verifier: str) -> Mapping[str, Any]:
        endpoint = str(self.provider.read_metadata()["token_endpoint"])
        try:
            tokens = client.fetch_token(endpoint, grant_type="authorization_code", code=code, code_verifier=verifier)
        except AuthlibBaseError as error:
            if error.error in ("invalid_client", "unauthorized_client"):
                message = "the provider does not accept this server's client id and secret"
                raise ConfigurationError(message, hint="Check oidc.client_id and oidc.client_secret.") from error
            message = "the provider does not accept the code"
            raise AuthenticationError(message, hint="Begin to sign in again.") from error
        except FETCH_ERRORS as error:
            raise make_provider_error(self.provider.issuer, describe_fault(error)) from error
        return dict(tokens)

    def _complete(self, claims: Mapping[str, Any], access_token: object) -> Mapping[str, Any]:
        """Add claims that the provider has only at its endpoint of user information."""
        is_complete = {"email", "email_verified", "name", self._settings.groups_claim} <= claims.keys()
        if is_complete or not isinstance(access_token, str):
            return claims
        more = self.provider.fetch_user_info(access_token)
        if more is None:
            return claims
        if more.get("sub") != claims["sub"]:
            raise AuthenticationError("the provider sent the data of another person", hint="Begin to sign in again.")
        if "email_verified" not in claims:  # it must not verify another e-mail than the one beside it
            claims = {name: value for name, value in claims.items() if name != "email"}
        return {**more, **claims}


def clean_path(path: str) -> str:
    """Return a path of this server; ``/`` for anything that may lead elsewhere."""
    is_own = path.startswith("/") and not path.startswith("//") and len(path) <= _MAX_PATH_CHARS
    is_plain = path.isascii() and path.isprintable() and "\\" not in path and " " not in path
    return path if is_own and is_plain else "/"
