"""Verification of the provider's tokens: ID tokens of sign-ins, and access tokens of programs."""

import hmac
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from joserfc import jwt
from joserfc.errors import BadSignatureError, ExpiredTokenError, InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry
from joserfc.jwt import JWTClaimsRegistry

from coderag.errors import AuthenticationError
from coderag.server.identity.provider import OidcProvider

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
"""Accepted algorithms: signatures of a private key only. With a shared secret, whoever verifies could also sign."""

MAX_TOKEN_CHARS: Final = 16_384
_MAX_HEADER_BYTES: Final = 8_192  # some providers send the certificates of their key
_MAX_SUBJECT_CHARS: Final = 200
_ID_TYPE: Final = "ID"
"""Value of the claim ``typ`` by which Keycloak marks ID tokens."""


class TokenVerifier:
    """Verifier of tokens that the provider has signed. Shared by threads.

    Args:
        provider: The provider.
        client_id: Audience of ID tokens.
        audiences: Audiences of access tokens: names of this server.
        leeway_s: Seconds that clocks may differ.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        provider: OidcProvider,
        client_id: str,
        audiences: Collection[str],
        leeway_s: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._provider = provider
        self._client_id = client_id
        self._audiences = list(audiences)
        self._leeway_s = leeway_s
        self._clock = clock
        self._registry = JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
        self._registry.max_header_length = _MAX_HEADER_BYTES

    def verify_id_token(self, token: str, nonce: str) -> Mapping[str, Any]:
        """Return the claims of an ID token that the provider has sent to this server.

        Args:
            token: The token.
            nonce: Nonce of the sign-in.

        Raises:
            AuthenticationError: The token is not acceptable.
            ProviderUnavailableError: The keys of the provider cannot be fetched.
        """
        claims = self._verify(token, [self._client_id], is_from_provider=True)
        given = claims.get("nonce")
        if not isinstance(given, str) or not hmac.compare_digest(given.encode(), nonce.encode()):
            raise _make_error("has another nonce" if given else "has no nonce")
        party = claims.get("azp")
        if (isinstance(claims["aud"], list) and len(claims["aud"]) > 1 and party is None) or (
            party is not None and party != self._client_id
        ):
            raise _make_error("is for another client")
        return claims

    def verify_access_token(self, token: str) -> Mapping[str, Any]:
        """Return the claims of an access token for this server.

        Raises as `verify_id_token`.
        """
        claims = self._verify(token, self._audiences, is_from_provider=False)
        if claims.get("typ") == _ID_TYPE or "nonce" in claims:
            raise _make_error("is an ID token, not an access token")
        return claims

    def _verify(self, token: str, audiences: list[str], *, is_from_provider: bool) -> Mapping[str, Any]:
        if len(token) > MAX_TOKEN_CHARS:
            raise _make_error("is too long")
        try:
            claims = self._decode(token, is_from_provider=is_from_provider)
            self._check_claims(claims, audiences)
        except ExpiredTokenError as error:
            raise _make_error("has expired") from error
        except BadSignatureError as error:
            raise _make_error("has a wrong signature") from error
        except InvalidKeyIdError as error:
            raise _make_error("is signed by an unknown key") from error
        except JoseError as error:
            raise _make_error(f"is not acceptable: {_describe(error)}") from error
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise _make_error("is malformed") from error
        return claims

    def _decode(self, token: str, *, is_from_provider: bool) -> dict[str, Any]:
        """Return the claims of a token with a valid signature; rotated keys are fetched once."""
        keys = self._provider.read_keys()
        try:
            return self._decode_with(token, keys)
        except (InvalidKeyIdError, BadSignatureError):
            # A wrong signature may be that of a new key without an id.
            refreshed = self._provider.refresh_keys(is_forced=is_from_provider)
            if refreshed is None:
                raise
            return self._decode_with(token, refreshed)

    def _decode_with(self, token: str, keys: KeySet) -> dict[str, Any]:
        return jwt.decode(token.encode("ascii", "strict"), keys, registry=self._registry).claims

    def _check_claims(self, claims: dict[str, Any], audiences: list[str]) -> None:
        registry = JWTClaimsRegistry(
            now=int(self._clock()),
            leeway=self._leeway_s,
            iss={"essential": True, "value": self._provider.issuer},
            aud={"essential": True, "values": audiences},
            sub={"essential": True},
            exp={"essential": True},
            iat={"essential": True},
        )
        registry.validate(claims)
        if len(claims["sub"]) > _MAX_SUBJECT_CHARS:
            raise ValueError("the subject is too long")


def _describe(error: JoseError) -> str:
    claim = getattr(error, "claim", "")
    return f"{error.error.replace('_', ' ')} {claim}".strip()


def _make_error(fault: str) -> AuthenticationError:
    return AuthenticationError(f"the provider's token {fault}", hint="Sign in again.")
