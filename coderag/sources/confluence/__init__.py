"""Connector to Confluence, Cloud and Data Center."""
