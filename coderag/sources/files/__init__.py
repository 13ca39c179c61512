"""Connector to documents in other folders and git repositories."""
