"""Accounts, teams and grants over one database."""

from coderag.server.accounts.grants import GrantService
from coderag.server.accounts.own_sessions import OwnSessions
from coderag.server.accounts.teams import TeamService
from coderag.server.accounts.users import UserService
from coderag.server.storage.database import Database


class AccountService:
    """Administration of who may see what.

    Args:
        database: Database of the server.

    Attributes:
        users: Accounts of people and programs.
        teams: Teams and their members.
        grants: Levels of teams on repositories and sources.
        sessions: Sessions of one's own account.
    """

    def __init__(self, database: Database) -> None:
        self.users = UserService(database)
        self.teams = TeamService(database)
        self.grants = GrantService(database)
        self.sessions = OwnSessions(database)
