"""A real OpenID Connect provider, oidc-provider-mock, on the loopback; and a browser that signs in there."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

import httpx

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it uses a module of Authlib that is deprecated
    import oidc_provider_mock


@contextmanager
def serve_provider(*users: oidc_provider_mock.User, port: int = 0) -> Iterator[str]:
    """Serve a provider with these people, and return its issuer. Each start has another signing key."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with oidc_provider_mock.run_server_in_thread(port, user_claims=users, require_nonce=True) as server:
            yield f"http://localhost:{server.server_port}"


def make_person(subject: str, groups: Sequence[str] = (), **claims: Any) -> oidc_provider_mock.User:
    """Make a person of the provider, with a verified e-mail."""
    full = {"email": f"{subject}@example.org", "email_verified": True, "name": subject.title(), "groups": list(groups)}
    return oidc_provider_mock.User(sub=subject, claims={**full, **claims})


def change_person(issuer: str, subject: str, groups: Sequence[str], **claims: Any) -> None:
    """Change the claims of a person."""
    httpx.put(f"{issuer}/users/{subject}", json=make_person(subject, groups, **claims).claims).raise_for_status()


def authorize(url: str, subject: str = "", *, is_denied: bool = False) -> str:
    """Sign in at the provider as the person would, and return the address to which it sends the browser back."""
    data = {"action": "deny"} if is_denied else {"sub": subject}
    reply = httpx.post(url, content=urlencode(data), headers={"content-type": "application/x-www-form-urlencoded"})
    assert reply.status_code == 302, reply.text
    return reply.headers["location"]
