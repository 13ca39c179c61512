"""``coderag cluster``: many repositories."""
