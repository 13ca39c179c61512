"""Routes for the operators of the server: its state, and the settings in force."""

from collections.abc import Mapping
from typing import Any, Final

from fastapi import APIRouter

from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.interfaces.server.admin.services import PrincipalDependency, ServicesDependency
from coderag.server.access.roles import Action
from coderag.server.overview import ServerOverview, describe_server_settings, read_overview

router: Final = APIRouter(prefix="/server", route_class=StrictRoute, tags=["operation"])

ROUTE_ACTIONS: Final[Mapping[str, Action]] = {
    "GET /server/overview": Action.SERVER_OPERATE,
    "GET /server/settings": Action.SERVER_OPERATE,
}


@router.get("/overview", response_model=ServerOverview, summary="Get the state of the server")
def get_overview(services: ServicesDependency, _principal: PrincipalDependency) -> ServerOverview:
    """Return numbers of accounts, repositories and jobs, and the versions of the server and its tables."""
    return read_overview(services.database)


@router.get("/settings", response_model=dict[str, Any], summary="Get the settings of the server")
def get_server_settings(services: ServicesDependency, _principal: PrincipalDependency) -> dict[str, Any]:
    """Return the settings in force. Of secrets, only whether they are set."""
    return describe_server_settings(services.settings)
