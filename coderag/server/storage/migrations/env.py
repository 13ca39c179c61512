"""Alembic's entry point; `coderag.server.storage.upgrade` runs it with a connection inside of a transaction."""

from typing import Any, Literal

from alembic import context
from alembic.autogenerate.api import AutogenContext
from sqlalchemy import Connection

from coderag.server.storage.columns import UtcDateTime
from coderag.server.storage.models import ServerTable
from coderag.server.storage.upgrade import VERSION_TABLE


def run_migrations(connection: Connection) -> None:
    """Run the revisions on a connection."""
    context.configure(
        connection=connection,
        target_metadata=ServerTable.metadata,
        version_table=VERSION_TABLE,
        render_as_batch=True,  # SQLite alters a table by copying it
        render_item=_render_item,
        compare_type=True,
        compare_server_default=True,
    )
    with context.begin_transaction():
        context.run_migrations()


def _render_item(kind: str, item: Any, autogenerate: AutogenContext) -> str | Literal[False]:  # noqa: ANN401
    """Render own types by their columns, as a revision must not change with the code."""
    del autogenerate
    return "sa.DateTime(timezone=True)" if kind == "type" and isinstance(item, UtcDateTime) else False


run_migrations(context.config.attributes["connection"])
