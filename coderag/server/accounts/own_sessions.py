"""Browser sessions of one's own account."""

from sqlalchemy import delete, select

from coderag.server.access.principal import Principal
from coderag.server.accounts.rules import make_unknown_error
from coderag.server.paging import DEFAULT_PAGE_ITEMS, ListPage, read_page
from coderag.server.storage.columns import get_time
from coderag.server.storage.database import Database
from coderag.server.storage.models import BrowserSession


class OwnSessions:
    """Browsers that are signed in to the account of the acting principal.

    Args:
        database: Database of the server.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def list_own(
        self, actor: Principal, *, cursor: str | None = None, limit: int = DEFAULT_PAGE_ITEMS
    ) -> ListPage[BrowserSession]:
        """List the sessions that have not expired.

        Raises:
            InvalidValueError: The cursor is none of this list.
        """
        statement = select(BrowserSession).where(
            BrowserSession.user_id == actor.user_id, BrowserSession.expires_at > get_time()
        )
        with self._database.read() as session:
            return read_page(session, statement, (BrowserSession.address, BrowserSession.id), cursor, limit)

    def end_own(self, actor: Principal, session_id: str) -> None:
        """End a session.

        Raises:
            UnknownNameError: The account has no such session.
        """
        own = delete(BrowserSession).where(BrowserSession.user_id == actor.user_id, BrowserSession.id == session_id)
        with self._database.begin() as session:
            if session.scalar(own.returning(BrowserSession.id)) is None:
                raise make_unknown_error("session", session_id)
