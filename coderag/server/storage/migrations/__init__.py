"""Alembic's environment: the revisions of the tables, each with its way up and down."""
