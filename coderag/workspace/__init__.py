"""Workspace: many open repositories and their indexing jobs, the core of every server."""
