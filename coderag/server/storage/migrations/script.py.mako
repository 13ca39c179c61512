"""${message}."""

import sqlalchemy as sa
from alembic import op
${imports if imports else ""}
revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Change the tables to this revision."""
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    """Change the tables back to the revision before."""
    ${downgrades if downgrades else "pass"}
