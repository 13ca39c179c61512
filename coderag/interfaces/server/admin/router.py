"""All routes of the administration, and the action that each needs."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from fastapi import APIRouter

from coderag.interfaces.server.admin import (
    account_routes,
    audit_routes,
    credential_routes,
    job_routes,
    key_routes,
    operation_routes,
    repository_routes,
    source_routes,
    team_routes,
    user_routes,
)
from coderag.server.access.roles import Action

_MODULES: Final = (
    account_routes,
    key_routes,
    user_routes,
    team_routes,
    repository_routes,
    source_routes,
    credential_routes,
    job_routes,
    audit_routes,
    operation_routes,
)

router: Final = APIRouter()
for module in _MODULES:
    router.include_router(module.router)

ROUTE_ACTIONS: Final[Mapping[str, Action]] = MappingProxyType(
    {route: action for module in _MODULES for route, action in module.ROUTE_ACTIONS.items()}
)
"""Action of each route, by method and path below the prefix of the app."""
