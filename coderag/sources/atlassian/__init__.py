"""Parts that the connectors of Confluence and Jira share: the client, windows of changes, and their pages."""
