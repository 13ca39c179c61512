"""Connector to Jira, Cloud and Data Center."""
