"""Access to one repository, and the names of repositories that a caller sees."""

from collections.abc import Collection, Sequence

from coderag.errors import PermissionDeniedError
from coderag.interfaces.server.admin.services import AdministrationServices
from coderag.server.access.principal import Principal
from coderag.server.access.roles import Action, Level
from coderag.server.accounts.rules import make_unknown_error
from coderag.server.storage.models import HostedRepository


def require_repository(
    services: AdministrationServices, principal: Principal, repository_id: str, action: Action
) -> HostedRepository:
    """Return a repository on which the principal may do an action.

    Raises:
        PermissionDeniedError: The principal sees it, but may not.
        UnknownNameError: There is none, or the principal does not see it.
    """
    if principal.get_level(repository_id) is Level.NONE:
        raise make_unknown_error("repository", repository_id)
    repository = services.repositories.find(repository_id)
    if not principal.may_on(action, repository_id):
        message = f"your role or grant on {repository.name} does not allow {action}"
        raise PermissionDeniedError(message, hint="Ask an administrator for a higher grant.")
    return repository


def list_visible(services: AdministrationServices, principal: Principal) -> list[HostedRepository]:
    """List the repositories that the principal sees, by name."""
    return [
        repository
        for repository in services.repositories.list()
        if principal.get_level(repository.id) is not Level.NONE
    ]


def read_names(services: AdministrationServices, principal: Principal) -> dict[str, str]:
    """Return the names of the visible repositories by their ids."""
    return {repository.id: repository.name for repository in list_visible(services, principal)}


def resolve_names(services: AdministrationServices, principal: Principal, names: Collection[str]) -> Sequence[str]:
    """Return the ids of visible repositories by their names.

    Raises:
        UnknownNameError: One has no such name, or is not visible.
    """
    ids = {name: repository_id for repository_id, name in read_names(services, principal).items()}
    for name in names:
        if name not in ids:
            raise make_unknown_error("repository", name)
    return [ids[name] for name in dict.fromkeys(names)]
