"""``coderag sources``: documentation and backlog systems."""
