"""Routes for credentials of git servers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from fastapi import APIRouter, Response
from pydantic import Field, SecretStr

from coderag.interfaces.rest.bodies import NO_NUL_PATTERN, RequestBody
from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.interfaces.server.admin.parameters import (
    MAX_NAME_CHARS,
    CredentialId,
    CursorParameter,
    LimitParameter,
    Name,
    Text,
)
from coderag.interfaces.server.admin.services import PrincipalDependency, ServicesDependency
from coderag.server.access.roles import Action
from coderag.server.paging import DEFAULT_PAGE_ITEMS, ListPage, slice_page
from coderag.server.repositories.credentials import CredentialKind
from coderag.server.storage.models import Credential

router: Final = APIRouter(prefix="/server", route_class=StrictRoute, tags=["administration"])

ROUTE_ACTIONS: Final[Mapping[str, Action]] = {
    "GET /server/credentials": Action.REPOSITORIES_MANAGE,
    "POST /server/credentials": Action.REPOSITORIES_MANAGE,
    "DELETE /server/credentials/{credential_id}": Action.REPOSITORIES_MANAGE,
}

_MAX_SECRET_CHARS: Final = 20_000
_DETAIL_FIELDS: Final = ("user", "app_id", "installation_id", "api_url")


class NewCredentialBody(RequestBody):
    """A credential of a git server to store."""

    name: Name = Field(description="A unique name.")
    kind: CredentialKind = Field(description="Access token, deploy key of SSH, or private key of a GitHub App.")
    host: Name = Field(description="Host that it is sent to, and to no other.")
    secret: SecretStr = Field(
        strict=False, min_length=1, max_length=_MAX_SECRET_CHARS, description="Token, or private key as PEM."
    )
    user: Text | None = Field(None, description="User name of a token.")
    app_id: Text | None = Field(None, description="Id of a GitHub App.")
    installation_id: Text | None = Field(None, description="Id of the installation of a GitHub App.")
    api_url: str | None = Field(
        None, max_length=MAX_NAME_CHARS * 10, pattern=NO_NUL_PATTERN, description="URL of the API of a GitHub server."
    )


@dataclass(frozen=True, slots=True)
class CredentialReply:
    """A credential of a git server, without its secret.

    Attributes:
        details: What is not secret of it: user, ids, public key.
    """

    id: str
    name: str
    kind: str
    host: str
    details: dict[str, Any]
    created_at: datetime


@router.get("/credentials", response_model=ListPage[CredentialReply], summary="List credentials")
def list_credentials(
    services: ServicesDependency,
    _principal: PrincipalDependency,
    cursor: CursorParameter = None,
    limit: LimitParameter = DEFAULT_PAGE_ITEMS,
) -> ListPage[CredentialReply]:
    """List the credentials of git servers by name."""
    replies = sorted(map(_to_reply, services.credentials.list()), key=_sort_key)
    return slice_page(replies, _sort_key, cursor, limit)


@router.post("/credentials", status_code=201, response_model=CredentialReply, summary="Store a credential")
def create_credential(
    body: NewCredentialBody, services: ServicesDependency, _principal: PrincipalDependency
) -> CredentialReply:
    """Store a credential of a git server. Its secret is encrypted, and never shown again."""
    details = {field: value for field in _DETAIL_FIELDS if (value := getattr(body, field))}
    secret = body.secret.get_secret_value()
    return _to_reply(services.credentials.create(body.name, body.kind, body.host, secret, details=details))


@router.delete("/credentials/{credential_id}", status_code=204, response_class=Response, summary="Remove a credential")
def remove_credential(
    credential_id: CredentialId, services: ServicesDependency, _principal: PrincipalDependency
) -> None:
    """Remove a credential that no repository uses."""
    services.credentials.remove(credential_id)


def _sort_key(reply: CredentialReply) -> tuple[str, str]:
    return reply.name, reply.id


def _to_reply(credential: Credential) -> CredentialReply:
    return CredentialReply(
        credential.id, credential.name, credential.kind, credential.host, credential.details, credential.created_at
    )
