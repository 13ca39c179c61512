"""``coderag eval``: evaluation runs over golden sets."""
