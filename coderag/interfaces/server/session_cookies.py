"""Cookies of browsers: that of the session, and that of a sign-in at the provider that has begun."""

from typing import Final, Literal

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from coderag.interfaces.web.sessions import parse_cookie

_SIGN_IN_S: Final = 600
_HOST_PREFIX: Final = "__Host-"


class SessionCookies:
    """Names and attributes of the cookies.

    Over https their names begin with ``__Host-``, so that no other host of the domain can set them.

    Args:
        public_url: Address of the server that users see; empty if it is not known.
    """

    def __init__(self, public_url: str = "") -> None:
        self._is_always_secure = public_url.startswith("https:")

    def read_session(self, scope: Scope) -> str:
        """Return the cookie of the session; empty without one."""
        return self._read(scope, "coderag")

    def read_sign_in(self, scope: Scope) -> str:
        """Return the cookie of a sign-in that has begun; empty without one."""
        return self._read(scope, "coderag-sign-in")

    def set_session(self, response: Response, scope: Scope, value: str, max_age_s: int) -> None:
        """Set the cookie of the session."""
        self._set(response, scope, "coderag", value, max_age_s, "strict")

    def set_sign_in(self, response: Response, scope: Scope, value: str) -> None:
        """Set the cookie of a sign-in that has begun. The provider's redirect carries it, as it is lax."""
        self._set(response, scope, "coderag-sign-in", value, _SIGN_IN_S, "lax")

    def delete_session(self, response: Response, scope: Scope) -> None:
        """Delete the cookie of the session."""
        self._set(response, scope, "coderag", "", 0, "strict")

    def delete_sign_in(self, response: Response, scope: Scope) -> None:
        """Delete the cookie of a sign-in."""
        self._set(response, scope, "coderag-sign-in", "", 0, "lax")

    def _read(self, scope: Scope, name: str) -> str:
        # HTTP/2 may split the header.
        return parse_cookie("; ".join(Headers(scope=scope).getlist("cookie")), self._get_name(scope, name))

    def _set(  # the attributes of a cookie
        self,
        response: Response,
        scope: Scope,
        name: str,
        value: str,
        max_age_s: int,
        same_site: Literal["lax", "strict"],
    ) -> None:
        response.set_cookie(
            self._get_name(scope, name),
            value,
            max_age=max_age_s,
            path="/",
            secure=self._is_secure(scope),
            httponly=True,
            samesite=same_site,
        )

    def _get_name(self, scope: Scope, name: str) -> str:
        return f"{_HOST_PREFIX}{name}" if self._is_secure(scope) else name

    def _is_secure(self, scope: Scope) -> bool:
        return self._is_always_secure or scope.get("scheme") == "https"
