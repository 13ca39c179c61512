"""Revisions of the tables, from the first one on. A released one is never changed."""
