"""The operator of the machine, who acts on the database by the command line."""

from types import MappingProxyType
from typing import Final

from sqlalchemy import select

from coderag.server.access.principal import Principal
from coderag.server.access.roles import Level, Role
from coderag.server.storage.database import Database
from coderag.server.storage.models import HostedRepository

OPERATOR_NAME: Final = "operator"


def make_operator(database: Database) -> Principal:
    """Return the operator with the rights of an owner on all repositories that exist now.

    It is no account: nobody signs in as it, and the audit record has its name.
    """
    with database.read() as session:
        levels = dict.fromkeys(session.scalars(select(HostedRepository.id)), Level.ADMINISTER)
    return Principal(
        user_id=OPERATOR_NAME,
        name=OPERATOR_NAME,
        role=Role.OWNER,
        repository_levels=MappingProxyType(levels),
        sees_all_sources=True,
        address="local",
    )
