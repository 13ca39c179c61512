"""Routes for one's own API keys and tokens of agents."""

from collections.abc import Mapping
from typing import Final

from fastapi import APIRouter, Response
from pydantic import Field

from coderag.interfaces.rest.bodies import RequestBody
from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.interfaces.server.admin.access import resolve_names
from coderag.interfaces.server.admin.key_replies import (
    CreatedKeyReply,
    KeyBody,
    KeyReply,
    issue_key,
    list_key_replies,
    revoke_key,
    to_created_reply,
)
from coderag.interfaces.server.admin.parameters import (
    MAX_KEY_REPOSITORIES,
    CursorParameter,
    KeyId,
    LimitParameter,
    Name,
)
from coderag.interfaces.server.admin.services import PrincipalDependency, ServicesDependency
from coderag.server.access.roles import Action
from coderag.server.paging import DEFAULT_PAGE_ITEMS, ListPage

router: Final = APIRouter(prefix="/server", route_class=StrictRoute, tags=["account"])

ROUTE_ACTIONS: Final[Mapping[str, Action]] = {
    "GET /server/keys": Action.KEYS_OWN,
    "POST /server/keys": Action.KEYS_OWN,
    "DELETE /server/keys/{key_id}": Action.KEYS_OWN,
    "POST /server/agent-tokens": Action.KEYS_OWN,
}


class AgentTokenBody(RequestBody):
    """A token of an agent to create."""

    repositories: list[Name] = Field(
        min_length=1, max_length=MAX_KEY_REPOSITORIES, description="Names of the only repositories that it reads."
    )


@router.get("/keys", response_model=ListPage[KeyReply], summary="List your keys")
def list_keys(
    services: ServicesDependency,
    principal: PrincipalDependency,
    cursor: CursorParameter = None,
    limit: LimitParameter = DEFAULT_PAGE_ITEMS,
) -> ListPage[KeyReply]:
    """List the keys and agent tokens of the caller, oldest first. Secrets are stored nowhere."""
    return list_key_replies(services, principal, principal.user_id, cursor, limit)


@router.post("/keys", status_code=201, response_model=CreatedKeyReply, summary="Create a key")
def create_key(body: KeyBody, services: ServicesDependency, principal: PrincipalDependency) -> CreatedKeyReply:
    """Create an API key of the caller. The reply has its secret, which cannot be shown again."""
    return issue_key(services, principal, principal.user_id, body)


@router.delete("/keys/{key_id}", status_code=204, response_class=Response, summary="Revoke a key")
def revoke_own_key(key_id: KeyId, services: ServicesDependency, principal: PrincipalDependency) -> None:
    """Revoke a key of the caller at once, with the agent tokens that it made."""
    revoke_key(services, principal, principal.user_id, key_id)


@router.post("/agent-tokens", status_code=201, response_model=CreatedKeyReply, summary="Create an agent token")
def create_agent_token(
    body: AgentTokenBody, services: ServicesDependency, principal: PrincipalDependency
) -> CreatedKeyReply:
    """Create a token for an agent: it reads the named repositories only, and expires within the hour."""
    ids = resolve_names(services, principal, body.repositories)
    return to_created_reply(services, principal, services.keys.create_agent_token(principal, ids))
