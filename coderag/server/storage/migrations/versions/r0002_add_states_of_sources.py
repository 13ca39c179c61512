"""Add the states of sources, and what jobs could not synchronise."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Change the tables to this revision."""
    with op.batch_alter_table("sources", schema=None) as batch_op:
        batch_op.add_column(sa.Column("items", sa.Integer(), nullable=False, server_default="0"))
        batch_op.add_column(sa.Column("error", sa.Text(), nullable=False, server_default=""))
        batch_op.add_column(sa.Column("needs_reset", sa.Boolean(), nullable=False, server_default=sa.false()))
    with op.batch_alter_table("jobs", schema=None) as batch_op:
        batch_op.add_column(sa.Column("source_errors", sa.JSON(), nullable=False, server_default="{}"))
    # The defaults are for the rows that there are; later ones get theirs from the models.
    with op.batch_alter_table("sources", schema=None) as batch_op:
        batch_op.alter_column("items", existing_type=sa.Integer(), existing_nullable=False, server_default=None)
        batch_op.alter_column("error", existing_type=sa.Text(), existing_nullable=False, server_default=None)
        batch_op.alter_column("needs_reset", existing_type=sa.Boolean(), existing_nullable=False, server_default=None)
    with op.batch_alter_table("jobs", schema=None) as batch_op:
        batch_op.alter_column("source_errors", existing_type=sa.JSON(), existing_nullable=False, server_default=None)


def downgrade() -> None:
    """Change the tables back to the revision before."""
    with op.batch_alter_table("jobs", schema=None) as batch_op:
        batch_op.drop_column("source_errors")
    with op.batch_alter_table("sources", schema=None) as batch_op:
        batch_op.drop_column("needs_reset")
        batch_op.drop_column("error")
        batch_op.drop_column("items")
